package decide

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

func TestApprove_RefusesEditsThatAreNoObject(t *testing.T) {
	for edit, want := range map[string]string{
		`{"amount": 80, "amount": 800}`: "the changed arguments: the key \"amount\" is given twice, at byte 15",
		`{"to": {"a": 1, "a": 2}}`:      "the changed arguments: the key \"a\" is given twice, at byte 16",
	} {
		f := decisionFlags{edit: edit}
		if _, err := f.changes(&cli.App{}); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", edit, err, want)
		}
	}
	f := decisionFlags{edit: "-"}
	_, err := f.changes(&cli.App{Stdio: cli.Stdio{In: strings.NewReader("[1]")}})
	if want := `the changed arguments must be a JSON object, such as {"amount": 80}`; err == nil ||
		err.Error() != want {
		t.Errorf("a list: got %v, want %s", err, want)
	}
}

func TestEdit_ShowsWhatChanges(t *testing.T) {
	const edit = `{"amount":80,"note":null,"to":{"name":"Ada"}}`
	for before, want := range map[string]string{
		`{"amount":100,"note":"all","from":"x"}`: "    amount: 100 → 80\n    note: \"all\" → (absent)\n    to: (absent) → {\"name\":\"Ada\"}\n",
		"":                                       "    amount: 80\n    note: (absent)\n    to: {\"name\":\"Ada\"}\n",
		`{"amount":100,"to":{"name":"Eve","bank":"B"}}`:  "    amount: 100 → 80\n    to.name: \"Eve\" → \"Ada\"\n",
		`{"amount":80,"note":null,"to":{"name":"Ada"}}`:  "    note: null → (absent)\n",
		`{"amount":80,"to":{"name":"Ada"}}`:              "    nothing changes\n",
		`{"amount":80,"to":"***"}`:                       "    to: \"***\" → merged with other members\n",
		`{"amount":80,"note":"***","to":{"name":"***"}}`: "    note: \"***\" → (absent)\n    to.name: \"***\" → another value\n",
	} {
		var b strings.Builder
		writeEdit(&b, json.RawMessage(before), json.RawMessage(edit))
		if b.String() != want {
			t.Errorf("before %q:\n got %q\nwant %q", before, b.String(), want)
		}
	}
}
