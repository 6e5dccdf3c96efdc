package workflows_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// guardedTools are tools whose calls require approval.
const guardedTools = `
name: pay
version: 1.0.0
description: Pays.
parameters: [{name: value, type: integer, required: true, validation: {max: 100}}]
entry: {type: function, handler: echo}
approval: {timeout: 2h, ask: "Pay {{args.value}}?"}
---
name: own
version: 1.0.0
description: Pays for its caller.
parameters: [{name: value, type: integer, required: true}]
entry: {type: function, handler: echo}
approval: {by_caller: true}
---
name: wire
version: 1.0.0
description: Wires.
parameters: [{name: text, type: string, required: true, sensitive: true}]
entry: {type: function, handler: store}
execution: {lane: bank, access: exclusive, effect: once}
approval: {timeout: 4h}
---
name: look
version: 1.0.0
description: Looks.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: store}
execution: {lane: bank, effect: read}
`

func newGuardedLab(t *testing.T) *lab {
	t.Helper()
	specs, err := toolspecs.Decode("guarded.yaml", []byte(guardedTools),
		toolspecs.Options{Lanes: lanes.NewSet(api.Lane{Name: "bank"})})
	if err != nil {
		t.Fatal(err)
	}
	return newLabOf(t, 1, specs...)
}

// awaiting queries the calls of the run that wait for approval.
func (l *lab) awaiting() []api.Approval {
	l.t.Helper()
	value, err := l.QueryWorkflow(api.ApprovalsQuery)
	if err != nil {
		l.t.Fatal(err)
	}
	var list []api.Approval
	if err := value.Get(&list); err != nil {
		l.t.Fatal(err)
	}
	return list
}

// decide decides when the run's clock has gone on by d, with the digest of what waits then unless
// the decision has one.
func (l *lab) decide(d time.Duration, decision api.Decision) *update {
	u := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	l.after(d, func() {
		for _, a := range l.awaiting() {
			if a.Call == decision.Call && decision.Digest == "" {
				decision.Digest = a.Digest
			}
		}
		l.UpdateWorkflow(api.DecideApprovalUpdate, fmt.Sprint(decision, d), u, decision)
	})
	return u
}

func guardedAgent(steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Tools = append(a.Tools, "pay", "wire", "look")
	return a
}

func approve(call, by string) api.Decision {
	return api.Decision{Call: call, Kind: api.DecisionApprove, By: by}
}

// Waiting calls do not block others, and all approvals of a turn are requested at once. An approved
// call runs, an edited one runs with the new arguments, and a denied one does not run. The model
// reads who decided.
func TestApprovals_DecideAboutCalls(t *testing.T) {
	l := newGuardedLab(t)
	var waiting []api.Approval
	var before []string
	l.after(time.Hour, func() { waiting, before = l.awaiting(), slices.Clone(l.executed) })
	decided := []*update{
		l.decide(61*time.Minute, approve("1.1", "ada")),
		l.decide(62*time.Minute, api.Decision{Call: "1.2", Kind: api.DecisionEdit, By: "bob",
			Arguments: []byte(`{"value":7}`)}),
		l.decide(63*time.Minute, api.Decision{Call: "1.3", Kind: api.DecisionDeny, By: "cem",
			Reason: "too much"}),
	}
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`), call("pay", `{"value":2}`),
		call("pay", `{"value":3}`), call("echo", `{"value":4}`)), answer("done")), "Go.")
	if r := l.result(); r.Answer != "done" || r.Usage.Calls != 4 || r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "executed while three calls wait", before, []string{"1.4 echo"})
	expect(t, "executed", l.executed, []string{"1.4 echo", "1.1 pay", "1.2 pay"})
	for i, a := range waiting {
		if id := api.TurnCallID(1, i+1); a.Call != id || a.Tool != "pay" ||
			a.Text != fmt.Sprintf("Pay %d?", i+1) || a.Digest == waiting[(i+1)%3].Digest ||
			a.Until.Sub(a.Asked) != 2*time.Hour {
			t.Errorf("approval %d: %+v", i, a)
		}
	}
	for i, u := range decided {
		if e := u.refused(t); e != nil {
			t.Errorf("decision %d is refused: %+v", i, e)
		}
	}
	messages := l.conversation()[3:7]
	for i, want := range []string{"1",
		"7\n[note: bob approved this call with changed arguments: value=7]",
		"ERROR approval_denied: denied by cem: too much\nA person declined this call.", "4"} {
		if messages[i].Text != want {
			t.Errorf("the model reads %q, want %q", messages[i].Text, want)
		}
	}
}

// Decisions with another digest, without a name, repeated, after the timeout, or with invalid
// arguments are refused, and nothing runs.
func TestApprovals_RefuseOtherDecisions(t *testing.T) {
	l := newGuardedLab(t)
	other := ""
	l.after(time.Second, func() { other = l.awaiting()[1].Digest })
	mismatch := &update{accepted: make(chan struct{}), over: make(chan struct{})}
	l.after(time.Minute, func() {
		d := approve("1.1", "ada")
		d.Digest = other
		l.UpdateWorkflow(api.DecideApprovalUpdate, "mismatch", mismatch, d)
	})
	edit := func(arguments string) api.Decision {
		return api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: "ada",
			Arguments: []byte(arguments)}
	}
	tests := []struct {
		update *update
		want   api.ReplyErrorType
		says   string
	}{
		{mismatch, api.DecisionMismatch, `the decision is about another call: its digest is not that of call "1.1"; look at what waits, and decide about that`},
		{l.decide(2*time.Minute, approve("1.1", " ")), api.DecisionUnnamed, "the decision does not say whose it is"},
		{l.decide(3*time.Minute, approve("2.1", "ada")), api.DecisionUnknown,
			`no call "2.1" of the run waits for approval; waiting: 1.1, 1.2, 1.3`},
		{l.decide(4*time.Minute, api.Decision{Call: "1.1", Kind: "maybe", By: "ada"}),
			api.ReplyMalformed, "a decision must be approve, deny or edit"},
		{l.decide(5*time.Minute, edit(`{"value":101,"more":1}`)), api.DecisionUnfit,
			`call "1.1" with the changed arguments is refused (validation_error): the arguments of pay do not fit`},
		{l.decide(6*time.Minute, edit(`{"value":null}`)), api.DecisionUnfit, `call "1.1" with the changed arguments is refused (validation_error): the arguments of pay do not fit`},
		{l.decide(7*time.Minute, edit(`[1]`)), api.DecisionUnfit, `call "1.1" with the changed arguments is refused (validation_error): the changed arguments must be an object, such as {"path": "a.md"}`},
		{l.decide(8*time.Minute, approve("1.1", "ada")), "", ""},
		{l.decide(9*time.Minute, approve("1.1", "bob")), api.DecisionClosed, `nothing is left to decide about call "1.1": approved by ada`},
		{l.decide(3*time.Hour, approve("1.2", "ada")), api.DecisionClosed,
			`nothing is left to decide about call "1.2": no decision came in time`},
		{l.decide(210*time.Minute, approve("1.3", "ada")), "", ""},
	}
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`), call("pay", `{"value":2}`),
		call("wire", `{"text":"x"}`)), answer("done")), "Go.")
	l.result()
	for i, test := range tests {
		e := test.update.refused(t)
		if got := (api.ReplyError{}); e != nil {
			got = *e
			if got.Type != test.want || got.Message != test.says {
				t.Errorf("decision %d: %+v", i, got)
			}
		} else if test.want != "" {
			t.Errorf("decision %d counts", i)
		}
	}
	if e := tests[4].update.refused(t); len(e.Problems) != 2 {
		t.Errorf("the problems of an edit are %+v", e.Problems)
	}
	expect(t, "executed", l.executed, []string{"1.1 pay", "1.3 wire"})
	if text := l.conversation()[4].Text; !strings.HasPrefix(text,
		"ERROR approval_timeout: the call of pay was not approved within 2h") {
		t.Errorf("the model reads %q", text)
	}
}

// An exclusive call that waits for approval keeps its place: later calls of its lane wait for it,
// calls of other lanes do not. They continue when it is denied.
func TestApprovals_KeepTheOrderOfCalls(t *testing.T) {
	for _, kind := range []api.DecisionKind{api.DecisionApprove, api.DecisionDeny} {
		l := newGuardedLab(t)
		var before []string
		l.after(time.Hour, func() { before = slices.Clone(l.executed) })
		// The second is decided first, and still waits for the first.
		l.decide(time.Minute, approve("1.3", "ada"))
		l.decide(90*time.Minute, api.Decision{Call: "1.2", Kind: kind, By: "ada"})
		l.runAgent(guardedAgent(step(call("look", `{"text":"a"}`), call("wire", `{"text":"b"}`),
			call("wire", `{"text":"c"}`), call("look", `{"text":"d"}`),
			call("echo", `{"value":1}`)), answer("done")), "Go.")
		l.result()
		slices.Sort(before)
		expect(t, "executed before", before, []string{"1.1 look", "1.5 echo"})
		want := []string{"a", "b", "c", "d"}
		if kind == api.DecisionDeny {
			want = []string{"a", "c", "d"}
		}
		expect(t, "stored", l.stored, want)
	}
}

// An approval without a decision ends at its timeout. Those of a cancelled run, and of one whose
// wall time is over, are withdrawn, and nothing runs.
func TestApprovals_EndWithoutADecision(t *testing.T) {
	t.Run("timeout", func(t *testing.T) {
		l := newGuardedLab(t)
		var later []api.Approval
		l.after(3*time.Hour, func() { later = l.awaiting() })
		began := l.Now()
		l.runAgent(guardedAgent(step(call("wire", `{"text":"x"}`)), answer("done")), "Go.")
		l.result()
		if len(later) != 1 || later[0].Text != "Wires.\ntext: ***" ||
			l.Now().Sub(began) < 4*time.Hour {
			t.Errorf("after %s, %+v", l.Now().Sub(began), later)
		}
		if text := l.conversation()[3].Text; !strings.HasPrefix(text,
			"ERROR approval_timeout: the call of wire was not approved within 4h") {
			t.Errorf("the model reads %q", text)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		l := newGuardedLab(t)
		l.after(time.Hour, l.CancelWorkflow)
		l.runAgent(guardedAgent(step(call("pay", `{"value":1}`), call("pay", `{"value":2}`)),
			answer("done")), "Go.")
		l.cancelled()
	})
	t.Run("wall time", func(t *testing.T) {
		l := newGuardedLab(t)
		a := guardedAgent(step(call("pay", `{"value":1}`)), answer("done"))
		a.Limits.WallTime = api.Duration(time.Hour)
		l.runAgent(a, "Go.")
		if r := l.result(); r.Limit != "wall_time" {
			t.Errorf("result: %+v", r)
		}
		expect(t, "executed", l.executed, nil)
	})
}

// The approved call runs when the run is resumed.
func TestApprovals_OfPausedRunsAreDecided(t *testing.T) {
	l := newGuardedLab(t)
	var while []string
	l.after(time.Minute, func() { l.updateRun(api.PauseUpdate, "p", api.Pause{By: "ada"}) })
	l.decide(2*time.Minute, approve("1.1", "ada"))
	l.after(3*time.Hour, func() {
		while = slices.Clone(l.executed)
		l.updateRun(api.ResumeUpdate, "r", api.Pause{By: "ada"})
	})
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	expect(t, "executed while paused", while, nil)
	expect(t, "executed", l.executed, []string{"1.1 pay"})
}

// A plan requests the approval of all calls whose arguments are known, then of the others when they
// are, and of none that needs a denied call. A direct call waits too.
func TestApprovals_InPlans(t *testing.T) {
	l := newGuardedLab(t)
	var first, second []string
	calls := func() (ids []string) {
		for _, a := range l.awaiting() {
			ids = append(ids, a.Call+" "+a.Text)
		}
		return ids
	}
	l.after(time.Minute, func() { first = calls() })
	l.decide(2*time.Minute, approve("a", "ada"))
	l.after(3*time.Minute, func() { second = calls() })
	l.decide(4*time.Minute, api.Decision{Call: "b", Kind: api.DecisionDeny, By: "ada"})
	l.runPlan(`
calls:
  - {id: a, tool: pay, arguments: {value: 1}}
  - {id: b, tool: pay, arguments: {value: "${a}"}}
  - {id: c, tool: pay, arguments: {value: 3}, depends_on: [b]}`)
	var result api.RunResult
	l.failure(api.RunCallsFailed, &result)
	expect(t, "asked at first", first, []string{"a Pay 1?", "c Pay 3?"})
	expect(t, "asked then", second, []string{"c Pay 3?", "b Pay 1?"})
	expect(t, "executed", l.executed, []string{"a pay"})
	if len(result.Failures) != 2 || result.Failures[0].Error.Type != api.ErrApprovalDenied ||
		result.Failures[1].Error.Type != api.ErrPreconditionFailed {
		t.Errorf("failures: %+v", result.Failures)
	}

	l = newGuardedLab(t)
	l.decide(time.Minute, approve("1.1", "ada"))
	l.ExecuteWorkflow(api.CallWorkflow,
		api.RunInput{Call: &api.Call{Tool: "pay", Arguments: `{"value":5}`}})
	if r := l.result(); string(r.Output) != "5" {
		t.Errorf("result: %+v", r)
	}
}

// Hooks before calls get the edited arguments. An answer of a hook is the result of the call, and a
// block leaves the approval open.
func TestApprovals_RunHooksOnEdits(t *testing.T) {
	l := newGuardedLab(t)
	l.hooks.before = func(c tool.HookCall) (tool.HookDecision, error) {
		switch string(c.Arguments) {
		case `{"value":2}`:
			return tool.HookDecision{Block: "never two"}, nil
		case `{"value":3}`:
			return tool.HookDecision{Override: []byte(`"three"`)}, nil
		}
		return tool.HookDecision{}, nil
	}
	edit := func(after time.Duration, arguments string) *update {
		return l.decide(after, api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: "ada",
			Arguments: []byte(arguments)})
	}
	blocked, answered := edit(time.Minute, `{"value":2}`), edit(2*time.Minute, `{"value":3}`)
	l.runAgent(hooked(guardedAgent(step(call("pay", `{"value":1}`)), answer("done")),
		api.HookBeforeCall), "Go.")
	l.result()
	if e := blocked.refused(t); e == nil || e.Type != api.DecisionUnfit ||
		e.Message != `call "1.1" with the changed arguments is refused (blocked_by_hook): the hook "before_call" says: never two` {
		t.Errorf("a blocked edit: %+v", e)
	}
	if e := answered.refused(t); e != nil {
		t.Errorf("an edit is refused: %+v", e)
	}
	expect(t, "executed", l.executed, nil)
	if text := l.conversation()[3].Text; !strings.HasPrefix(text, "three") {
		t.Errorf("the model reads %q", text)
	}
}

// Policies count the other calls of the turn, and not the edited call.
func TestApprovals_CheckEditsByPolicies(t *testing.T) {
	l := newGuardedLab(t)
	l.rules = []api.PolicyRule{{Name: "two", When: "tool.name == 'pay' && calls.pay.made >= 2",
		Then: api.PolicyDeny, Message: "two are enough"}}
	edits := make([]*update, 2)
	for i := range edits {
		edits[i] = l.decide(time.Duration(i+1)*time.Minute,
			api.Decision{Call: api.TurnCallID(1, i+1), Kind: api.DecisionEdit, By: "ada",
				Arguments: []byte(fmt.Sprintf(`{"value":%d}`, 7+i))})
	}
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`), call("pay", `{"value":2}`),
		call("pay", `{"value":3}`)), answer("done")), "Go.")
	if r := l.result(); r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	for i, u := range edits {
		if e := u.refused(t); e != nil {
			t.Errorf("edit %d is refused: %+v", i, e)
		}
	}
	expect(t, "executed", l.executed, []string{"1.1 pay", "1.2 pay"})
}

func TestApprovals_RefuseInvisibleNames(t *testing.T) {
	l := newGuardedLab(t)
	var tried []*update
	for i, by := range []string{"\u200b", "\ufeff", "\u3164", "--", "\u2800\u00ad"} {
		tried = append(tried, l.decide(time.Duration(i+1)*time.Minute, approve("1.1", by)))
	}
	l.runAgent(guardedAgent(step(call("pay", `{"value":1}`)), answer("done")), "Go.")
	l.result()
	for i, u := range tried {
		if e := u.refused(t); e == nil || e.Type != api.ReplyMalformed {
			t.Errorf("name %d: %+v", i, e)
		}
	}
	expect(t, "executed", l.executed, nil)
}

// An edit that a hook answers, or that makes the call a dry run, has nothing to undo, and no call
// of a plan uses the answer of a dry run as a result.
func TestApprovals_EditsMayBeAnsweredWithoutTheTool(t *testing.T) {
	const askedFirst = `
name: rent
version: 1.0.0
description: Rents.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: store}
execution: {effect: once}
approval: always
undo: {tool: unbook, arguments: {text: "{{args.text}}"}}
`
	specs, err := toolspecs.Decode("rent.yaml", []byte(askedFirst), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dry := api.Decision{Kind: api.DecisionEdit, By: "ada",
		Arguments: []byte(`{"execution_plan":{"intent":"see","dry_run":true}}`)}
	l := newBookings(t, specs...)
	dry.Call = "1.1"
	edited := l.decide(time.Minute, dry)
	a := booker("", step(call("rent", `{"text":"car"}`)))
	a.Tools = append(a.Tools, "rent")
	l.runAgent(a, "Go.")
	l.failure(api.RunModelFailed, nil)
	if e := edited.refused(t); e != nil {
		t.Errorf("the edit is refused: %+v", e)
	}
	expect(t, "executed", l.executed, nil)

	l = newBookings(t, specs...)
	dry.Call = "a"
	l.decide(time.Minute, dry)
	l.runPlan(`{calls: [{id: a, tool: rent, arguments: {text: car}}, {id: b, tool: book, arguments: {text: "${a}"}}]}`)
	l.failure(api.RunCallsFailed, nil)
	expect(t, "executed by the plan", l.executed, nil)
}

// finance are the approvers of calls over a limit.
var finance = []api.Approver{{Name: "cfo"}, {Role: api.RoleApprover,
	Claims: map[string][]string{"groups": {"finance"}}}}

// Whoever started the run of an agent may not decide about its calls, also not those of sub-agents
// and under a name without authentication. Who approves has to fit an approver of each rule.
func TestApprovals_AreGivenByOthersAndApprovers(t *testing.T) {
	l := newGuardedLab(t)
	l.rules = []api.PolicyRule{
		{Name: "large", When: "args.value > 50", Then: api.PolicyAsk, Message: "large",
			Approvers: finance},
		{Name: "signed", When: "args.value > 50", Then: api.PolicyAsk, Message: "signed",
			Approvers: []api.Approver{{Auth: api.AuthToken}}}}
	by := func(name string, auth api.AuthMethod, groups ...any) api.Decision {
		d := approve("1.1", name)
		d.Auth, d.Roles = auth, []api.UserRole{api.RoleApprover}
		d.Claims = map[string]any{"groups": groups}
		return d
	}
	small := by("eve", api.AuthKey)
	small.Call = "1.2"
	const needs = `the policy "large" requires cfo, or the role approver with the claim groups finance`
	tests := []struct {
		update *update
		want   api.ReplyErrorType
		says   string
	}{
		{l.decide(1*time.Minute, by("ada", api.AuthToken, "finance")), api.DecisionOwnCall,
			`ada (jwt) is the caller of call "1.1": another person has to decide about it`},
		{l.decide(2*time.Minute, by("ada", "")), api.DecisionOwnCall,
			`ada is the caller of call "1.1": another person has to decide about it`},
		{l.decide(3*time.Minute, by("cfo", "")), api.DecisionNotAllowed,
			`cfo may not decide about call "1.1": ` + needs + `; a name without authentication is ` +
				`not accepted, so decide through the gateway`},
		{l.decide(4*time.Minute, by("eve", api.AuthToken, "dev")), api.DecisionNotAllowed,
			`eve (jwt) may not decide about call "1.1": ` + needs},
		{l.decide(5*time.Minute, by("link", api.AuthLink, "finance")), api.DecisionNotAllowed,
			`link (link) may not decide about call "1.1": ` + needs},
		{l.decide(6*time.Minute, by("bob", api.AuthKey, "finance")), api.DecisionNotAllowed,
			`bob (api_key) may not decide about call "1.1": the policy "signed" requires ` +
				`authentication by jwt`},
		{l.decide(7*time.Minute, small), "", ""},
		{l.decide(8*time.Minute, by("bob", api.AuthToken, "finance")), "", ""},
	}
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: guardedAgent(step(
		call("pay", `{"value":60}`), call("pay", `{"value":5}`)), answer("done")), Prompt: "Go.",
		Caller: api.Caller{Type: api.CallerSession, ID: "ada", Auth: api.AuthToken}})
	l.result()
	for i, test := range tests {
		got := api.ReplyError{}
		if e := test.update.refused(t); e != nil {
			got = *e
		}
		if got.Type != test.want || got.Message != test.says {
			t.Errorf("decision %d: %+v", i, got)
		}
		if test.want == api.DecisionNotAllowed && len(got.Approvers) != 2 {
			t.Errorf("decision %d says that these may decide: %+v", i, got.Approvers)
		}
	}
	expect(t, "executed", l.executed, []string{"1.2 pay", "1.1 pay"})
}

// An edit cannot get a call past approvers whom only the edited call needs.
func TestApprovals_CheckWhoEditsAgainstTheEditedCall(t *testing.T) {
	l := newGuardedLab(t)
	l.rules = []api.PolicyRule{{Name: "large", When: "args.value > 50", Then: api.PolicyAsk,
		Message: "large", Approvers: finance}}
	edit := func(d time.Duration, by string, value int) *update {
		return l.decide(d, api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: by,
			Auth: api.AuthKey, Arguments: fmt.Appendf(nil, `{"value":%d}`, value)})
	}
	refused, accepted := edit(time.Minute, "bob", 60), edit(2*time.Minute, "cfo", 61)
	l.runAgent(guardedAgent(step(call("pay", `{"value":5}`)), answer("done")), "Go.")
	l.result()
	const want = `call "1.1" with the changed arguments is refused (policy_violation): bob ` +
		`(api_key) may not decide about call "1.1": the policy "large" requires cfo, or the role ` +
		`approver with the claim groups finance`
	if e := refused.refused(t); e == nil || e.Type != api.DecisionUnfit || e.Message != want {
		t.Errorf("the edit is refused as %+v", e)
	}
	if e := accepted.refused(t); e != nil {
		t.Errorf("the edit of an approver is refused: %+v", e)
	}
	if text := l.conversation()[3].Text; text != "61\n[note: cfo approved this call with changed "+
		"arguments: value=61]" {
		t.Errorf("the model reads %q", text)
	}
}

// Names without authentication are those that programs give themselves, so that one person can try
// everything. With by_caller, a caller may decide in any case.
func TestApprovals_LetCallersDecideWhereNothingIsProven(t *testing.T) {
	for _, test := range []struct {
		tool   string
		caller api.Caller
		want   api.ReplyErrorType
	}{
		{"pay", api.Caller{ID: "ada"}, ""},
		{"pay", api.Caller{ID: "ada", Auth: api.AuthLoopback}, api.DecisionOwnCall},
		{"own", api.Caller{ID: "ada", Auth: api.AuthKey}, ""},
	} {
		l := newGuardedLab(t)
		u := l.decide(time.Minute, approve(test.tool, "ada"))
		l.ExecuteWorkflow(api.CallWorkflow, api.RunInput{Caller: test.caller,
			Call: &api.Call{ID: test.tool, Tool: test.tool, Arguments: `{"value":1}`}})
		got := api.ReplyErrorType("")
		if e := u.refused(t); e != nil {
			got = e.Type
		}
		if got != test.want {
			t.Errorf("%+v: refused as %q", test, got)
		}
	}
}
