package toolspecs

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

type schemaGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// schemaExceptions lists tests that this package fails on purpose, with the reason.
var schemaExceptions = map[string]string{}

// The JSON-Schema-Test-Suite checks the path from the text of an input_schema to the decision about
// a value. All required tests of both drafts pass. Formats are annotations here, so the optional
// format tests do not run.
func TestJSONSchemaSuite_PassesRequiredTests(t *testing.T) {
	var suite struct {
		Draft2020 map[string][]schemaGroup `json:"draft2020-12"`
		Draft7    map[string][]schemaGroup `json:"draft7"`
	}
	cases.Read(t, "json_schema_suite.json", &suite)
	ran := 0
	for draft, files := range map[string]map[string][]schemaGroup{"": suite.Draft2020,
		"http://json-schema.org/draft-07/schema#": suite.Draft7} {
		for file, groups := range files {
			if strings.HasPrefix(file, "optional/") {
				continue
			}
			for _, g := range groups {
				ran += runSchemaGroup(t, draft, file, g)
			}
		}
	}
	if ran < 1000 {
		t.Errorf("only %d tests ran", ran)
	}
}

func runSchemaGroup(t *testing.T, draft, file string, g schemaGroup) int {
	t.Helper()
	raw := g.Schema
	if draft != "" && strings.HasPrefix(string(raw), "{") && !strings.Contains(string(raw),
		`"$schema"`) {
		raw = json.RawMessage(`{"$schema":"` + draft + `",` + strings.TrimPrefix(string(raw), "{"))
		raw = json.RawMessage(strings.Replace(string(raw), ",}", "}", 1))
	}
	compiled, err := schemas.NewForm(raw)
	if err != nil {
		t.Errorf("%s/%s: %v", file, g.Description, err)
		return 0
	}
	for _, c := range g.Tests {
		name := file + "/" + g.Description + "/" + c.Description
		valid := len(compiled.Check(c.Data)) == 0
		if _, except := schemaExceptions[name]; valid != c.Valid && !except {
			t.Errorf("%s: valid is %t, want %t", name, valid, c.Valid)
		}
	}
	return len(g.Tests)
}

// Every naughty string passes through arguments and defaults unchanged.
func TestNaughtyStrings_PassUnchanged(t *testing.T) {
	c := compile(t, Spec{Name: "echo",
		Parameters: []Parameter{{Name: "text", Type: schemas.TypeString, Required: true}}})
	for _, s := range cases.NaughtyStrings(t) {
		text, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		args, notes, problems := c.Arguments(string(text), api.ModeLenient)
		if len(notes)+len(problems) > 0 {
			t.Errorf("%q: notes %v, problems %v", s, notes, problems)
		}
		var back struct{ Text string }
		if err := json.Unmarshal(args, &back); err != nil || back.Text != s {
			t.Errorf("%q came back as %q (%v)", s, back.Text, err)
		}
		naughtyDefault(t, s)
	}
}

func naughtyDefault(t *testing.T, s string) {
	t.Helper()
	value, err := jsonvalue.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	c := compile(t, Spec{Name: "echo",
		Parameters: []Parameter{{Name: "text", Type: schemas.TypeString, Default: value}}})
	args, _, _ := c.Arguments("", "")
	var back struct{ Text string }
	if err := json.Unmarshal(args, &back); err != nil || back.Text != s {
		t.Errorf("the default %q came back as %q (%v)", s, back.Text, err)
	}
}

// complete adds the required fields of a spec, so that tests show only what they check.
func complete(s Spec) Spec {
	if s.Name == "" {
		s.Name = "tool"
	}
	if s.Version == "" {
		s.Version = "1.0.0"
	}
	if s.Description == "" {
		s.Description = "A tool."
	}
	if s.Entry.Kind == nil {
		s.Entry.Kind = FunctionEntry{}
	}
	return s
}

func compile(t testing.TB, s Spec) *Compiled {
	t.Helper()
	c, err := complete(s).Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
