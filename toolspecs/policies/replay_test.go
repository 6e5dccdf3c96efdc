package policies

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

var replayTools = map[string]Tool{
	"fetch": {Name: "fetch", Effect: "read", Emits: []string{"untrusted"}},
	"send":  {Name: "send", Effect: "once", Effects: []string{"external_write"}},
	"agent": {Name: "agent", Effect: "once"},
}

func findReplayTool(name string) (Tool, bool) {
	tool, known := replayTools[name]
	return tool, known
}

// recordedCall returns the record of a completed call, the nth of its turn.
func recordedCall(run string, turn, n int, tool, args string) api.Record {
	at := time.Date(2026, 5, 1, 9, turn, n, 0, time.UTC)
	return api.Record{WorkflowID: run, Run: run + "-execution", Turn: turn,
		CallID: fmt.Sprintf("%d.%d", turn, n), Tool: tool, Arguments: json.RawMessage(args),
		Status: api.CallCompleted, Phase: api.PhasePostExecution,
		Caller: api.Caller{Type: api.CallerAgent, ID: "clerk"},
		Timing: api.Timing{Scheduled: at, Closed: at.Add(time.Second)}}
}

func replayed(t *testing.T, rules []api.PolicyRule, records ...api.Record) map[string]string {
	t.Helper()
	r := NewReplay(NewSet(rules...), findReplayTool)
	for _, record := range records {
		r.Add(record)
	}
	got := map[string]string{}
	r.Results(func(call Replayed) {
		got[call.WorkflowID+" "+call.Call] = fmt.Sprintf("%s, %s", call.Was, call.Would)
	})
	return got
}

func noLeak() []api.PolicyRule {
	return []api.PolicyRule{{Name: "no-leak", Then: api.PolicyDeny, Message: "no",
		When: "'untrusted' in labels && 'external_write' in tool.effects"}}
}

func TestReplay_ReconstructsWhatTheRulesSaw(t *testing.T) {
	with := func(r api.Record, change func(*api.Record)) api.Record {
		change(&r)
		return r
	}
	refused := func(r *api.Record) {
		r.Status, r.Phase = api.CallRefused, api.PhasePreExecution
		r.Policies = []api.PolicyAction{{Rule: "old", Effect: api.PolicyDeny}}
	}
	tests := []struct {
		name    string
		rules   []api.PolicyRule
		records []api.Record
		want    map[string]string
	}{
		{"labels come from results of earlier turns, not of the same one", noLeak(), []api.Record{
			recordedCall("a", 1, 1, "fetch", `{}`), recordedCall("a", 1, 2, "send", `{}`),
			recordedCall("a", 2, 1, "send", `{}`)},
			map[string]string{"a 1.1": "allow, allow", "a 1.2": "allow, allow",
				"a 2.1": "allow, deny"}},
		{"a refused call adds no labels", noLeak(), []api.Record{
			with(recordedCall("a", 1, 1, "fetch", `{}`), refused),
			recordedCall("a", 2, 1, "send", `{}`)},
			map[string]string{"a 1.1": "deny, allow", "a 2.1": "allow, allow"}},
		{"a sub-agent's labels go to its caller, and the caller's to it", noLeak(), []api.Record{
			with(recordedCall("a", 1, 1, "agent", `{}`), func(r *api.Record) {
				r.Child = &api.ChildRun{WorkflowID: "a/1.1"}
			}),
			recordedCall("a", 2, 1, "send", `{}`),
			with(recordedCall("a/1.1", 1, 1, "fetch", `{}`), func(r *api.Record) {
				r.Path = "1.1/1.1"
			})},
			map[string]string{"a 1.1": "allow, allow", "a 2.1": "allow, deny",
				"a/1.1 1.1": "allow, allow"}},
		{"calls of one turn count as running", []api.PolicyRule{{Name: "few", Then: api.PolicyAsk,
			Message: "no", When: "calls.send.made >= 1"}}, []api.Record{
			recordedCall("a", 1, 1, "send", `{}`), recordedCall("a", 1, 2, "send", `{}`)},
			map[string]string{"a 1.1": "allow, allow", "a 1.2": "allow, ask"}},
		{"the next run of a conversation keeps labels and counts anew", append(noLeak(),
			api.PolicyRule{Name: "few", Then: api.PolicyAsk, Message: "no",
				When: "calls.fetch.made >= 1"}), []api.Record{
			with(recordedCall("a", 1, 1, "send", `{}`), func(r *api.Record) {
				r.Run, r.Scheduled = "next", r.Scheduled.Add(time.Hour)
			}),
			recordedCall("a", 1, 1, "fetch", `{}`)},
			map[string]string{"a 1.1": "allow, deny"}},
		{"facts that no record has leave a rule undecided", []api.PolicyRule{{Name: "budget",
			Then: api.PolicyDeny, Message: "no", When: "budget.calls.left < 3"}}, []api.Record{
			recordedCall("a", 1, 1, "send", `{}`)}, map[string]string{"a 1.1": "allow, undecided"}},
		{"what no record has does not matter to a rule that is decided without it",
			[]api.PolicyRule{{Name: "named", Then: api.PolicyAsk, Message: "no",
				When:   "args.to != 'ada' || budget.cost.left < 1.0",
				Unless: "args.to == 'bob' || from_people(args.to)"}}, []api.Record{
				recordedCall("a", 1, 1, "send", `{"to":"bob"}`),
				recordedCall("a", 1, 2, "send", `{"to":"eve"}`),
				recordedCall("a", 1, 3, "send", `{"to":"ada"}`)},
			map[string]string{"a 1.1": "allow, allow", "a 1.2": "allow, undecided",
				"a 1.3": "allow, undecided"}},
		{"redacted arguments leave the rules that read them undecided", []api.PolicyRule{
			{Name: "amount", Then: api.PolicyDeny, Message: "no", When: "args.amount > 3"},
			{Name: "send", Then: api.PolicyWarn, Message: "no", When: "tool.name == 'send'"},
		}, []api.Record{recordedCall("a", 1, 1, "send", `{"amount":"***"}`),
			recordedCall("a", 1, 2, "send", `{"amount":4}`)},
			map[string]string{"a 1.1": "allow, undecided", "a 1.2": "allow, deny"}},
		{"an unknown tool leaves the rules that read more than its name undecided", noLeak(),
			[]api.Record{recordedCall("a", 1, 1, "gone", `{}`)},
			map[string]string{"a 1.1": "allow, undecided"}},
		{"a rule allows what a toolspec or a rule asked for", []api.PolicyRule{
			{Name: "few", Then: api.PolicyAsk, Message: "no", When: "tool.name == 'send'"},
			{Name: "known", Then: api.PolicyAllow, Message: "no", When: "args.to == 'ada'"},
		}, []api.Record{
			with(recordedCall("a", 1, 1, "send", `{"to":"ada"}`), func(r *api.Record) {
				r.Policies = []api.PolicyAction{{Rule: "few", Effect: api.PolicyAsk}}
				r.Approval = &api.Decided{Rule: "few"}
			}),
			with(recordedCall("a", 1, 2, "fetch", `{"to":"ada"}`), func(r *api.Record) {
				r.Approval = &api.Decided{}
			}),
			with(recordedCall("a", 1, 3, "fetch", `{"to":"bob"}`), func(r *api.Record) {
				r.Approval = &api.Decided{}
			}),
			with(recordedCall("a", 1, 4, "send", `{"to":"ada"}`), func(r *api.Record) {
				r.Policies = []api.PolicyAction{{Rule: "known", Effect: api.PolicyAllow},
					{Rule: "few", Effect: api.PolicyAsk, AllowedBy: "known"}}
			})},
			map[string]string{"a 1.1": "ask, allow", "a 1.2": "ask, allow", "a 1.3": "ask, ask",
				"a 1.4": "allow, allow"}},
		{"earlier calls have arguments and results, those of the turn arguments", []api.PolicyRule{
			{Name: "twice", Then: api.PolicyDeny, Message: "no",
				When: "calls.exists(c, c.tool == 'send' && c.args.to == args.to)"},
			{Name: "bad", Then: api.PolicyAsk, Message: "no",
				When: "calls.exists(c, c.status == 'completed' && c.result == 'bad')"},
			{Name: "named", Then: api.PolicyWarn, Message: "no", When: "args.to == 'eve' && " +
				"!from_people(args.to)"}},
			[]api.Record{recordedCall("a", 1, 1, "send", `{"to":"ada"}`),
				with(recordedCall("a", 1, 2, "send", `{"to":"ada"}`), func(r *api.Record) {
					r.Result = &api.Result{Output: json.RawMessage(`"bad"`)}
				}),
				recordedCall("a", 2, 1, "send", `{"to":"bob"}`)},
			map[string]string{"a 1.1": "allow, allow", "a 1.2": "allow, deny",
				"a 2.1": "allow, ask"}},
		{"hidden contents of earlier calls leave rules undecided", []api.PolicyRule{
			{Name: "twice", Then: api.PolicyDeny, Message: "no",
				When: "calls.exists(c, c.tool == 'send' && c.args.to == args.to)"}},
			[]api.Record{recordedCall("a", 1, 1, "send", `{"to":"***"}`),
				recordedCall("a", 2, 1, "send", `{"to":"bob"}`)},
			map[string]string{"a 1.1": "allow, undecided", "a 2.1": "allow, undecided"}},
		{"calls without a check are left out", noLeak(), []api.Record{
			with(recordedCall("a", 1, 1, "send", `{}`), func(r *api.Record) {
				r.Status, r.Error = api.CallRefused, api.Errorf(api.ErrValidation, "no")
			}),
			with(recordedCall("a", 1, 2, "send", `{}`), func(r *api.Record) {
				r.Purpose = api.PurposeUndo
			})}, map[string]string{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := replayed(t, tt.rules, tt.records...); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("the replay gave\n%v, want\n%v", got, tt.want)
			}
		})
	}
}

func TestReplayReport_AddsUpChangesByToolAndRule(t *testing.T) {
	r := NewReplay(NewSet(noLeak()...), findReplayTool)
	for _, run := range []string{"a", "b"} {
		for turn, tool := range []string{"fetch", "send", "send"} {
			r.Add(recordedCall(run, turn+1, 1, tool, `{}`))
		}
	}
	got := r.Report()
	for i := range got.Changes {
		got.Changes[i].runs = nil
	}
	want := &ReplayReport{Calls: 6, Runs: 2, Same: 2, Changed: 4,
		Changes: []ReplayChange{{Was: "allow", Would: api.PolicyDeny, Tool: "send",
			Rule: "no-leak", Calls: 4, Runs: 2, WorkflowID: "a", Call: "2.1"}},
		Rules: []ReplayedRule{{Rule: "no-leak", Then: api.PolicyDeny, Matched: 4}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the report is\n%+v, want\n%+v", got, want)
	}
}
