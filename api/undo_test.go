package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// Values keep their types. An argument that the call lacks is omitted. If a value of the result is
// missing, there is no call.
func TestUndoArguments_ReplacePlaceholders(t *testing.T) {
	source := UndoSource{Arguments: json.RawMessage(
		`{"room":"7","days":3,"who":{"name":"Ann"},"none":null}`),
		Result: &Result{Output: json.RawMessage(
			`{"id":12345678901234567890,"parts":[{"no":1}],"ok":true}`)}, Key: "run/1.2"}
	unknown, cut, text := source, source, source
	unknown.Result = nil
	cut.Result = &Result{Output: json.RawMessage(`"{\"id\":1"`), Cut: 5}
	text.Result = &Result{Output: json.RawMessage(`"B-7"`)}
	for _, test := range []struct {
		source          UndoSource
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
		{source, `{"id":"` + strings.Repeat("x", maxUndoArguments) + `"}`,
			`! the arguments would have 32777 bytes; the maximum is 32768`},
	} {
		got, err := Undo{Arguments: json.RawMessage(test.arguments)}.For(test.source)
		if err != nil {
			got = json.RawMessage("! " + err.Error())
		}
		if string(got) != test.want {
			t.Errorf("%.80s gives %s, want %s", test.arguments, got, test.want)
		}
	}
	for _, broken := range []UndoSource{{Arguments: json.RawMessage(`{`)},
		{Result: &Result{Output: json.RawMessage(`{`)}}} {
		for _, template := range []string{`{"a":"{{args.x}}"}`, `{"a":"{{result.x}}"}`, `{`} {
			if got, err := (Undo{Arguments: json.RawMessage(template)}).For(broken); err == nil {
				t.Errorf("%s gives %s of what is no JSON", template, got)
			}
		}
	}
}

// A failed call may have had an effect if it started and did not report that it failed.
func TestMayHaveActed_DependsOnStartAndError(t *testing.T) {
	acted := map[ErrorType]bool{ErrTimeout: true, ErrWorkerLost: true, ErrOutcomeUnknown: true,
		ErrInvalidOutput: true}
	for _, kind := range errorTypes() {
		e := Error{Type: kind, Phase: PhaseExecution}
		if e.MayHaveActed() != acted[kind] {
			t.Errorf("%s: %t", kind, e.MayHaveActed())
		}
		e.NotStarted = true
		early := Error{Type: kind, Phase: PhasePreExecution}
		if e.MayHaveActed() || early.MayHaveActed() {
			t.Errorf("%s: a call that did not begin took effect", kind)
		}
		unclear := Error{Type: kind, Phase: PhaseExecution, Unclear: true}
		late := Error{Type: kind, Phase: PhasePostExecution}
		if !unclear.MayHaveActed() || !late.MayHaveActed() {
			t.Errorf("%s: a call that may have taken effect did not", kind)
		}
	}
}

func TestUndo_DependsOnTheEndOfTheRun(t *testing.T) {
	for when, want := range map[UndoWhen][2]bool{"": {true, true}, UndoBoth: {true, true},
		UndoOnFailure: {true, false}, UndoOnCancel: {false, true}, UndoNever: {false, false}} {
		if got := [2]bool{when.At(false), when.At(true)}; got != want {
			t.Errorf("%q: on failure and cancel %v, want %v", when, got, want)
		}
	}
}
