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
		`"at":{"b":1,"a":2},"big":12345678901234567890,"off":false,"gone":null,"text":"[\"ada\"]","empty":"","space":" a"}`
	want := []string{"to: list ada|bob", "none: code []", `mixed: code [ "ada", 1 ]`,
		`blank: code [ "ada", " " ]`, `at: code { "a": 2, "b": 1 }`, "big: 12345678901234567890",
		"off: false", "gone: null", `text: ["ada"]`,
		`empty: ""`, `space: " a"`}
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
		Original: json.RawMessage(`{"to":["ada","eve"],"same":{"a":1,"b":2},"copy":"eve","pin":"***",` +
			`"n":"5","m":{"x":1,"y":2}}`),
		Edited: json.RawMessage(`{"to":["ada"],"same":{"b":2,"a":1},"pin":"***","note":"less","n":5,` +
			`"m":{"x":1,"y":3}}`)}
	var got []string
	for _, c := range Changes(d) {
		got = append(got, c.Name+": "+shownAs(c.Before)+" to "+shownAs(c.After))
	}
	want := []string{"copy: eve to none", "m.y: 2 to 3", `n: "5" to 5`, "note: none to less",
		"to: list ada|eve to list ada"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the changes are %q, want %q", got, want)
	}
	d.Decision = api.DecisionApprove
	if Changes(d) != nil || Changes(nil) != nil {
		t.Error("changes without an edit")
	}
}
