package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs/policies"
)

// books is a scripted ledger.
type books struct {
	away    error
	answer  func(ledgerrules.Request) ledgerrules.Answer
	asked   []ledgerrules.Request
	ledgers []ledgers.Ledger
	ends    []ledgerrules.Ends
}

func (b *books) Reserve(_ context.Context, to ledgers.Ledger,
	all ...ledgerrules.Request) (answers []ledgerrules.Answer, err error) {
	b.asked, b.ledgers = append(b.asked, all...), append(b.ledgers, to)
	for _, r := range all {
		answers = append(answers, b.answer(r))
	}
	return answers, b.away
}

func (b *books) Close(_ context.Context, e ledgerrules.Ends) error {
	b.ends = append(b.ends, e)
	return nil
}

// counting answers that there were n calls.
func counting(n int) func(ledgerrules.Request) ledgerrules.Answer {
	return func(r ledgerrules.Request) (a ledgerrules.Answer) {
		for range r.Queries {
			a.Results = append(a.Results, ledgerrules.Result{Count: n})
		}
		return a
	}
}

// counted returns a process whose rules count calls, with its ledger.
func counted(t *testing.T, rules ...api.PolicyRule) (*bench, api.AdmissionRequest, *books) {
	b, r := governed(t, rules...)
	kept := &books{answer: counting(0)}
	b.config.Ledgers = kept
	r.Run, r.Base, r.Facts.Run = "run", "base", "run"
	r.Caller.Principal = "ada"
	return b, r, kept
}

// admitAll is admit for decisions that another attempt may change.
func (b *bench) admitAll(t *testing.T, r api.AdmissionRequest) []api.AdmissionDecision {
	t.Helper()
	decisions, err := b.Admit(t.Context(), r)
	if err != nil || len(decisions) != len(r.Calls) {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	return decisions
}

// The calls of a turn are entered together, before their rules are evaluated. If they deny one, its
// reservation is dropped before the next calls are asked about again, because their answers counted
// it.
func TestOverTime_CallsAreReservedBeforeTheyAreChecked(t *testing.T) {
	b, r, kept := counted(t, rule("rare", "principal.count('send', '1h') >= 1", api.PolicyDeny))
	r.Calls = nil
	for i, c := range []api.Call{textCall("send", "a"), textCall("send", "b"),
		textCall("hide", "c"), textCall("send", "d")} {
		c.ID = fmt.Sprint("2.", i+1)
		r.Calls = append(r.Calls, c)
	}
	kept.answer = func(q ledgerrules.Request) ledgerrules.Answer {
		return counting(map[string]int{"2.2": 1}[q.Call])(q)
	}
	decisions := b.admit(t, r)
	if decisions[0].Error != nil || decisions[0].Reserved == nil || decisions[1].Error == nil ||
		decisions[1].Reserved != nil || decisions[2].Error != nil ||
		decisions[2].Reserved != nil || decisions[3].Reserved == nil {
		t.Fatalf("got %+v", decisions)
	}
	if saw := decisions[1].Policies[0].Saw; saw != "principal.count(send, 1h0m0s) = 1" {
		t.Errorf("the rule saw %q", saw)
	}
	var asked []string
	for _, q := range kept.asked {
		asked = append(asked, fmt.Sprint(q.Call, " ", q.Record, " ", len(q.Ends)))
	}
	want := []string{"2.1 true 0", "2.2 true 0", "2.3 false 0", "2.4 true 0", "2.3 false 1",
		"2.4 true 0"}
	if !slices.Equal(asked, want) || len(kept.ends) != 0 || len(kept.ledgers) != 3 {
		t.Fatalf("asked %q in %d requests, ended %+v", asked, len(kept.ledgers), kept.ends)
	}
	if end := kept.asked[4].Ends[0]; !end.Dropped || end.Holder != kept.asked[1].Holder ||
		kept.asked[5].Holder != kept.asked[3].Holder || kept.asked[0].Keep.String() != "1h0m0s" {
		t.Errorf("asked %+v", kept.asked)
	}
	to := ledgers.Ledger{ID: api.LedgerWorkflowID("base", "principal", r.Caller, "", "run"),
		Queue: "base", Scope: "principal", Of: "ada"}
	if kept.ledgers[0] != to {
		t.Errorf("asked %+v, want %+v", kept.ledgers[0], to)
	}
}

// Without an answer the decisions end before the first call that needs it, so that the run waits
// and asks again. What was entered meanwhile is dropped.
func TestOverTime_DecidesNothingWhileALedgerIsSilent(t *testing.T) {
	b, r, kept := counted(t, rule("rare", "principal.count('send', '1h') > 5", api.PolicyWarn))
	b.config.Policies = func() *policies.Set {
		return policies.NewSet(api.PolicyRule{Name: "rare", Then: api.PolicyWarn, Message: "m",
			When: "principal.count('1h') > 5", Tools: []string{"send"}})
	}
	second := textCall("send", "b")
	second.ID = "2.2"
	r.Calls = []api.Call{textCall("hide", "c"), second, textCall("send", "a")}
	r.Calls[2].ID = "2.3"
	kept.away = errors.New("away")
	decisions, err := b.Admit(t.Context(), r)
	if err != nil || len(decisions) != 1 || decisions[0].Error != nil {
		t.Errorf("got %+v, %v", decisions, err)
	}
	if len(kept.ends) != 1 || len(kept.ends[0].Ledgers[0].Calls) != 2 ||
		!kept.ends[0].Ledgers[0].Calls[0].Dropped {
		t.Errorf("ended %+v", kept.ends)
	}
	r.Calls = r.Calls[1:]
	if decisions, err := b.Admit(t.Context(), r); err != nil || len(decisions) != 0 {
		t.Errorf("got %+v, %v", decisions, err)
	}
}

// Reservations of calls that are not made are dropped: denied by another rule, or withheld.
func TestOverTime_DropsWhatIsNotMade(t *testing.T) {
	for name, change := range map[string]func(*api.AdmissionRequest){
		"denied": func(r *api.AdmissionRequest) {
			r.Policies = []api.PolicyRule{rule("never", "true", api.PolicyDeny)}
		},
		"withheld": func(r *api.AdmissionRequest) {
			r.DryRun = true
			for i := range r.Tools {
				r.Tools[i].Effect = api.EffectOnce
			}
		},
	} {
		b, r, kept := counted(t, rule("rare", "conversation.count('1h') > 5", api.PolicyDeny))
		r.Facts.Conversation = "talk"
		r.Calls = []api.Call{textCall("send", "a")}
		change(&r)
		v := b.admit(t, r)[0]
		id := api.LedgerWorkflowID("base", "conversation", r.Caller, "talk", "run")
		if v.Reserved != nil || len(kept.ends) != 1 || kept.ends[0].Ledgers[0].WorkflowID != id ||
			!kept.ends[0].Ledgers[0].Calls[0].Dropped {
			t.Errorf("%s: %+v, ended %+v", name, v, kept.ends)
		}
	}
}

// Without rules about time no ledger is asked.
func TestOverTime_CostsNothingWithoutSuchRules(t *testing.T) {
	b, r, kept := counted(t, rule("plain", "args.text == 'x'", api.PolicyDeny))
	r.Calls = []api.Call{textCall("send", "a")}
	if v := b.admit(t, r)[0]; v.Reserved != nil || len(kept.asked)+len(kept.ends) > 0 {
		t.Errorf("got %+v, asked %+v", v, kept.asked)
	}
}

// In its last admission, a ledger that is away denies the calls that need it, and only those. One
// that is full does so at once. It is asked once in an admission.
func TestOverTime_DeniesWithoutALedger(t *testing.T) {
	b, r, kept := counted(t, rule("rare", "principal.count('send', '1h') > 5", api.PolicyWarn))
	b.config.Policies = func() *policies.Set {
		return policies.NewSet(api.PolicyRule{Name: "rare", Then: api.PolicyWarn, Message: "m",
			When: "principal.count('1h') > 5", Tools: []string{"send"}})
	}
	second, other := textCall("send", "b"), textCall("hide", "c")
	second.ID, other.ID = "2.2", "2.3"
	r.Calls = []api.Call{textCall("send", "a"), second, other}
	kept.away, r.Final = errors.New("away"), true
	decisions := b.admitAll(t, r)
	for _, v := range decisions[:2] {
		if v.Error == nil || v.Error.Type != api.ErrPreconditionFailed || !v.Error.Retryable ||
			!strings.Contains(v.Error.Message, "has not answered") || v.Reserved != nil {
			t.Errorf("got %+v", v)
		}
	}
	if decisions[2].Error != nil || len(kept.ledgers) != 1 || len(kept.ends) != 1 {
		t.Errorf("got %+v, asked %d, ended %+v", decisions[2], len(kept.asked), kept.ends)
	}
	kept.away, r.Final, kept.ends = nil, false, nil
	kept.answer = func(ledgerrules.Request) ledgerrules.Answer { return ledgerrules.Answer{Full: "it is"} }
	if v := b.admitAll(t, r)[0]; v.Error == nil || !strings.Contains(v.Error.Message,
		"is full: it is") || !v.Error.Retryable || len(kept.ends) != 0 {
		t.Errorf("got %+v, ended %+v", v, kept.ends)
	}
}

// Sensitive arguments are never given to a ledger: rules that ask about them deny.
func TestOverTime_SensitiveArgumentsStayOut(t *testing.T) {
	b, r, kept := counted(t, rule("same", "principal.past('1h').exists(c, c.args.text == 'x')",
		api.PolicyDeny))
	hidden := textCall("hide", "hunter2")
	hidden.ID = "2.2"
	r.Calls = []api.Call{textCall("send", "shown"), hidden}
	decisions := b.admit(t, r)
	if decisions[0].Error != nil || string(kept.asked[0].Args["text"]) != `"shown"` {
		t.Errorf("got %+v, asked %+v", decisions[0], kept.asked)
	}
	if e := decisions[1].Error; e == nil || !strings.Contains(e.Message, "is sensitive") ||
		strings.Contains(fmt.Sprint(kept.asked, e), "hunter2") {
		t.Errorf("got %+v, asked %+v", e, kept.asked)
	}
}

// An edit is entered as another attempt, which is dropped if the edit does not count.
func TestOverTime_EditsAreReserved(t *testing.T) {
	b, r, kept := counted(t, rule("rare", "principal.count('1h') > 5", api.PolicyDeny))
	r.Policies = []api.PolicyRule{{Name: "ask", When: "true", Then: api.PolicyAsk, Message: "m",
		Approvers: []api.Approver{{Name: "boss"}}}}
	r.Calls = []api.Call{textCall("send", "a")}
	for by, counts := range map[string]bool{"boss": true, "eve": false} {
		kept.ends = nil
		v, err := b.Edit(t.Context(), api.EditRequest{Admit: r, Decision: api.Decision{By: by,
			Auth: api.AuthKey, Kind: api.DecisionEdit, Arguments: json.RawMessage(`{"text":"b"}`)}})
		if err != nil || (v.Error == nil) != counts || (v.Reserved != nil && len(kept.ends) == 0) !=
			counts {
			t.Errorf("%s: %+v, %v, ended %+v", by, v, err, kept.ends)
		}
	}
	holders := []string{kept.asked[0].Holder, kept.asked[1].Holder}
	if slices.Contains(holders, "") || holders[0] == holders[1] {
		t.Errorf("the attempts are %q", holders)
	}
}
