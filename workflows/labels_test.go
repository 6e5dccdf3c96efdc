package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// emitting returns a tool without parameters whose results have labels.
func emitting(name, handler string, labels ...string) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "A tool.",
		Entry:     toolspecs.Entry{Type: toolspecs.KindFunction, Handler: handler},
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectRead}, Emits: labels}
}

// sealed returns rules that deny store to runs with one of the labels.
func sealed(labels ...string) []api.PolicyRule {
	var rules []api.PolicyRule
	for _, l := range labels {
		rules = append(rules, api.PolicyRule{Name: "sealed-" + l, When: fmt.Sprintf("%q in labels",
			l), Then: api.PolicyDeny,
			Message: "it has read " + l, Tools: []string{"store"}})
	}
	return rules
}

const storing = `{"text":"a"}`

// Labels of results and failures count for the next turn, not for the same one, and are in the
// run's result.
func TestLabels_CountFromTheNextTurn(t *testing.T) {
	l := newLabOf(t, 1, emitting("page", "variables", "untrusted", "page"),
		emitting("lost", "broken", "failed"))
	a := above("page lost store", step(call("page", `{}`), call("store", storing)),
		step(call("store", storing), call("lost", `{}`)), step(call("store", storing)),
		answer("done"))
	a.Policies = sealed("page", "failed")
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a})
	r := l.result()
	expect(t, "labels", r.Labels, []string{"failed", "page", "untrusted"})
	texts := l.callResults()
	if len(l.stored) != 1 || !strings.Contains(texts[2], "it has read page") ||
		strings.Contains(texts[2], "failed") || !strings.Contains(texts[4], "it has read failed") {
		t.Errorf("stored %q, results %q", l.stored, texts)
	}
}

// A sub-agent's run follows the rules of the runs above and starts with their labels. Its labels
// return, also if it fails: then all that it could have got.
func TestLabels_OfSubAgents(t *testing.T) {
	reader := agentTool("reader", above("page store", step(call("store", storing),
		call("page", `{}`)), answer("read")))
	failing := agentTool("failing", above("deeper"))
	deeper := agentTool("deeper", above("lost"))
	failing.Entry.Agent.Model.Provider, failing.Entry.Agent.Model.MaxAttempts = "listed", 1
	l, inputs := newTree(t, reader, failing, deeper, emitting("page", "variables", "page"),
		emitting("lost", "broken", "failed"), emitting("first", "variables", "seen"))
	a := above("first reader failing store", step(call("first", `{}`)), step(call("reader", `{}`)),
		step(call("store", storing), call("failing", `{}`)), step(call("store", storing)),
		answer("done"))
	a.Policies = sealed("seen", "page")
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a})
	expect(t, "labels", l.result().Labels, []string{"failed", "page", "seen"})
	if len(l.stored) > 0 {
		t.Errorf("stored: %q", l.stored)
	}
	expect(t, "labels at the start", inputs["2.1"].Labels, []string{"seen"})
	if got := inputs["2.1"].Policies; !slices.EqualFunc(got, a.Policies,
		func(a, b api.PolicyRule) bool { return a.Name == b.Name }) {
		t.Errorf("the sub-agent has the rules %+v", got)
	}
	if texts := l.callResults(); !strings.Contains(texts[2], "it has read seen") ||
		!strings.Contains(texts[2], "it has read page") {
		t.Errorf("got %q", texts)
	}
}

// Labels and counts of calls also continue with the conversation.
func TestLabels_SurviveContinueAsNew(t *testing.T) {
	l := newLabOf(t, 1, emitting("page", "variables", "page"))
	l.SetContinueAsNewSuggested(true)
	l.loads(func() (api.LoadedConversation, error) {
		return api.LoadedConversation{Turn: 1, Labels: []string{"old"}}, nil
	})
	a := above("page store", step(call("page", `{}`), call("nothing", `{}`)),
		step(call("page", `{}`), call("nothing", `{}`)), step(call("page", `{}`)))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a, Continue: true,
		Labels: []string{"given"}})
	continued, earlier := l.continued()
	expect(t, "labels", continued.State.Labels, []string{"given", "old", "page"})
	expect(t, "calls", continued.State.Calls, []api.PastCalls{{Tool: "nothing", Refused: 1},
		{Tool: "page", Completed: 1}})

	l = newLabOf(t, 1, emitting("page", "variables", "page"))
	in := continued
	in.Agent = above("page store", step(), step(call("page", `{}`)), step(call("store", storing)),
		answer("done"))
	in.Agent.Policies = append(sealed("old"), api.PolicyRule{Name: "twice",
		When: "calls.page.made >= 1 && run.turn == 3", Then: api.PolicyDeny,
		Message: "once is enough", Tools: []string{"page"}})
	l.ExecuteWorkflow(api.AgentWorkflow, in, earlier)
	expect(t, "labels", l.result().Labels, []string{"given", "old", "page"})
	if texts := strings.Join(l.callResults(), "\n"); len(l.stored)+len(l.executed) > 0 ||
		!strings.Contains(texts, "it has read old") || !strings.Contains(texts, "once is enough") {
		t.Errorf("stored %q, executed %q, results %s", l.stored, l.executed, texts)
	}
}

// A plan's calls are checked when their arguments are known, and count for each other after their
// admission.
func TestPolicies_OfPlans(t *testing.T) {
	l := newLabOf(t, 1, emitting("page", "variables", "page"))
	l.rules = append(sealed("page"), api.PolicyRule{Name: "few", When: "calls.greet.made > 1",
		Then: api.PolicyDeny, Message: "too many", Tools: []string{"greet"}})
	plan := api.Pack(api.Plan{Name: "p", Calls: []api.PlanCall{
		{ID: "a", Tool: "page"}, {ID: "b", Tool: "store", Arguments: []byte(`{"text":"seen ${c}"}`),
			DependsOn: []string{"a"}}, {ID: "c", Tool: "store", Arguments: []byte(`{"text":"x"}`)},
	}})
	l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: &plan})
	var result api.RunResult
	l.failure(api.RunCallsFailed, &result)
	if len(result.Failures) != 1 || result.Failures[0].ID != "b" ||
		result.Failures[0].Error.Type != api.ErrPolicyViolation || len(l.stored) != 1 {
		t.Errorf("stored %q, failures %+v", l.stored, result.Failures)
	}
}

// A call that never started, for example because its sub-agent could not start, gives no labels and
// counts as refused.
func TestLabels_OfCallsThatNeverStarted(t *testing.T) {
	l, _ := newTree(t, agentTool("below", above("page"),
		func(s *toolspecs.Spec) { s.Emits = []string{"from-below"} }), emitting("page", "variables",
		"page"))
	big := strings.Repeat("x", api.MaxPayload)
	a := above("below", step(call("below", `{}`)), answer("done"))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a,
		Variables: map[string]any{"big": big}})
	if r := l.result(); len(r.Labels) > 0 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
}
