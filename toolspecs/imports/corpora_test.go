package imports

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/toolspecs"
)

type functionCase struct {
	ID           string
	Noise        bool
	Tools        json.RawMessage
	ValidCalls   []functionCall `json:"valid_calls"`
	InvalidCalls []functionCall `json:"invalid_calls"`
}

type functionCall struct {
	Tool  string
	Args  json.RawMessage
	Why   string
	Param string
}

// The functions are those of a public benchmark. Each one imports, its file lints clean, each valid
// call passes unchanged in strict mode, and each invalid call is refused with a problem at the
// wrong argument.
func TestImportedFunctions_AcceptExactlyTheValidCalls(t *testing.T) {
	var suite struct{ Cases []functionCase }
	cases.Read(t, "bfcl_single_turn.json", &suite)
	// The ground truth passes an argument that the tool does not declare.
	wrong := []string{"parallel_multiple_12", "parallel_multiple_26"}
	tools, valid, invalid := 0, 0, 0
	for _, c := range suite.Cases {
		catalog := map[string]*toolspecs.Compiled{}
		for _, tool := range importFunctions(t, c.ID, c.Tools) {
			catalog[tool.Spec.Name] = tool
			tools++
		}
		if c.Noise || slices.Contains(wrong, c.ID) {
			// The calls of these cases violate the schema of their own tool.
			continue
		}
		for _, call := range c.ValidCalls {
			valid++
			checkValid(t, c.ID, catalog, call)
		}
		for _, call := range c.InvalidCalls {
			invalid++
			checkInvalid(t, c.ID, catalog, call)
		}
	}
	t.Logf("%d tools, %d valid and %d invalid calls", tools, valid, invalid)
	if tools < 400 || valid < 200 || invalid < 500 {
		t.Errorf("only %d tools, %d valid and %d invalid calls were tried", tools, valid, invalid)
	}
}

// importFunctions imports functions, none of which may be refused, and reads the written files.
func importFunctions(t *testing.T, id string, tools json.RawMessage) []*toolspecs.Compiled {
	t.Helper()
	r, err := Functions(id+".json", tools, nil)
	if err != nil || len(r.Refused) > 0 {
		t.Fatalf("%s: %v, refused %v", id, err, r.Refused)
	}
	var all []*toolspecs.Compiled
	for _, tool := range r.Tools {
		data, err := r.YAML(tool)
		if err != nil {
			t.Fatal(err)
		}
		checkWritten(t, tool, data)
		compiled, err := tool.Spec.Compile()
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		all = append(all, compiled)
	}
	return all
}

func checkValid(t *testing.T, id string, catalog map[string]*toolspecs.Compiled,
	call functionCall) {
	t.Helper()
	tool := catalog[call.Tool]
	args, notes, problems := tool.Arguments(string(call.Args), "")
	if len(problems)+len(notes) > 0 {
		t.Errorf("%s: valid call refused: %v %v\n%s\n%s", id, problems, notes, call.Args,
			tool.InputSchema())
		return
	}
	var given, got map[string]any
	if json.Unmarshal(call.Args, &given) != nil || json.Unmarshal(args, &got) != nil {
		t.Fatalf("%s: %s", id, args)
	}
	for k, v := range given {
		want, _ := json.Marshal(v)
		if have, _ := json.Marshal(got[k]); string(want) != string(have) &&
			!strings.Contains(string(want), "{") {
			t.Errorf("%s: argument %s was %s and became %s", id, k, want, have)
		}
	}
}

func checkInvalid(t *testing.T, id string, catalog map[string]*toolspecs.Compiled,
	call functionCall) {
	t.Helper()
	_, _, problems := catalog[call.Tool].Arguments(string(call.Args), "")
	if len(problems) == 0 {
		t.Errorf("%s: invalid call accepted (%s): %s", id, call.Why, call.Args)
		return
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Path, "$."+call.Param) || strings.Contains(p.Path, `["`+call.Param) {
			return
		}
	}
	t.Errorf("%s: %s, but the problems are %v", id, call.Why, problems)
}

// declared is a tool of the second corpus as the test reads it, without this package.
type declared struct {
	Name       string
	Parameters map[string]declaredParameter
	Query      map[string]declaredParameter `json:"query_parameters"`
	Path       map[string]declaredParameter `json:"path_parameters"`
}

type declaredParameter struct {
	Type string
	// Required is true or false; for an object, a list of names.
	Required   any
	Values     any `json:"allowed_values"`
	Items      *declaredParameter
	Properties map[string]declaredParameter
}

// takes reports whether a call's arguments match the tool's declaration: no other names, all
// required ones, and values of the declared types. A value that refers to another call's result
// counts as text.
func (d declared) takes(arguments map[string]any) bool {
	all := map[string]declaredParameter{}
	for _, group := range []map[string]declaredParameter{d.Parameters, d.Query, d.Path} {
		maps.Copy(all, group)
	}
	return fitAll(all, arguments)
}

func fitAll(all map[string]declaredParameter, values map[string]any) bool {
	for name, p := range all {
		if _, given := values[name]; p.Required == true && !given {
			return false
		}
	}
	for name, value := range values {
		p, known := all[name]
		if !known || !p.fits(value) {
			return false
		}
	}
	return true
}

func (p declaredParameter) fits(value any) bool {
	if values, ok := p.Values.([]any); ok && !slices.Contains(values, value) {
		return false
	}
	switch value := value.(type) {
	case string:
		return slices.Contains([]string{"string", "enum", "file", "date (yyyy-mm-dd)"},
			strings.ToLower(p.Type))
	case float64:
		whole := value == float64(int64(value)) && strings.EqualFold(p.Type, "integer")
		return whole || slices.Contains([]string{"number", "float"}, strings.ToLower(p.Type))
	case bool:
		return strings.EqualFold(p.Type, "boolean")
	case []any:
		misfit := func(e any) bool { return p.Items != nil && !p.Items.fits(e) }
		return strings.EqualFold(p.Type, "array") && !slices.ContainsFunc(value, misfit)
	}
	members, _ := value.(map[string]any)
	return strings.EqualFold(p.Type, "object") && (p.Properties == nil ||
		fitAll(p.Properties, members))
}

// The corpus has real REST endpoints, functions, and chains of calls. Each tool imports, endpoints
// as REST tools, and a call passes only if it matches the declaration of its tool, which many calls
// of the corpus do not.
func TestImportedEndpoints_AcceptExactlyTheValidChains(t *testing.T) {
	type chain struct {
		Output []struct {
			Name      string
			Arguments map[string]any
		}
	}
	var suite struct {
		RESTSpecs  json.RawMessage `json:"rest_specs"`
		FnSpecs    json.RawMessage `json:"fn_specs"`
		RESTChains []chain         `json:"rest_chains"`
		FnChains   []chain         `json:"fn_chains"`
	}
	cases.Read(t, "nestful.json", &suite)
	decisions := map[bool]int{}
	for _, part := range []struct {
		name, kind string
		specs      json.RawMessage
		chains     []chain
	}{{"rest", "rest", suite.RESTSpecs, suite.RESTChains}, {"fn", "function", suite.FnSpecs,
		suite.FnChains}} {
		all := importFunctions(t, part.name, part.specs)
		var list []declared
		if err := json.Unmarshal(part.specs, &list); err != nil || len(list) != len(all) {
			t.Fatalf("%d tools of %d: %v", len(all), len(list), err)
		}
		for i, d := range list {
			tool := all[i]
			if tool.Spec.Entry.Type() != part.kind {
				t.Errorf("%s is of the kind %s", d.Name, tool.Spec.Entry.Type())
			}
			for _, c := range part.chains {
				for _, call := range c.Output {
					if call.Name == d.Name {
						decisions[checkChained(t, d, tool, call.Arguments)]++
					}
				}
			}
		}
	}
	t.Logf("%d calls keep to the declaration, %d do not", decisions[true], decisions[false])
	if decisions[true] < 350 || decisions[false] < 50 {
		t.Errorf("only %v calls were tried", decisions)
	}
}

func checkChained(t *testing.T, d declared, tool *toolspecs.Compiled,
	arguments map[string]any) bool {
	t.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		t.Fatal(err)
	}
	want := d.takes(arguments)
	_, _, problems := tool.Arguments(string(text), "")
	if (len(problems) == 0) != want {
		t.Errorf("%s: passes should be %t: %v\n%s\n%s", d.Name, want, problems, text,
			tool.InputSchema())
	}
	return want
}
