package console

import (
	"encoding/json"
	"testing"

	"github.com/switchyard/switchyard"
)

// The text of an approval is shown without its list of arguments only if that has every one as the
// tool will get it.
func TestAsked_SaysWhatTheArgumentsDoNot(t *testing.T) {
	for name, tt := range map[string]struct{ text, arguments, want string }{
		"all":           {"Pays.\nto: ada\namount: 100", `{"to":"ada","amount":100}`, "Pays."},
		"another order": {"Pays.\nto: ada\namount: 100", `{"amount":100,"to":"ada"}`, "Pays."},
		"a text of lines": {"Mails.\ntext: a\n    to: ada\nto: bob",
			`{"text":"a\nto: ada","to":"bob"}`, "Mails."},
		"no text":       {"Mails.\nto: [\"ada\"]\nat: null", `{"to":["ada"],"at":null}`, "Mails."},
		"sensitive":     {"Pays.\npin: ***", `{"pin":"***"}`, "Pays."},
		"no arguments":  {"Pays.", `{}`, "Pays."},
		"another value": {"Pays.\nto: ada\nto: bob", `{"to":"ada"}`, "Pays.\nto: ada\nto: bob"},
		"one left out": {"Pays.\nto: ada", `{"amount":100,"to":"ada"}`,
			"Pays.\nto: ada"},
		"a question":    {"Pay 100 to ada?", `{"amount":100,"to":"ada"}`, "Pay 100 to ada?"},
		"not an object": {"Pays.\nto: ada", `["to"]`, "Pays.\nto: ada"},
		"unknown":       {"Pays.\nto: ada", ``, "Pays.\nto: ada"},
	} {
		a := newAskedPart(&switchyard.Approval{}, &about{})
		a.Approval.Text = tt.text
		a.About.Record.Arguments = json.RawMessage(tt.arguments)
		if got := a.Says(); got != tt.want {
			t.Errorf("%s: it says %q, want %q", name, got, tt.want)
		}
	}
	if a := newAskedPart(switchyard.Approval{}, nil); a.Arguments() != nil || a.Says() != "" {
		t.Error("arguments without the run")
	}
}
