package people

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// A decision about a limit says what it grants.
func TestDecided_SaysWhatIsGranted(t *testing.T) {
	for want, d := range map[string]api.Decided{
		"approved by ada": {By: "ada", Decision: api.DecisionApprove},
		"approved with 1 more model step, 20 more calls, 5,000 more tokens, $1.5 more, 1h0m0s " +
			"more by ada (api_key): go on": {By: "ada", Auth: api.AuthKey, Decision: api.DecisionApprove,
			Reason: "go on", Grant: &api.Grant{Turns: 1, Calls: 20, Tokens: 5000, Cost: 1.5,
				WallTime: api.Duration(time.Hour)}},
		"denied by ada": {By: "ada", Decision: api.DecisionDeny, Grant: &api.Grant{}},
	} {
		if got := DecidedNote(d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
