package jsonpath

import (
	"slices"
	"testing"
)

// Split returns the steps of a path that Key and Index wrote, for any keys.
func TestPaths_RoundTrip(t *testing.T) {
	for _, c := range []struct {
		steps []Step
		path  string
	}{
		{nil, "$"},
		{[]Step{{Key: "items", Index: -1}, {Index: 2}, {Key: "name", Index: -1}},
			"$.items[2].name"},
		{[]Step{{Key: "x-y_1", Index: -1}}, "$.x-y_1"},
		{[]Step{{Key: "two words", Index: -1}, {Key: "", Index: -1}, {Key: "1", Index: -1}},
			`$["two words"][""]["1"]`},
		{[]Step{{Key: `a"]\.b`, Index: -1}, {Index: 0}}, `$["a\"]\\.b"][0]`},
		{[]Step{{Key: "é<", Index: -1}}, `$["é<"]`},
	} {
		if got := Join(c.steps); got != c.path {
			t.Errorf("got %s, want %s", got, c.path)
		}
		if got := Split(c.path); !slices.Equal(got, c.steps) {
			t.Errorf("%s: got %+v, want %+v", c.path, got, c.steps)
		}
	}
}

func TestSplit_StopsAtBrokenParts(t *testing.T) {
	for _, path := range []string{"$.a[", "$.a[x]", "$.a[-1]", `$.a["b`, `$.a["b"`, `$.a["b"x`,
		`$.a["\q"]`, "$.a[9999999999999999999999]", "$.a]"} {
		got := Split(path)
		if len(got) != 1 || got[0].Index != -1 {
			t.Errorf("%s: %+v", path, got)
		}
	}
	if got := Split("$x"); got != nil {
		t.Errorf("got %+v", got)
	}
}
