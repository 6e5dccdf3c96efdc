package toolspecs

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/agents"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// FuzzDecode passes any bytes to every decoder: they return a value, or faults with a position, and
// never panic or hang. A decoded toolspec also compiles and can be pinned.
func FuzzDecode(f *testing.F) {
	golden.Seed(f, "testdata/specs/*", "testdata/agents/*", "testdata/plans/*",
		"testdata/scripts/*")
	f.Add([]byte(searchSpec))
	f.Add([]byte(schemaSpec))
	f.Fuzz(func(t *testing.T, data []byte) {
		specs, err := Decode("f.yaml", data, Options{})
		placed(t, err)
		for _, s := range specs {
			c, err := s.Compile()
			if err != nil {
				t.Fatalf("decoded, but does not compile: %v\n%s", err, data)
			}
			if _, err := FromTool(c.Tool()); err != nil {
				t.Fatalf("compiled, but cannot be pinned: %v\n%s", err, data)
			}
		}
		// The folder does not exist, so that no agent file can name a script.
		_, err = agents.Decode("none/f.yaml", data, agents.Known{})
		placed(t, err)
		_, err = plans.Decode("f.yaml", data, nil)
		placed(t, err)
		_, err = plans.DecodeScript("f.yaml", data, nil, "")
		placed(t, err)
	})
}

func placed(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	faults, ok := err.(Faults)
	if !ok || len(faults) == 0 {
		t.Fatalf("%T: %v", err, err)
	}
	for _, fault := range faults {
		if fault.Line < 1 || fault.Column < 1 || fault.Message == "" {
			t.Fatalf("the fault %+v has no place", fault)
		}
	}
}

// FuzzArguments passes any text as arguments. encoding/json reads accepted text as the same value,
// and validating it again changes nothing.
func FuzzArguments(f *testing.F) {
	for _, text := range []string{`{"query":"ab","limit":5.0,"rows":[{}],"extra":{"a":[1e3,null,"\ud83d\ude00"]}}`,
		`{"id":1,"kind":"a","open":{"y":{"z":[[]]}}}`, `{"a":`, ``} {
		f.Add(text, true)
		f.Add(text, false)
	}
	open := compile(f, Spec{InputSchema: json.RawMessage(
		`{"type":"object","additionalProperties":true}`)})
	tools := []*Compiled{open, decodeOne(f, searchSpec), decodeOne(f, schemaSpec)}
	f.Fuzz(func(t *testing.T, text string, strict bool) {
		mode := api.ModeLenient
		if strict {
			mode = api.ModeStrict
		}
		for _, tool := range tools {
			stable(t, tool, text, mode)
		}
		sameAsTheirs(t, open, text)
	})
}

// stable checks that validated arguments are valid and stay unchanged.
func stable(t *testing.T, tool *Compiled, text string, mode api.Mode) {
	t.Helper()
	args, _, problems := tool.Arguments(text, mode)
	if len(problems) > 0 {
		return
	}
	again, notes, problems := tool.Arguments(string(args), mode)
	if string(again) != string(args) || len(notes)+len(problems) > 0 {
		t.Fatalf("%q gave %s, and that %s %v %v", text, args, again, notes, problems)
	}
}

// sameAsTheirs checks that accepted arguments have the value that encoding/json reads.
func sameAsTheirs(t *testing.T, open *Compiled, text string) {
	t.Helper()
	args, _, problems := open.Arguments(text, "")
	if len(problems) > 0 || strings.TrimSpace(text) == "" {
		return
	}
	theirs, err := jsonvalue.Decode([]byte(text))
	ours, err2 := jsonvalue.Decode(args)
	if err != nil || err2 != nil || !reflect.DeepEqual(theirs, ours) {
		t.Fatalf("%q gave %s: %v %v", text, args, err, err2)
	}
}
