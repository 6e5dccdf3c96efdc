package policies

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The page on policies tells every name and field that an expression can have, and bounds that are
// those of the code.
func TestDocs(t *testing.T) {
	data, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, value := range []struct {
		name  string
		typed reflect.Type
	}{{nameTool, reflect.TypeFor[Tool]()}, {nameCaller, reflect.TypeFor[Caller]()},
		{nameRun, reflect.TypeFor[Run]()}, {nameBudget, reflect.TypeFor[Budget]()},
		{namePlan, reflect.TypeFor[Plan]()}, {"", reflect.TypeFor[Count]()},
		{"", reflect.TypeFor[Calls]()}} {
		for _, f := range reflect.VisibleFields(value.typed) {
			if told := "`" + value.name + "." + f.Tag.Get("cel") + "`"; !strings.Contains(page,
				told) {
				t.Errorf("docs/policies.md does not tell %s", told)
			}
			if !slices.Contains(fields, f.Tag.Get("cel")) {
				t.Errorf("%s is not among the fields for near names", f.Tag.Get("cel"))
			}
		}
	}
	for _, told := range []string{"| `args` |", "| `labels` |", "| `now` |", "`calls.NAME`",
		"4 KiB", "at most 20 rules"} {
		if !strings.Contains(page, told) {
			t.Errorf("docs/policies.md does not tell %s", told)
		}
	}
}
