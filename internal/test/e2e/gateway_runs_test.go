package e2e

import (
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
)

// Agents and plans are tools of the gateway. A client that does not wait for them gets their result
// later. A call inside of them that needs approval is approved by somebody else, and not by the
// client that called the agent or the plan.
func TestGateway_OffersAgentsAndPlans(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica("--direct", "100ms", "--wait", "100ms")
	grace := g.older(r.Operator, g.apiKey("grace"), "operator")
	olga := g.older(r.Endpoint, g.apiKey("olga"), "demo")
	for _, test := range []struct{ tool, argument, ask, want string }{
		{"publisher", "task", "Publish by an agent?", "published by an agent"},
		{"bulletin", "text", "Publish ${news}?", `{"after":"draft of ${news}","sent":"${news}"}`},
	} {
		pending := must(t)(olga.call(g.ctx, test.tool, arguments(test.argument, "${news}"), nil))
		if pending.pending() == "" {
			t.Fatalf("%s: %s", test.tool, pending.body)
		}
		asked := g.approval(grace, test.ask)
		decide := map[string]any{"run_id": asked.Run, "call_id": asked.Call, "digest": asked.Digest}
		own := must(t)(g.older(r.Operator, g.apiKey("olga"), "demo").call(g.ctx, "approve", decide,
			nil))
		if own.Result == nil || !own.Result.IsError {
			t.Errorf("the caller of %s approved: %s", test.tool, own.body)
		}
		if a := must(t)(grace.call(g.ctx, "approve", decide, nil)); a.Result == nil ||
			a.Result.IsError {
			t.Fatalf("the approval for %s: %s", test.tool, a.body)
		}
		var a mcpAnswer
		g.await("for the result of "+test.tool, func() bool {
			a = must(t)(olga.result(g.ctx, pending.pending()))
			return a.pending() == ""
		})
		if a.text() != test.want {
			t.Errorf("%s: %s", test.tool, a.body)
		}
	}
	expect(t, "executed", g.written(), []string{"by an agent", "draft of ${news}", "${news}"})
}

// written returns the texts of the journal.
func (g *gatewayLab) written() (texts []string) {
	for _, e := range g.entries() {
		texts = append(texts, e.Text)
	}
	return texts
}

// A task that is a plan is cancelled with the run of the plan.
func TestGateway_CancelsThePlanOfACancelledTask(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica("--direct", "100ms")
	ada := g.client(r.Endpoint, g.apiKey("ada"), "demo")
	ada.capabilities = followsTasks
	task := must(t)(ada.call(g.ctx, "held_plan", map[string]any{}, nil))
	if task.Result == nil || task.Result.TaskID == "" {
		t.Fatalf("no task: %s", task.body)
	}
	g.awaitEntries(1)
	id := map[string]any{"taskId": task.Result.TaskID}
	must(t)(ada.request(g.ctx, "tasks/cancel", id, nil))
	var a mcpAnswer
	g.await("for the end of the task", func() bool {
		a = must(t)(ada.request(g.ctx, "tasks/get", id, nil))
		return a.Result == nil || a.Result.Status != "working"
	})
	if a.Result == nil || a.Result.Status != "cancelled" {
		t.Errorf("the task: %s", a.body)
	}
	sessions, err := g.sessions(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	for session := range sessions {
		for _, child := range g.children(session) {
			if child != enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
				t.Errorf("the run of the plan is %s", child)
			}
		}
	}
}

// children returns the states of the runs below a session.
func (g *gatewayLab) children(session string) (states []enumspb.WorkflowExecutionStatus) {
	g.t.Helper()
	for _, h := range g.histories(session, "") {
		for _, e := range h.GetEvents() {
			child := e.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowExecution()
			if child == nil {
				continue
			}
			d, err := g.Client.DescribeWorkflowExecution(g.ctx, child.GetWorkflowId(),
				child.GetRunId())
			if err != nil {
				g.t.Fatal(err)
			}
			states = append(states, d.GetWorkflowExecutionInfo().GetStatus())
		}
	}
	return states
}

// A call has the traceparent of the client's message, and its record what is known of the message.
// A malformed traceparent is ignored.
func TestGateway_PutsCallsIntoTheTraceOfTheClient(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica()
	ada := g.older(r.Endpoint, g.apiKey("ada"), "demo")
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for _, given := range []string{trace, "00-malformed-01"} {
		if a := must(t)(ada.call(g.ctx, "note", arguments("text", given),
			arguments("traceparent", given))); a.failed() != "" {
			t.Fatalf("the call: %s", a.body)
		}
	}
	sessions, err := g.sessions(g.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var traces []string
	for session := range sessions {
		c := switchyard.NewClient(g.Client, switchyard.Options{})
		for r, err := range c.Open(session).Records(g.ctx) {
			if err != nil {
				t.Fatal(err)
			}
			traces = append(traces, r.Trace)
			if m := r.MCP; m == nil || m.Session == "" || m.Protocol != olderRevision ||
				m.Transport != api.TransportHTTP {
				t.Errorf("the message of %s: %+v", r.CallID, m)
			}
		}
	}
	expect(t, "traces", traces, []string{trace, ""})
}
