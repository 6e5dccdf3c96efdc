package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// shownAs describes how pages show an argument.
func shownAs(a *Argument) string {
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
	for _, a := range Of(json.RawMessage(data)) {
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
	for _, c := range Changes(d) {
		got = append(got, c.Name+": "+shownAs(c.Before)+" to "+shownAs(c.After))
	}
	want := []string{"to: list ada|eve to list ada", "copy: eve to none", "note: none to less"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	d.Decision = api.DecisionApprove
	if Changes(d) != nil || Changes(nil) != nil {
		t.Error("changes without an edit")
	}
}
