package models

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func TestDeclare_KeepsWhatEveryProviderTakes(t *testing.T) {
	for name, c := range map[string]struct{ schema, want, rest string }{
		"a combination at the top": {
			`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`,
			`{"properties":{"a":{"type":"string"}},"type":"object"}`, `{"anyOf":[{"required":["a"]}]}`},
		"allOf at the top": {
			`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{"type":"string"}},"required":["b"]},{"if":{},"then":{}}]}`,
			`{"properties":{"a":{},"b":{"type":"string"}},"required":["b"],"type":"object"}`, `{"if":{},"then":{}}`},
		"an array without items": {`{"properties":{"p":{"type":"array"}},"required":["p"]}`,
			`{"properties":{"p":{"type":"array","items":{}}},"required":["p"],"type":"object"}`, ""},
		"references": {`{"properties":{"s":{"$ref":"#/$defs/S","description":"Where."}},"$defs":{"S":{"type":"object","properties":{"t":{"type":"string"}}}}}`,
			`{"properties":{"s":{"description":"Where.","type":"object","properties":{"t":{"type":"string"}}}},"type":"object"}`, ""},
		"a recursive reference": {`{"properties":{"n":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"n":{"$ref":"#/$defs/N"}}}}}`,
			`{"properties":{"n":{"type":"object","properties":{"n":{}}}},"type":"object"}`, ""},
		"an enum of numbers": {`{"properties":{"e":{"type":"number","enum":[6,7.5]}}}`,
			`{"properties":{"e":{"type":"number","description":"One of [6,7.5]."}},"type":"object"}`, ""},
		"types in a list": {`{"properties":{"a":{"type":["string","null"]},"b":{"type":["string","integer"]}}}`,
			`{"properties":{"a":{"type":"string"},"b":{"anyOf":[{"type":"string"},{"type":"integer"}]}},"type":"object"}`, ""},
		"keywords of few providers": {`{"properties":{"a":{"type":"integer","multipleOf":5,"description":"Minutes."}}}`,
			`{"properties":{"a":{"type":"integer","description":"Minutes. It must also fit the JSON Schema {\"multipleOf\":5}."}},"type":"object"}`, ""},
		"no schema": {`null`, `{"type":"object","properties":{}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := Declare(json.RawMessage(c.schema))
			if !equalJSON(t, string(d.Schema), c.want) || d.Rest != c.rest {
				t.Errorf("got %s, rest %s", d.Schema, d.Rest)
			}
		})
	}
}

func equalJSON(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal([]byte(a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(b), &y); err != nil {
		t.Fatal(err)
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// Names that a provider refuses are spelled otherwise for models, and restored in calls.
func TestDeclare_RestoresTheNamesOfMembers(t *testing.T) {
	long := strings.Repeat("k", 80)
	d := Declare(json.RawMessage(`{"type":"object","required":["$filter"],"properties":{"$filter":{"type":"string"},"_filter":{"type":"string"},
		"page[size]":{"type":"object","properties":{"a b":{"type":"integer"}}},"list":{"type":"array","items":{"type":"object","properties":{"é":{}}}},"` + long + `":{}}}`))
	want := `{"$filter":"x","page[size]":{"a b":1},"list":[{"é":2}],"other":3,"` + long + `":4}`
	got := d.Keys.Restore(`{"_filter_2":"x","page_size_":{"a_b":1},"list":[{"_":2}],"other":3,"` + long[:60] + `":4}`)
	if got != want {
		t.Errorf("got %s of %s", got, d.Schema)
	}
	d = Declare(json.RawMessage(
		`{"properties":{"q":{"anyOf":[{"type":"object","properties":{"$f":{}}},{"type":"null"}]},"":{}}}`))
	if got := d.Keys.Restore(`{"q":{"_f":1},"_":2}`); got != `{"q":{"$f":1},"":2}` {
		t.Errorf("got %s of %s", got, d.Schema)
	}
	for _, text := range []string{`{"_filter_2": `, ""} {
		if got := d.Keys.Restore(text); got != text {
			t.Errorf("Restore(%q) = %q", text, got)
		}
	}
}

// Schemas of any size and depth give a declaration of bounded size at once.
func TestDeclare_IsBounded(t *testing.T) {
	var wide, all strings.Builder
	for i := range 40 {
		fmt.Fprintf(&wide, `"n%d":{"type":"object","properties":{"a":{"$ref":"#/$defs/n%d"},"b":{"$ref":"#/$defs/n%d"}}},`, i, i+1, i+1)
		refs := strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/n%d"},`, i+1), 20), ",")
		fmt.Fprintf(&all, `"n%d":{"allOf":[%s]},`, i, refs)
	}
	defs := func(of string) string {
		return `{"$defs":{` + of + `"n40":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/n0"}}}`
	}
	var many strings.Builder
	for i := range 25_000 {
		fmt.Fprintf(&many, `"%s":{"$ref":"#/$defs/d"},`, strings.Repeat("é", i%7+1)+strconv.Itoa(i))
	}
	members := `{"properties":{` + strings.TrimSuffix(many.String(), ",") + `},"$defs":{"d":{"description":"` +
		strings.Repeat("long ", 40_000) + `"}}}`
	deep := strings.Repeat(`{"properties":{"a":`, 900) + `{}` + strings.Repeat(`}}`, 900)
	cycle := `{"allOf":[{"$ref":"#"}],"properties":{"a":{"$ref":"#"},"b":{"$ref":"#/properties/b"}}}`
	for _, schema := range []string{defs(wide.String()), defs(all.String()), members, deep, cycle} {
		if d := Declare(json.RawMessage(schema)); len(d.Schema) > 1<<20 || !json.Valid(d.Schema) {
			t.Errorf("%d bytes", len(d.Schema))
		}
	}
}
