package planrules

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"pgregory.net/rapid"
)

// decoded decodes JSON text as the arguments of calls are decoded.
func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonvalue.Decode([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// Each is listed once, in a fixed order. Escaped dollars are no references.
func TestReferences_AreFoundAtAnyDepth(t *testing.T) {
	tests := []struct {
		value string
		want  []string
	}{
		{`"${a}"`, []string{"${a}"}},
		{`"${a.items.0.name} and ${b}, ${a.items.0.name}"`, []string{"${a.items.0.name}", "${b}"}},
		{`{"y":["${b}",{"z":"${c}"}],"x":"${a}"}`, []string{"${a}", "${b}", "${c}"}},
		{`"$${a} $$${b} $a {a} $${ open $${a{b}"`, nil},
		{`{"${key}":1}`, nil},
		{`[1,true,null]`, nil},
	}
	for _, tt := range tests {
		refs, err := references(decoded(t, tt.value))
		if err != nil {
			t.Errorf("%s: %v", tt.value, err)
		}
		var got []string
		for _, r := range refs {
			got = append(got, r.String())
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.value, got, tt.want)
		}
	}
}

// The message has the form to write.
func TestReferences_ReportMalformedOnes(t *testing.T) {
	const (
		invalid = " is not a reference; write ${id} or ${id.field.0}, or $${ for a literal ${"
		open    = " is a reference that is not closed; write ${id} or ${id.field.0}, or $${ for a literal ${"
	)
	for text, want := range map[string]string{"${}": "${}" + invalid, "${ }": "${ }" + invalid,
		"${.a}": "${.a}" + invalid, "${a.}": "${a.}" + invalid, "${a..b}": "${a..b}" + invalid,
		"${a": `"${a"` + open, "${ open": `"${ open"` + open, "${a{b}": `"${a{b}"` + open,
		"$${a} ${": `"${"` + open, "fine ${a} then ${}": "${}" + invalid} {
		for _, value := range []any{text, []any{1, text}, map[string]any{"x": text}} {
			if _, err := references(value); err == nil || err.Error() != want {
				t.Errorf("References(%q): %v, want %s", value, err, want)
			}
			if _, err := Resolve(value, func(string) (any, bool) { return "", true }); err == nil ||
				err.Error() != want {
				t.Errorf("Resolve(%q): %v, want %s", value, err, want)
			}
		}
	}
}

// References are whole values of any type, parts of them, and text within text.
func TestResolve_ReplacesReferences(t *testing.T) {
	results := map[string]any{
		"a": decoded(t, `{"items":[{"name":"first","n":12345678901234567890}],"0":"zero","html":"<b>"}`),
		"s": "text",
		"z": nil,
	}
	lookup := func(id string) (any, bool) { v, ok := results[id]; return v, ok }
	tests := []struct{ value, want string }{
		{`"${a.items}"`, `[{"name":"first","n":12345678901234567890}]`},
		{`"${a.items.0.n}"`, `12345678901234567890`},
		{`"n is ${a.items.0.n}!"`, `"n is 12345678901234567890!"`},
		{`"${a.0}"`, `"zero"`},
		{`"${s}${s}"`, `"texttext"`},
		{`"is ${z}"`, `"is null"`},
		{`"${z}"`, `null`},
		{`"part: ${a.items}"`, `"part: [{\"n\":12345678901234567890,\"name\":\"first\"}]"`},
		{`"<${a.html}>"`, `"<<b>>"`},
		{`"$${s}"`, `"${s}"`},
		{`"$$${s} ${s}"`, `"$${s} text"`},
		{`{"k":["${s}",1,true],"${s}":null}`, `{"k":["text",1,true],"${s}":null}`},
	}
	for _, tt := range tests {
		got, err := Resolve(decoded(t, tt.value), lookup)
		if err != nil || !reflect.DeepEqual(got, decoded(t, tt.want)) {
			t.Errorf("Resolve(%s) = %s, %v, want %s", tt.value, jsonvalue.Text(got), err, tt.want)
		}
	}
}

// The message has the path of the reference.
func TestResolve_ReportsMissingValues(t *testing.T) {
	lookup := func(id string) (any, bool) {
		return map[string]any{"list": []any{"x"}}, id == "a"
	}
	tests := []struct{ text, says string }{
		{"${b}", `${b}: there is no result of a call "b"`},
		{"${a.list.1}", `${a.list.1}: the result has no "list.1"`},
		{"${a.list.-1}", `${a.list.-1}: the result has no "list.-1"`},
		{"${a.list.x}", `${a.list.x}: the result has no "list.x"`},
		{"${a.list.0.y}", `${a.list.0.y}: the result has no "list.0.y"`},
		{"${a.none.y}", `${a.none.y}: the result has no "none"`},
		{"in text ${a.none}", `${a.none}: the result has no "none"`},
	}
	for _, tt := range tests {
		for _, value := range []any{tt.text, []any{tt.text}, map[string]any{"x": tt.text}} {
			if got, err := Resolve(value, lookup); err == nil || got != nil ||
				err.Error() != tt.says {
				t.Errorf("Resolve(%v) = %v, %v, want %s", value, got, err, tt.says)
			}
		}
	}
}

// Escaping every ${ keeps any text.
func TestResolve_KeepsPlainValues(t *testing.T) {
	none := func(string) (any, bool) { return nil, false }
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("a.{}\n<é "))).Draw(t, "text")
		if got, err := Resolve([]any{map[string]any{text: text}}, none); err != nil ||
			!reflect.DeepEqual(got, []any{map[string]any{text: text}}) {
			t.Fatalf("%q became %v, %v", text, got, err)
		}
		text = strings.ReplaceAll(rapid.StringOf(rapid.RuneFrom([]rune("a{}$."))).Draw(t,
			"dollars"), "$$", "$")
		if got, err := Resolve(strings.ReplaceAll(text, "${", "$${"), none); err != nil ||
			got != text {
			t.Fatalf("%q became %v, %v", text, got, err)
		}
	})
}
