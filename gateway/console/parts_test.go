package console

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// The text of an approval is shown without its list of arguments only if that has every one as the
// tool will get it.
func TestAsked_SaysWhatTheArgumentsDoNot(t *testing.T) {
	for name, tt := range map[string]struct{ text, arguments, want string }{
		"all": {"Pays.\nto: ada\namount: 100", `{"to":"ada","amount":100}`, "Pays."},
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
		a := askedOf(&switchyard.Approval{}, &about{})
		a.Approval.Text = tt.text
		a.About.Record.Arguments = json.RawMessage(tt.arguments)
		if got := a.Says(); got != tt.want {
			t.Errorf("%s: it says %q, want %q", name, got, tt.want)
		}
	}
	if a := askedOf(switchyard.Approval{}, nil); a.Arguments() != nil || a.Says() != "" {
		t.Error("arguments without the run")
	}
}

// shownAs describes how pages show an argument.
func shownAs(a *argument) string {
	switch {
	case a == nil:
		return "none"
	case a.List != nil:
		return "list " + strings.Join(a.List, "|")
	case a.Code:
		return "code " + strings.Join(strings.Fields(a.Text), " ")
	}
	return a.Text
}

func TestArguments_AreShownByTheirTypes(t *testing.T) {
	const data = `{"to":["ada","bob"],"none":[],"mixed":["ada",1],"blank":["ada"," "],` +
		`"at":{"b":1,"a":2},"big":12345678901234567890,"off":false,"gone":null,"text":"[\"ada\"]"}`
	want := []string{"to: list ada|bob", "none: code []", `mixed: code [ "ada", 1 ]`,
		`blank: code [ "ada", " " ]`, `at: code { "b": 1, "a": 2 }`, "big: 12345678901234567890",
		"off: false", "gone: null", `text: ["ada"]`}
	var got []string
	for _, a := range argumentsOf(json.RawMessage(data)) {
		got = append(got, a.Name+": "+shownAs(&a))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("arguments are shown as\n%q, want\n%q", got, want)
	}
}

func TestChanges_AreThoseOfTheEdit(t *testing.T) {
	d := &api.Decided{Decision: api.DecisionEdit,
		Original: json.RawMessage(`{"to":["ada","eve"],"same":{"a":1},"copy":"eve","pin":"***"}`),
		Edited:   json.RawMessage(`{"to":["ada"],"same":{"a":1},"pin":"***","note":"less"}`)}
	var got []string
	for _, c := range changesOf(d) {
		got = append(got, c.Name+": "+shownAs(c.Before)+" to "+shownAs(c.After))
	}
	want := []string{"to: list ada|eve to list ada", "copy: eve to none", "note: none to less"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	d.Decision = api.DecisionApprove
	if changesOf(d) != nil || changesOf(nil) != nil {
		t.Error("changes without an edit")
	}
}
