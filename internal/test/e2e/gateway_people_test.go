package e2e

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/converter"
)

// operatorApproval is a call that waits for approval, as list_approvals shows it.
type operatorApproval struct {
	Run    string `json:"run_id"`
	Call   string `json:"call_id"`
	Tool   string `json:"tool"`
	Text   string `json:"text"`
	Digest string `json:"digest"`
}

// openApprovals returns what list_approvals returns.
func (g *gatewayLab) openApprovals(c *mcpClient) []operatorApproval {
	g.t.Helper()
	a := must(g.t)(c.call(g.ctx, "list_approvals", map[string]any{}, nil))
	var list struct {
		Approvals []operatorApproval `json:"approvals"`
	}
	if err := json.Unmarshal([]byte(a.text()), &list); err != nil {
		g.t.Fatalf("list_approvals: %v: %s", err, a.body)
	}
	return list.Approvals
}

// approval waits for the approval that a run asks for.
func (g *gatewayLab) approval(c *mcpClient, text string) operatorApproval {
	g.t.Helper()
	var found operatorApproval
	g.await("for the approval of "+text, func() bool {
		for _, a := range g.openApprovals(c) {
			if a.Text == text {
				found = a
				return true
			}
		}
		return false
	})
	return found
}

// A call that waits for approval, of an MCP client or of a direct run, is approved by another
// principal with the operator tools, at another replica. Its caller cannot approve it, and the
// record says who decided and how that person was authenticated.
func TestGateway_AnotherPrincipalApprovesWithTheOperatorTools(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	one, two := g.replica("--direct", "100ms", "--wait", "100ms"), g.replica()
	olga := g.older(one.Endpoint, g.apiKey("olga"), "demo")
	pending := must(t)(olga.call(g.ctx, "publish", arguments("text", "news"), nil))
	if pending.Result == nil || pending.Result.Meta.Call.State !=
		string(api.SessionCallAwaitsApproval) {
		t.Fatalf("the call: %s", pending.body)
	}
	direct := g.calling(g.dial(), "direct", "publish", arguments("text", "direct"))
	g.shows(pending.session(), "key:olga", "publish")

	if a := must(t)(g.client(two.Operator, g.apiKey("ada"), "plain").call(g.ctx, "list_approvals",
		map[string]any{}, nil)); a.status != http.StatusForbidden {
		t.Errorf("operator tools without the scope: %d %s", a.status, a.body)
	}
	grace := g.older(two.Operator, g.apiKey("grace"), "operator")
	asked := g.approval(grace, "Publish news?")
	decide := map[string]any{"run_id": asked.Run, "call_id": asked.Call, "digest": asked.Digest,
		"reason": "read it"}
	own := must(t)(g.older(two.Operator, g.apiKey("olga"), "demo").call(g.ctx, "approve", decide, nil))
	if own.Result == nil || !own.Result.IsError {
		t.Errorf("the caller approved its own call: %s", own.body)
	}
	decide["digest"] = "another"
	if a := must(t)(grace.call(g.ctx, "approve", decide, nil)); a.Result == nil ||
		!a.Result.IsError {
		t.Errorf("the approval of another call: %s", a.body)
	}
	if n := len(g.entries()); n != 0 {
		t.Fatalf("a call was executed before its approval: %v", g.entries())
	}
	decide["digest"] = asked.Digest
	if a := must(t)(grace.call(g.ctx, "approve", decide, nil)); a.Result == nil ||
		a.Result.IsError {
		t.Fatalf("the approval: %s", a.body)
	}
	var a mcpAnswer
	g.await("for the result", func() bool {
		a = must(t)(olga.result(g.ctx, pending.pending()))
		return a.pending() == ""
	})
	if a.text() != `{"text":"news"}` {
		t.Errorf("the approved call: %s", a.body)
	}
	g.decided(asked.Run)

	asked = g.approval(grace, "Publish direct?")
	if a := must(t)(grace.call(g.ctx, "approve", map[string]any{"run_id": asked.Run,
		"call_id": asked.Call, "digest": asked.Digest}, nil)); a.Result == nil ||
		a.Result.IsError {
		t.Fatalf("the approval: %s", a.body)
	}
	if r, err := direct.Result(g.ctx); err != nil || string(r.Output) != `{"text":"direct"}` {
		t.Errorf("the direct call returned %s, %v", r.Output, err)
	}
	g.decided(direct.ID())
	if n := len(g.entries()); n != 2 {
		t.Errorf("%d calls were executed, want 2", n)
	}
}

// session returns the run of the session of a pending call of olga.
func (a mcpAnswer) session() string {
	key, _, _ := strings.Cut(a.pending(), ".")
	return "session/key:olga/" + key
}

// shows checks what the Temporal UI shows of a session with a call that waits for approval: the
// call in the details, the principal as a search attribute, and as the fairness key.
func (g *gatewayLab) shows(run, principal, tool string) {
	g.t.Helper()
	g.await("for the details of "+run, func() bool {
		value, err := g.Client.QueryWorkflow(g.ctx, run, "", "__temporal_workflow_metadata")
		var metadata sdk.WorkflowMetadata
		return err == nil && value.Get(&metadata) == nil &&
			strings.Contains(metadata.CurrentDetails, tool)
	})
	info, err := g.Client.DescribeWorkflowExecution(g.ctx, run, "")
	if err != nil {
		g.t.Fatal(err)
	}
	execution := info.GetWorkflowExecutionInfo()
	var caller string
	err = converter.GetDefaultDataConverter().FromPayload(
		execution.GetSearchAttributes().GetIndexedFields()[api.AttributeCaller], &caller)
	if err != nil || caller != principal {
		g.t.Errorf("the search attribute of %s is %q: %v", run, caller, err)
	}
	if key := execution.GetPriority().GetFairnessKey(); !strings.Contains(key, principal) {
		g.t.Errorf("the fairness key of %s is %q", run, key)
	}
}

// decided checks that grace has approved the call of a run with her key.
func (g *gatewayLab) decided(run string) {
	g.t.Helper()
	c := switchyard.NewClient(g.Client, switchyard.Options{})
	for r, err := range c.Open(run).Records(g.ctx) {
		if err != nil || r.Approval == nil || r.Approval.By != "key:grace" ||
			r.Approval.Auth != api.AuthKey {
			g.t.Errorf("the record of the call in %s: %+v, %v", run, r, err)
		}
	}
}

// The state of a question is for one caller and one request. It works at every replica, and sending
// it again gives the same call.
func TestGateway_TakesAnAnswerOnceAtAnyReplica(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	one, two := g.replica("--direct", "200ms"), g.replica("--direct", "200ms")
	c := g.client(one.Endpoint, g.apiKey("ada"), "asks")
	c.capabilities = asksUser
	eve := g.client(one.Endpoint, g.apiKey("eve"), "asks")
	eve.capabilities = asksUser
	asked := must(t)(c.call(g.ctx, "consent", arguments("text", "a"), nil))
	if asked.Result == nil || asked.Result.RequestState == "" {
		t.Fatalf("the question: %s", asked.body)
	}
	state := asked.Result.RequestState
	reply := func(c *mcpClient, text, state string) mcpAnswer {
		return must(t)(c.request(g.ctx, "tools/call", map[string]any{"name": "consent",
			"arguments": arguments("text", text), "requestState": state,
			"inputResponses": map[string]any{"reply": map[string]any{"action": "accept",
				"content": map[string]any{"decision": "approve"}}}}, nil))
	}
	for name, a := range map[string]mcpAnswer{
		"changed state":   reply(c, "a", state[:len(state)-3]+"AAA"),
		"changed body":    reply(c, "a", "A"+state[1:]),
		"other arguments": reply(c, "b", state),
		"other caller":    reply(eve, "a", state),
	} {
		if !a.refused() {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	if n := len(g.entries()); n != 0 {
		t.Fatalf("a refused answer executed the call: %v", g.entries())
	}
	c.url = two.Endpoint
	for _, when := range []string{"first", "replayed"} {
		if a := reply(c, "a", state); a.text() != `{"text":"a"}` {
			t.Errorf("%s: %s", when, a.body)
		}
	}
	if n := len(g.entries()); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
}

// A question reaches the client at once, and answers that arrive at the same time all get the
// result of the one execution.
func TestGateway_AsksAtOnceAndTakesOneOfManyAnswers(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	one := g.replica("--direct", "30s")
	c := g.client(one.Endpoint, g.apiKey("ada"), "asks")
	c.capabilities = asksUser
	began := time.Now()
	asked := must(t)(c.call(g.ctx, "consent", arguments("text", "a"), nil))
	if took := time.Since(began); asked.Result == nil || asked.Result.RequestState == "" ||
		took > 15*time.Second {
		t.Fatalf("the question after %v: %s", took, asked.body)
	}
	reply := func(action string) (mcpAnswer, error) {
		return c.request(g.ctx, "tools/call", map[string]any{"name": "consent",
			"arguments": arguments("text", "a"), "requestState": asked.Result.RequestState,
			"inputResponses": map[string]any{"reply": map[string]any{"action": action,
				"content": map[string]any{"decision": "approve"}}}}, nil)
	}
	if a := must(t)(reply("agree")); !a.refused() || len(g.entries()) != 0 {
		t.Errorf("an unknown action: %d %s", a.status, a.body)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if a, err := reply("accept"); err != nil || a.text() != `{"text":"a"}` {
				t.Errorf("an answer: %d %s, %v", a.status, a.body, err)
			}
		})
	}
	all.Wait()
	if n := len(g.entries()); n != 1 {
		t.Errorf("the call was executed %d times", n)
	}
}
