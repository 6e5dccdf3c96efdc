package callview

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Without a mask, all listed parameters are redacted.
func TestRedactArguments_UsesTheMask(t *testing.T) {
	arguments := json.RawMessage(`{"user":{"name":"ada","password":"x"},"to":"bob"}`)
	listed := api.Tool{Name: "login", Sensitive: []string{"user"}}
	if got := CallLine(listed, arguments); got != "login to=bob user=***" {
		t.Errorf("got %s", got)
	}
	masked := listed
	masked.Mask = &redaction.Mask{Keys: map[string]*redaction.Mask{"user": {Keys: map[string]*redaction.Mask{"password": {All: true}}}}}
	if got := CallLine(masked, arguments); got != `login to=bob user={"name":"ada","password":"***"}` {
		t.Errorf("got %s", got)
	}
	if ArgumentMask(listed).IsDeep() || !ArgumentMask(masked).IsDeep() ||
		ArgumentMask((api.Tool{})).IsDeep() {
		t.Error("wrong: which masks say more than which parameters are sensitive")
	}
}
