package console

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard"
)

// Arguments are left out only where the text of the approval has every one as it is.
func TestAsked_TellsWhatTheTextHas(t *testing.T) {
	for name, tt := range map[string]struct {
		text, arguments string
		want            bool
	}{
		"all":               {"Pays.\nto: ada\namount: 100", `{"amount":100,"to":"ada"}`, true},
		"none to tell":      {"Pays.", `{}`, true},
		"one left out":      {"Pays.\nto: ada", `{"amount":100,"to":"ada"}`, false},
		"another value":     {"Pays.\nto: ada\namount: 1000", `{"amount":100,"to":"ada"}`, false},
		"in a longer line":  {"Pays to: ada", `{"to":"ada"}`, false},
		"a line of a value": {"Pays.\ntext: a\nto: ada", `{"text":"a\nto: ada","to":"ada"}`, false},
		"not an object":     {"Pays.\nto: ada", `["to"]`, false},
		"unknown":           {"Pays.\nto: ada", ``, false},
	} {
		a := askedOf(&switchyard.Approval{}, &about{})
		a.Approval.Text = tt.text
		a.About.Record.Arguments = json.RawMessage(tt.arguments)
		if got := a.Told(); got != tt.want {
			t.Errorf("%s: told is %v", name, got)
		}
	}
	if askedOf(switchyard.Approval{}, nil).Told() {
		t.Error("told without the run")
	}
}
