package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// emitting returns a tool without parameters whose results have labels.
func emitting(name, handler string, labels ...string) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "A tool.",
		Entry:     toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: handler}},
		Execution: toolspecs.ExecutionSpec{Effect: api.EffectRead}, Emits: emissions(labels...)}
}

// emissions returns labels of all results of a tool.
func emissions(labels ...string) (list []policies.Emission) {
	for _, label := range labels {
		list = append(list, policies.Emission{Label: label})
	}
	return list
}

// clearing returns a tool that clears labels.
func clearing(name string, labels ...api.Clearing) toolspecs.Spec {
	spec := emitting(name, "variables")
	spec.Clears = labels
	return spec
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
	model := &failing.Entry.Common().Agent.Model
	model.Provider, model.MaxAttempts = "listed", 1
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
		func(s *toolspecs.Spec) { s.Emits = emissions("from-below") }), emitting("page", "variables",
		"page"))
	big := strings.Repeat("x", api.MaxPayload)
	a := above("below", step(call("below", `{}`)), answer("done"))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a,
		Variables: map[string]any{"big": big}})
	if r := l.result(); len(r.Labels) > 0 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
}

// A label with a condition counts unless the condition is false for the result, or the call fails.
func TestLabels_DependOnResults(t *testing.T) {
	page := emitting("page", "variables", "page")
	page.Emits = append(page.Emits, policies.Emission{Label: "never", When: "result == 'x'"},
		policies.Emission{Label: "always", When: "result.nothing == 'x'"})
	lost := emitting("lost", "broken")
	lost.Emits = []policies.Emission{{Label: "failed", When: "result == 'x'"}}
	l := newLabOf(t, 1, page, lost)
	a := above("page lost", step(call("page", `{}`), call("lost", `{}`)), answer("done"))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a})
	expect(t, "labels", l.result().Labels, []string{"always", "failed", "page"})
}

// A tool clears labels from the next turn on. A sub-agent returns what is left of its own, and the
// run keeps the labels that the sub-agent inherited and cleared.
func TestLabels_AreClearedByTools(t *testing.T) {
	reader := agentTool("reader", above("page clean", step(call("page", `{}`)),
		step(call("clean", `{}`)), answer("read")))
	tools := []toolspecs.Spec{emitting("page", "variables", "page"),
		emitting("first", "variables", "seen"), clearing("clean", api.Clearing{Label: "page"},
			api.Clearing{Label: "seen", To: "reviewed"})}
	l, _ := newTree(t, append(tools, reader)...)
	a := above("first reader store clean", step(call("first", `{}`)), step(call("reader", `{}`)),
		step(call("store", storing)), step(call("clean", `{}`), call("store", storing)),
		step(call("store", storing)), answer("done"))
	a.Policies = sealed("seen", "page")
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a})
	expect(t, "labels", l.result().Labels, []string{"reviewed"})
	texts := l.callResults()
	if len(l.stored) != 1 || !strings.Contains(texts[2], "it has read seen") ||
		strings.Contains(texts[2], "it has read page") || !strings.Contains(texts[4],
		"it has read seen") {
		t.Errorf("stored %q, results %q", l.stored, texts)
	}
}

// An approval by a rule of the workers clears labels, whoever else asks.
func TestLabels_AreClearedByApprovals(t *testing.T) {
	l := newLabOf(t, 1, emitting("page", "variables", "page"))
	l.rules = []api.PolicyRule{{Name: "ask", When: "'page' in labels", Then: api.PolicyAsk,
		Message: "look at it", Tools: []string{"store"}, Clears: []api.Clearing{{Label: "page"}}}}
	a := above("page store", step(call("page", `{}`)), step(call("store", storing)),
		step(call("store", storing)), answer("done"))
	var waiting []api.Approval
	l.after(time.Minute, func() { waiting = l.awaiting() })
	decided := l.decide(2*time.Minute, approve("2.1", "ada"))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Prompt: "Go.", Agent: a})
	if r := l.result(); len(r.Labels) > 0 || len(l.stored) != 2 || decided.refused(t) != nil {
		t.Errorf("labels %q, stored %q, refused %v", r.Labels, l.stored, decided.refused(t))
	}
	if len(waiting) != 1 || !strings.Contains(waiting[0].Text, "clears labels of the run: page") {
		t.Errorf("waiting: %+v", waiting)
	}
}
