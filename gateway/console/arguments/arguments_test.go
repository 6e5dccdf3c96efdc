package arguments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// shownAs describes how pages show an argument.
func shownAs(a *Argument) string {
	switch {
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
