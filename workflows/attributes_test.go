package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// everyAttribute names all attributes that a run can set.
var everyAttribute = []string{api.AttributeCalls, api.AttributeCost, api.AttributeOutcome,
	api.AttributeTokens,
	api.AttributeTools, api.AttributeTurns, api.AttributeWaiting}

// UpsertTypedSearchAttributes records what the workflow sets. The order of the map does not matter.
//
//workflowcheck:ignore
func (o *watchedOutbound) UpsertTypedSearchAttributes(ctx workflow.Context,
	updates ...temporal.SearchAttributeUpdate) error {
	var list []string
	for key, value := range temporal.NewSearchAttributes(updates...).GetUntypedValues() {
		if name := strings.TrimPrefix(key.GetName(), "Switchyard"); name != "Cost" &&
			name != "Tokens" {
			list = append(list, fmt.Sprint(name, "=", value))
		}
	}
	slices.Sort(list)
	_, below, _ := strings.Cut(workflow.GetInfo(ctx).WorkflowExecution.ID, "/")
	o.watch.upserts = append(o.watch.upserts, strings.TrimSpace(below+" "+strings.Join(list, " ")))
	return o.Next.UpsertTypedSearchAttributes(ctx, updates...)
}

// A run sets its attributes when it starts and stops to wait for people, and at its end, for any
// number of calls. The result contains the same statistics.
func TestAttributes_AreSetAtChangesOnly(t *testing.T) {
	l := newGuardedLab(t)
	watch := l.watch()
	l.decide(time.Hour, approve("2.1", "ada"))
	l.decide(61*time.Minute, api.Decision{Call: "2.2", Kind: api.DecisionDeny, By: "bob"})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Attributes: everyAttribute,
		Agent: guardedAgent(
			step(call("echo", `{"value":1}`), call("echo", `{"value":2}`), call("broken", `{}`)),
			step(call("pay", `{"value":1}`), call("pay", `{"value":2}`), call("nosuch", `{}`)),
			answer("done"))})
	b := l.result().CallStats
	expect(t, "upserts", watch.upserts, []string{
		"Calls=6 Tools=[echo pay broken ...] Turns=2 Waiting=true",
		"Calls=6 Tools=[echo pay broken ...] Turns=2 Waiting=false",
		"Calls=6 Outcome=answered Tools=[echo pay broken ...] Turns=3 Waiting=false"})
	if got := fmt.Sprint(*b); got != "{6 0.5 [{echo 2 0 0 0} {pay 1 0 1 0} {broken 0 1 0 0}] 1}" {
		t.Errorf("brief %s", got)
	}
}

func TestAttributes_CountQuestionsAsWaiting(t *testing.T) {
	l := newPeoplesLab(t)
	watch := l.watch()
	l.reply(time.Hour, says("1.1", "ada", `"yes"`))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.",
		Attributes: []string{api.AttributeWaiting},
		Agent:      peoplesAgent(step(call("ask", `{"question":"Really?"}`)), answer("done"))},
		[]byte(nil))
	l.result()
	expect(t, "upserts", watch.upserts, []string{"Waiting=true", "Waiting=false", "Waiting=false"})
}

// The call that checks a run may wait for a person, too.
func TestAttributes_CountTheApprovalOfTheCheckAsWaiting(t *testing.T) {
	l := newGuardedLab(t)
	watch := l.watch()
	l.rules = []api.PolicyRule{{Name: "look", Tools: []string{"echo"}, When: "true",
		Then: api.PolicyAsk, Message: "look at it"}}
	a := agent(answer("done"))
	a.Checker = &api.Checker{Tool: "echo", Arguments: []byte(`{"value":true}`)}
	l.after(time.Hour, func() {
		for _, open := range l.awaiting() {
			d := approve(open.Call, "ada")
			d.Digest = open.Digest
			l.UpdateWorkflow(api.DecideApprovalUpdate, "ok", &update{
				accepted: make(chan struct{}), over: make(chan struct{})}, d)
		}
	})
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a,
		Attributes: []string{api.AttributeWaiting}}, []byte(nil))
	l.result()
	expect(t, "upserts", watch.upserts, []string{"Waiting=true", "Waiting=false", "Waiting=false"})
}

// This includes runs that never started. Attributes that the namespace lacks are not set.
func TestAttributes_HaveTheOutcome(t *testing.T) {
	broken := agent(answer("never"))
	broken.Tools = []string{"nosuch"}
	one := []string{api.AttributeOutcome}
	for name, test := range map[string]struct {
		workflow string
		in       api.RunInput
		want     []string
	}{
		"a call": {api.CallWorkflow,
			api.RunInput{Call: &api.Call{Tool: "greet", Arguments: `{"name":"Ann"}`},
				Attributes: everyAttribute},
			[]string{"Calls=1 Outcome=completed Tools=[greet] Turns=0 Waiting=false"}},
		"a failed call": {api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "broken",
			Arguments: `{}`}, Attributes: one}, []string{"Outcome=failed"}},
		"a call of no tool": {api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "nosuch",
			Arguments: `{}`}, Attributes: everyAttribute},
			[]string{"Calls=1 Outcome=failed Tools=[...] Turns=0 Waiting=false"}},
		"a plan": {api.PlanWorkflow,
			api.RunInput{Plan: plan(t,
				`{name: p, calls: [{id: a, tool: echo, arguments: {value: 1}}, {id: b, tool: broken}]}`),
				Attributes: everyAttribute},
			[]string{"Calls=2 Outcome=failed Tools=[broken echo] Turns=0 Waiting=false"}},
		"an agent that cannot run": {api.AgentWorkflow, api.RunInput{Agent: broken, Prompt: "Go.",
			Attributes: everyAttribute}, []string{"Outcome=failed"}},
		"no calls": {api.AgentWorkflow,
			api.RunInput{Agent: agent(answer("at once")), Prompt: "Go.",
				Attributes: everyAttribute},
			[]string{"Calls=0 Outcome=answered Turns=1 Waiting=false"}},
		"nothing registered": {api.AgentWorkflow,
			api.RunInput{Agent: agent(step(call("echo", `{"value":1}`)), answer("done")),
				Prompt: "Go."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			watch := l.watch()
			l.ExecuteWorkflow(test.workflow, test.in)
			expect(t, "upserts", watch.upserts, test.want)
		})
	}
	l := newLab(t)
	watch := l.watch()
	l.hangs = l.CancelWorkflow
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: agent(step(call("hang", `{}`)),
		answer("never")), Prompt: "Go.", Attributes: one})
	l.cancelled()
	expect(t, "upserts of a cancelled run", watch.upserts, []string{"Outcome=cancelled"})
}

// A run is cancelled while it asks for more of a limit, and withdraws its question after that.
func TestAttributes_AreNotSetAfterTheEnd(t *testing.T) {
	a := agent(step(call("echo", `{"value":1}`)), answer("never"))
	a.Limits = api.Limits{Turns: 1, OnReached: api.LimitAsks}
	l := newLab(t)
	watch := l.watch()
	l.RegisterDelayedCallback(l.CancelWorkflow, time.Minute)
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a,
		Attributes: []string{api.AttributeWaiting, api.AttributeOutcome}})
	l.cancelled()
	expect(t, "upserts", watch.upserts, []string{"Waiting=true", "Outcome=cancelled Waiting=false"})
}

// A sub-agent sets its own attributes. The run above lists the tools of its sub-agents, and that
// there are others if a failed sub-agent could not report them.
func TestAttributes_OfSubAgents(t *testing.T) {
	lost := above("echo", step(call("echo", `{"value":1}`)), answer("never"))
	lost.Model.Script.Value.Steps = lost.Model.Script.Value.Steps[:1]
	l := newLabOf(t, 1, agentTool("sub", above("echo", step(call("echo", `{"value":1}`),
		call("echo", `{"value":2}`)), answer("ok"))), agentTool("lost", lost))
	watch := l.watch()
	l.ExecuteWorkflow(api.AgentWorkflow,
		api.RunInput{Agent: above("sub echo lost", step(call("sub", `{}`)),
			step(call("echo", `{"value":1}`)), step(call("lost", `{}`)), answer("done")),
			Prompt: "Go.", Attributes: []string{api.AttributeTools, api.AttributeOutcome}})
	b := l.result().CallStats
	expect(t, "upserts", watch.upserts, []string{"1.1 Outcome=answered Tools=[echo]",
		"3.1 Outcome=failed Tools=[echo]", "Outcome=answered Tools=[echo lost sub ...]"})
	if got := fmt.Sprint(*b); got != "{6 0.8333333333333334 [{echo 3 0 0 0} {lost 0 1 0 0} {sub 1 0 0 0}] 1}" {
		t.Errorf("brief %s", got)
	}
}

func TestAttributes_SurviveContinueAsNew(t *testing.T) {
	sub := agentTool("sub", above("store", step(call("store", `{"text":"a"}`)), answer("ok")))
	l := newLabOf(t, 1, sub)
	l.SetContinueAsNewSuggested(true)
	watch := l.watch()
	l.ExecuteWorkflow(api.AgentWorkflow,
		api.RunInput{Agent: above("sub echo", step(call("sub", `{}`)),
			step(call("echo", `{"value":1}`)), answer("done")), Prompt: "Go.",
			Attributes: []string{api.AttributeTools, api.AttributeOutcome, api.AttributeCalls}})
	next, earlier := l.continued()
	expect(t, "upserts of the first part", watch.upserts,
		[]string{"1.1 Calls=1 Outcome=answered Tools=[store]", "Calls=2 Tools=[store sub]"})
	second := newLabOf(t, 1, sub)
	watch = second.watch()
	second.ExecuteWorkflow(api.AgentWorkflow, next, earlier)
	second.result()
	expect(t, "upserts of the second part", watch.upserts,
		[]string{"Calls=3 Outcome=answered Tools=[echo store sub]"})
}

// The list fits the server's limit and says if there are more tools.
func TestToolNames_AreBounded(t *testing.T) {
	var calls []api.ScriptCall
	l := newLab(t)
	l.pinned = func(p *api.Pinned) {
		for i := range api.MaxCallStatsTools {
			t, _ := p.Catalog.Find("echo")
			t.Name = fmt.Sprintf("echo_%059d", i)
			p.Catalog.Tools = append(p.Catalog.Tools, t)
		}
	}
	for i := range api.MaxCallStatsTools {
		calls = append(calls, call(fmt.Sprintf("echo_%059d", i), `{"value":1}`))
	}
	watch := l.watch()
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: agent(step(calls...), answer("done")),
		Prompt: "Go.", Attributes: []string{api.AttributeTools}})
	l.result()
	if len(watch.upserts) != 1 || len(watch.upserts[0]) > 2000 ||
		!strings.HasSuffix(watch.upserts[0], " "+api.OtherTools+"]") ||
		strings.Count(watch.upserts[0], "echo_") < 20 {
		t.Errorf("upserts %v", watch.upserts)
	}
}
