package jsonvalue

import "testing"

func TestFillObjects_ChangesEmptyListsDownToADepth(t *testing.T) {
	for value, want := range map[string]string{
		`[]`: `{}`, ` [ ] `: `{}`, `{}`: "", `null`: "", `[1]`: "", `"[]"`: "", ``: "",
		`{"a":[],"b":[1]}`:     `{"a":{},"b":[1]}`,
		`{"a":{"b":[]}}`:       `{"a":{"b":{}}}`,
		`{"a":{"b":{"c":[]}}}`: "",
	} {
		if got, ok := FillObjects([]byte(value), 2); string(got) != want || ok != (want != "") {
			t.Errorf("%s: %s, %t", value, got, ok)
		}
	}
}
