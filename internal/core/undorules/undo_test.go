package undorules

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
)

// Values keep their types. An argument that the call lacks is omitted. If a value of the result is
// missing, there is no call.
func TestUndoArguments_ReplacePlaceholders(t *testing.T) {
	source := placeholders.Source{Arguments: json.RawMessage(
		`{"room":"7","days":3,"who":{"name":"Ann"},"none":null}`),
		Result: &api.Result{Output: json.RawMessage(
			`{"id":12345678901234567890,"parts":[{"no":1}],"ok":true}`)}, Key: "run/1.2"}
	unknown, cut, text := source, source, source
	unknown.Result = nil
	cut.Result = &api.Result{Output: json.RawMessage(`"{\"id\":1"`), Cut: 5}
	text.Result = &api.Result{Output: json.RawMessage(`"B-7"`)}
	for _, test := range []struct {
		source          placeholders.Source
		arguments, want string
	}{
		{source, ``, `{}`},
		{source, `{"id":"{{result.id}}","all":"{{ result.parts }}"}`,
			`{"all":[{"no":1}],"id":12345678901234567890}`},
		{source, `{"why":"{{args.room}} for {{args.days}} days, {{args.who.name}}, no {{result.parts.0.no}}, {{call.key}}"}`,
			`{"why":"7 for 3 days, Ann, no 1, run/1.2"}`},
		{source, `{"days":"{{args.days}}","gone":"{{args.gone}}","text":"<{{args.gone}}>","null":"{{args.none}}","list":["{{args.gone}}",1,"{{result.ok}}"]}`,
			`{"days":3,"list":[1,true],"null":null,"text":"<>"}`},
		{text, `{"id":"{{result}}"}`, `{"id":"B-7"}`},
		{unknown, `{"key":"{{call.key}}","room":"{{args.room}}"}`, `{"key":"run/1.2","room":"7"}`},
		{unknown, `{"id":"x {{result.id}}"}`,
			`! {{result.id}}: the result of the call is unknown; it may have taken effect`},
		{cut, `{"id":["{{result.id}}"]}`,
			`! {{result.id}}: 5 bytes of the result were cut; raise the tool's max_result`},
		{source, `{"id":"{{result.parts.1.no}}"}`,
			`! {{result.parts.1.no}}: the result has no "parts.1"`},
		{source, `{"id":"{{call.id}}"}`, `! {{call.id}} is not a placeholder`},
		{source, `{"id":"` + strings.Repeat("x", maxArguments) + `"}`,
			`! the arguments would have 32777 bytes; the maximum is 32768`},
	} {
		got, err := Arguments(api.Undo{Arguments: json.RawMessage(test.arguments)}, test.source)
		if err != nil {
			got = json.RawMessage("! " + err.Error())
		}
		if string(got) != test.want {
			t.Errorf("%.80s gives %s, want %s", test.arguments, got, test.want)
		}
	}
	for _, broken := range []placeholders.Source{{Arguments: json.RawMessage(`{`)},
		{Result: &api.Result{Output: json.RawMessage(`{`)}}} {
		for _, template := range []string{`{"a":"{{args.x}}"}`, `{"a":"{{result.x}}"}`, `{`} {
			if got, err := Arguments((api.Undo{Arguments: json.RawMessage(template)}),
				broken); err == nil {
				t.Errorf("%s gives %s of what is no JSON", template, got)
			}
		}
	}
}

func TestUndo_DependsOnTheEndOfTheRun(t *testing.T) {
	for when, want := range map[api.UndoWhen][2]bool{"": {true, true}, api.UndoBoth: {true, true},
		api.UndoOnFailure: {true, false}, api.UndoOnCancel: {false, true}, api.UndoNever: {false,
			false}} {
		if got := [2]bool{Applies(when, false), Applies(when, true)}; got != want {
			t.Errorf("%q: on failure and cancel %v, want %v", when, got, want)
		}
	}
}
