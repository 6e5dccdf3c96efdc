package api

import (
	"testing"
	"time"
)

// A decision about a limit says what it grants.
func TestDecided_SaysWhatIsGranted(t *testing.T) {
	for want, d := range map[string]Decided{
		"approved by ada": {By: "ada", Decision: DecisionApprove},
		"approved with 1 more model step, 20 more calls, 5,000 more tokens, $1.5 more, 1h0m0s " +
			"more by ada (api_key): go on": {By: "ada", Auth: AuthKey, Decision: DecisionApprove,
			Reason: "go on", Grant: &Grant{Turns: 1, Calls: 20, Tokens: 5000, Cost: 1.5,
				WallTime: Duration(time.Hour)}},
		"denied by ada": {By: "ada", Decision: DecisionDeny, Grant: &Grant{}},
	} {
		if got := d.Note(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
