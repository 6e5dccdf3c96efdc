package policies

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// The page on policies lists every name and field of expressions, and the bounds of the code.
func TestDocs_ListEveryNameAndBound(t *testing.T) {
	var page string
	for _, name := range []string{"policies.md", "policy-language.md", "data-flow.md"} {
		data, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		page += string(data)
	}
	for _, value := range []struct {
		name  string
		typed reflect.Type
	}{{nameTool, reflect.TypeFor[Tool]()}, {nameCaller, reflect.TypeFor[Caller]()},
		{nameRun, reflect.TypeFor[Run]()}, {nameBudget, reflect.TypeFor[Budget]()},
		{namePlan, reflect.TypeFor[Plan]()}, {namePrincipal, reflect.TypeFor[Principal]()},
		{nameConversation, reflect.TypeFor[Conversation]()}, {"", reflect.TypeFor[Count]()},
		{"", reflect.TypeFor[Calls]()}, {"c", reflect.TypeFor[pastCall]()}} {
		for _, f := range reflect.VisibleFields(value.typed) {
			if !f.IsExported() {
				continue
			}
			if name := "`" + value.name + "." + f.Tag.Get("cel") + "`"; !strings.Contains(page,
				name) {
				t.Errorf("docs/policy-language.md does not document %s", name)
			}
		}
	}
	for _, name := range []string{"| `args` |", "| `labels` |", "| `now` |", "`calls.NAME`",
		"4 KiB", "at most 20 rules",
		"at most 10,000", "at most 1 MiB"} {
		if !strings.Contains(page, name) {
			t.Errorf("docs/policy-language.md does not document %s", name)
		}
	}
}
