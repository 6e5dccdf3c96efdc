package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// TestJSONIsDocumented checks that docs/cli-json.md names every field of what commands print as JSON.
func TestJSONIsDocumented(t *testing.T) {
	data, err := os.ReadFile("../docs/cli-json.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, printed := range []any{failedCommand{}, writtenFault{}, callEnd{}, listedRun{}, shownRun{}, listedTool{}, shownTool{}, shownSchedule{}, scheduledRun{},
		listedApproval{}, listedQuestion{}, finding{}, api.Event{}, api.Record{}, api.RunResult{}, api.WorkerCatalog{},
		api.PoliciesInForce{}, audit.Running{}} {
		for _, name := range jsonNames(reflect.TypeOf(printed)) {
			if !strings.Contains(string(data), "`"+name+"`") {
				t.Errorf("docs/cli-json.md does not name %s of %T", name, printed)
			}
		}
	}
}

// jsonNames returns the names that a struct's fields have as JSON, those of structs in it without a name among them.
func jsonNames(s reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(s) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
