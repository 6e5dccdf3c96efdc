package ledgerrules

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Calls in flight count whatever the window. Sums are exact, and leave out what is no number.
func TestAskLedger_CountsWhatIsWithinTheWindow(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	entry := func(tool, amount string, ended time.Duration) Entry {
		e := Entry{Run: "run", Tool: tool, Reserved: now.Add(-48 * time.Hour),
			Keep: api.Duration(24 * time.Hour), Args: map[string]json.RawMessage{"to": []byte(`"a"`)}}
		if amount != "" {
			e.Args["amount"] = json.RawMessage(amount)
		}
		if ended >= 0 {
			e.Ended = now.Add(-ended)
		}
		return e
	}
	entries := []Entry{entry("pay", "0.1", -1), entry("pay", "0.2", time.Hour),
		entry("pay", "1e2", 2*time.Hour), entry("refund", "-7", 0), entry("pay", `"x"`, 0),
		entry("pay", "", time.Minute)}
	for _, c := range []struct {
		q     Query
		count int
		sum   string
	}{
		{Query{Kind: CountCalls, Within: api.Duration(time.Hour)}, 4, ""},
		{Query{Kind: CountCalls, Within: api.Duration(61 * time.Minute)}, 5, ""},
		{Query{Kind: SumArguments, Tools: []string{"pay"}, Within: api.Duration(61 * time.Minute),
			Fields: []string{"amount"}}, 4, "3/10"},
		{Query{Kind: SumArguments, Within: api.Duration(3 * time.Hour),
			Fields: []string{"amount"}}, 6, "933/10"},
	} {
		if got := Ask(entries, c.q, now); got.Count != c.count || got.Sum != c.sum {
			t.Errorf("%s: got %+v, want %d and %s", c.q.Key(), got, c.count, c.sum)
		}
	}
	q := Query{Kind: ListCalls, Within: api.Duration(time.Hour), Fields: []string{"to"}}
	if got := Ask(entries, q, now); len(got.Calls) != 4 || !got.Calls[0].Running ||
		got.Calls[1].Running || len(got.Calls[0].Args) != 1 {
		t.Errorf("got %+v", got)
	}
	many := make([]Entry, MaxCalls+1)
	if got := Ask(many, q, now); got.Fault == "" || got.Calls != nil {
		t.Errorf("of too many calls: %+v", got)
	}
	if !IsExpired(entries[1], now.Add(23*time.Hour)) || IsExpired(entries[1],
		now.Add(22*time.Hour)) ||
		IsExpired(entries[0], now) || !IsExpired(entries[0], now.Add(MaxWindow.Std())) {
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
