package gateway

import (
	"encoding/json"
	"testing"
)

// A form asks for texts, numbers, truth values and choices, by themselves or as an object.
func TestForm_AsksForFlatValuesAndChoices(t *testing.T) {
	for _, c := range []struct{ schema, want string }{
		{``, string(textForm)},
		{`{"type":"integer"}`,
			`{"properties":{"answer":{"type":"integer"}},"required":["answer"],"type":"object"}`},
		{`{"type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"x"}]}}}`, "same"},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"enum":["x"]}}}}`, "same"},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x",` +
			`"title":"X"}]}}}}`, "same"},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{}]}}}}`, ""},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, ""},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`, ""},
		{`{"type":"object","properties":{"a":{"type":"object"}}}`, ""},
		{`{"type":"object"}`, ""},
	} {
		want := c.want
		if want == "same" {
			want = c.schema
		}
		if got := string(formFromSchema(json.RawMessage(c.schema))); got != want {
			t.Errorf("%s: got %s", c.schema, got)
		}
	}
}
