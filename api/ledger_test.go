package api

import (
	"encoding/json"
	"testing"
	"time"
)

// Calls in flight count whatever the window. Sums are exact, and leave out what is no number.
func TestAskLedger_CountsWhatIsWithinTheWindow(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(tool, amount string, ended time.Duration) LedgerEntry {
		e := LedgerEntry{Run: "run", Tool: tool, Reserved: now.Add(-48 * time.Hour),
			Keep: Duration(24 * time.Hour), Args: map[string]json.RawMessage{"to": []byte(`"a"`)}}
		if amount != "" {
			e.Args["amount"] = json.RawMessage(amount)
		}
		if ended >= 0 {
			e.Ended = now.Add(-ended)
		}
		return e
	}
	entries := []LedgerEntry{entry("pay", "0.1", -1), entry("pay", "0.2", time.Hour),
		entry("pay", "1e2", 2*time.Hour), entry("refund", "-7", 0), entry("pay", `"x"`, 0),
		entry("pay", "", time.Minute)}
	for _, c := range []struct {
		q     LedgerQuery
		count int
		sum   string
	}{
		{LedgerQuery{Kind: LedgerCount, Within: Duration(time.Hour)}, 4, ""},
		{LedgerQuery{Kind: LedgerCount, Within: Duration(61 * time.Minute)}, 5, ""},
		{LedgerQuery{Kind: LedgerSum, Tools: []string{"pay"}, Within: Duration(61 * time.Minute),
			Fields: []string{"amount"}}, 4, "3/10"},
		{LedgerQuery{Kind: LedgerSum, Within: Duration(3 * time.Hour),
			Fields: []string{"amount"}}, 6, "933/10"},
	} {
		if got := AskLedger(entries, c.q, now); got.Count != c.count || got.Sum != c.sum {
			t.Errorf("%s: got %+v, want %d and %s", c.q.Key(), got, c.count, c.sum)
		}
	}
	q := LedgerQuery{Kind: LedgerPast, Within: Duration(time.Hour), Fields: []string{"to"}}
	if got := AskLedger(entries, q, now); len(got.Calls) != 4 || !got.Calls[0].Running ||
		got.Calls[1].Running || len(got.Calls[0].Args) != 1 {
		t.Errorf("got %+v", got)
	}
	many := make([]LedgerEntry, MaxLedgerCalls+1)
	if got := AskLedger(many, q, now); got.Fault == "" || got.Calls != nil {
		t.Errorf("of too many calls: %+v", got)
	}
	if !entries[1].Expired(now.Add(23*time.Hour)) || entries[1].Expired(now.Add(22*time.Hour)) ||
		entries[0].Expired(now) || !entries[0].Expired(now.Add(MaxLedgerWindow.Std())) {
		t.Error("entries expire at the wrong time")
	}
}

func TestDecimal_RefusesWhatCannotBeAddedUp(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-0.5": true, "1e3": true, "1E+9": true,
		"": false, `"1"`: false, "true": false, "1e99999999": false,
		"1111111111111111111111111111111111111111111": false, "{}": false} {
		if _, got := Decimal(json.RawMessage(text)); got != want {
			t.Errorf("%s: got %v", text, got)
		}
	}
}

// Identities of different kinds of authentication are different principals, whichever agent calls.
func TestLedgerWorkflowID_IsOfAPrincipalOrAConversation(t *testing.T) {
	id := func(scope LedgerScope, c Caller, conversation, run string) string {
		return LedgerWorkflowID("base", scope, c, conversation, run)
	}
	ada := Caller{Type: CallerDirect, ID: "ada", Auth: AuthKey}
	agent := Caller{Type: CallerAgent, ID: "clerk", Principal: "ada", Auth: AuthKey}
	byToken := Caller{ID: "ada", Auth: AuthToken}
	if one := id(ScopePrincipalCalls, ada, "a", "1"); one != id(ScopePrincipalCalls, agent, "b",
		"2") || one == id(ScopePrincipalCalls, byToken, "a", "1") {
		t.Error("principals are told apart by something else than identity and authentication")
	}
	if one := id(ScopeConversationCalls, ada, "a", "1"); one != id(ScopeConversationCalls,
		byToken, "a", "2") || one == id(ScopeConversationCalls, ada, "", "1") {
		t.Error("conversations are told apart by something else than their IDs")
	}
}
