package spelling

import (
	"slices"
	"strings"
	"testing"
)

// Other words find nothing.
func TestNear_FindsMisspelledWords(t *testing.T) {
	known := []string{"read_file", "write_file", "list_files", "search", "get", "descend", "name"}
	for _, c := range []struct {
		word string
		want []string
	}{
		{"read_fil", []string{"read_file"}},
		{"raed_file", []string{"read_file"}},
		{"ReadFile", []string{"read_file"}},
		{"read-file", []string{"read_file"}},
		{"serach", []string{"search"}},
		{"files", []string{"list_files"}},
		{"file_search", []string{"search"}},
		{"nmae", []string{"name"}},
		{"gte", []string{"get"}},
		{"xylophone", nil},
		{"", nil},
		{strings.Repeat("x", 201), nil},
	} {
		got := Near(c.word, known, 3)
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: got %v, want %v", c.word, got, c.want)
		}
	}
	if got := Near("a", []string{"ab", "a", "", strings.Repeat("a", 201), "a"},
		5); !slices.Equal(got, []string{"a"}) {
		t.Errorf("got %v", got)
	}
	if got := Near("aaaa", []string{"aaab", "aaac", "aaad"}, 2); !slices.Equal(got,
		[]string{"aaab", "aaac"}) {
		t.Errorf("the limit is 2: %v", got)
	}
}

// Otherwise it lists the known words, if there are any.
func TestHint_NamesTheNearestWord(t *testing.T) {
	many := strings.Fields(strings.Repeat("w ", 25))
	for _, c := range []struct {
		word  string
		known []string
		want  string
	}{
		{"nam", []string{"name"}, `did you mean "name"?`},
		{"x", []string{"name", "type"}, "known: name, type"},
		{"x", nil, ""},
		{"xyz", many, "known: " + strings.Repeat("w, ", 20) + "…"},
	} {
		if got := Hint(c.word, c.known); got != c.want {
			t.Errorf("%q: got %q, want %q", c.word, got, c.want)
		}
	}
}
