package toolspecs

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// Faults of an undo against the other tools are reported at their place in the file: an unknown
// tool, one without an effect or with state of the run, unknown or missing arguments, and a secret
// that it would show.
func TestCheckCalls_ReportsInvalidUndo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "tools.yaml")
	const head = "version: 1.0.0\ndescription: A tool.\nentry: {type: function}\n"
	write(t, file, "name: a\n"+head+"undo: {tool: cancl}\n---\n"+
		"name: b\n"+head+"undo: {tool: look}\n---\n"+
		"name: c\n"+head+"undo: {tool: ask}\n---\n"+
		"name: d\n"+head+"parameters: [{name: card, type: string, sensitive: true}, {name: room, type: string}]\n"+
		"undo:\n  tool: cancel\n  arguments:\n    idd: 1\n    why: \"{{args.room}} {{args.card}}\"\n    card: \"{{args.card}}\"\n---\n"+
		"name: e\n"+head+"undo: {tool: schema, arguments: {any: 1}}\n---\n"+
		"name: f\n"+head+"verify: {tool: cancel, arguments: {id: 1}, done: found}\n---\n"+
		"name: g\n"+head+"verify:\n  tool: look\n  done: fond\n---\n"+
		"name: h\n"+head+"output: {type: object, validation: {properties: [{name: tokens, type: array, validation: {items: {type: string, sensitive: true}}}]}}\n"+
		"undo: {tool: cancel, arguments: {id: \"{{call.key}}\", why: \"{{result.tokens.0}}\", card: \"{{result.tokens.1}}\"}}\n---\n"+
		"name: good\n"+head+"undo: {tool: cancel, arguments: {id: \"{{call.key}}\"}}\n---\n"+
		"name: look\n"+head+"output: {type: object, validation: {properties: [{name: found, type: boolean}]}}\nexecution: {effect: read}\n---\n"+
		"name: ask\nversion: 1.0.0\ndescription: Asks.\nentry: {type: human}\n---\n"+
		"name: cancel\n"+head+
		"parameters: [{name: id, type: string, required: true}, {name: why, type: string}, {name: card, type: string, sensitive: true}]\n---\n"+
		"name: schema\n"+head+
		"input_schema: {type: object, properties: {id: {}}, required: [id], additionalProperties: true}\n")
	specs, known := decodeFileOf(t, file)
	var want strings.Builder
	for n, line := range []string{
		`5:14: there is no tool "cancl" (did you mean "cancel"?)`,
		`11:14: the effect of look is read, so it cannot undo anything (name a tool that changes something)`,
		`17:14: ask is of the kind human, which a run cannot call to undo or verify (name a tool of the kind SCHEDULED_KINDS)`,
		`27:5: cancel needs the argument "id" (give it)`,
		`27:10: cancel has no parameter "idd" (did you mean "id"?)`,
		`28:10: {{args.card}} is sensitive, but the parameter why of cancel is not: its value would be shown (mark that parameter as sensitive)`,
		`35:33: schema needs the argument "id" (give it)`,
		`41:16: the effect of cancel is once, but verify needs a tool that only reads (name a tool that reads)`,
		`49:9: fond: the output of look declares no "fond" (did you mean "found"?)`,
		`56:59: {{result.tokens.0}} is sensitive, but the parameter why of cancel is not: its value would be shown (mark that parameter as sensitive)`,
	} {
		if n > 0 {
			want.WriteString("\n")
		}
		want.WriteString(file + ":" + line)
	}
	if err := CheckCalls(specs, known); err == nil ||
		withoutKinds(err.Error()) != want.String() {
		t.Errorf("got\n%v\nwant\n%s", err, want.String())
	}
	spec := Spec{Name: "a", Undo: &api.Undo{Tool: "cancel"}}
	if err := CheckCalls([]Spec{spec}, []string{"cancel"}); err != nil {
		t.Errorf("a tool that only its name is known of: %v", err)
	}
	if err := CheckCalls([]Spec{spec}, nil); err == nil ||
		err.Error() != `toolspec "a": $.undo.tool: there is no tool "cancel"` {
		t.Errorf("a spec that is in no file: %v", err)
	}
}

// A spec without undo has a digest that does not depend on the field.
func TestUndo_IsPinnedWithItsTool(t *testing.T) {
	spec := Spec{Name: "book", Version: "1.0.0", Description: "Books.",
		Entry: Entry{Kind: FunctionEntry{}}}
	plain, err := spec.Compile()
	if err != nil {
		t.Fatal(err)
	}
	spec.Undo = &api.Undo{Tool: "cancel", Arguments: []byte(`{"id":"{{result.id}}"}`)}
	undone, err := spec.Compile()
	if err != nil {
		t.Fatal(err)
	}
	if plain.Digest == undone.Digest || plain.Tool().Undo != nil {
		t.Errorf("digests %s and %s", plain.Digest, undone.Digest)
	}
	again, err := FromTool(undone.Tool())
	if err != nil || again.Tool().Undo.Tool != "cancel" ||
		string(again.Tool().Undo.Arguments) != `{"id":"{{result.id}}"}` {
		t.Errorf("pinned: %+v, error %v", again, err)
	}
}
