package function

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

type probePoint struct {
	X json.Number `json:"x"`
}

type probeInput struct {
	Path   string            `json:"path"`
	Count  int64             `json:"count,omitzero"`
	Wait   api.Duration      `json:"wait,omitzero"`
	Points []probePoint      `json:"points,omitempty"`
	Any    any               `json:"any,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Level  *float64          `json:"level"`
	Labels map[string]string `json:"labels,omitempty"`
}

func identity[T any](_ context.Context, in T) (T, error) { return in, nil }

func functionSpec(handler string) *toolspecs.Spec {
	return &toolspecs.Spec{Name: "probe", Entry: toolspecs.Entry{
		Kind: toolspecs.FunctionEntry{Handler: handler}}}
}

func register(t *testing.T, functions ...tool.Function) *Executor {
	t.Helper()
	r, err := New(functions...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Arguments keep every digit, and the answer is JSON.
func TestFunction_ReceivesArgumentsUnchanged(t *testing.T) {
	r := register(t, tool.NewFunction("probe", identity[probeInput]))
	args := `{"path":"<a&b>","count":9007199254740993,"wait":"1s","points":[{"x":123456789012345678901234567890}],"any":12345678901234567890,"raw":{"k":[1]},"level":0.5,"labels":{"A":"b"}}`
	answer, err := r.Execute(t.Context(), functionSpec(""), json.RawMessage(args))
	if err != nil || string(answer.Output) != args {
		t.Fatalf("got %s, %v", answer.Output, err)
	}
}

// Arguments that do not fit the function's type, or that it would read under another name, are a
// validation_error with their path.
func TestFunction_RefusesArgumentsOfOtherTypes(t *testing.T) {
	r := register(t, tool.NewFunction("probe", identity[probeInput]))
	for args, path := range map[string]string{
		`{"path":"ok","PATH":"/etc/passwd"}`:       "$.PATH",
		`{"path":"ok","other":1}`:                  "$.other",
		`{"path":"ok","points":[{"x":1},{"X":1}]}`: "$.points[1].X",
		`{"path":1}`:                  "$.path",
		`{"path":"ok","count":1e30}`:  "$.count",
		`{"path":"ok","wait":"soon"}`: "$",
		`{"path":`:                    "$",
		`[]`:                          "$",
	} {
		_, err := r.Execute(t.Context(), functionSpec(""), json.RawMessage(args))
		e, ok := errors.AsType[*api.Error](err)
		if !ok || e.Type != api.ErrValidation || len(e.Problems) != 1 ||
			e.Problems[0].Path != path {
			t.Errorf("%s: got %v; want a validation_error at %s", args, err, path)
		}
	}
}

type notedOutput struct{}

func (notedOutput) Notes() []string { return []string{"cut"} }

// Answers, notes and errors are returned. A value that JSON cannot encode is an invalid_output.
func TestFunctionOutcomes_AreReturnedUnchanged(t *testing.T) {
	own := api.Errorf(api.ErrPolicyViolation, "no")
	r := register(t,
		tool.NewFunction("none", func(_ context.Context, _ struct{}) (any,
			error) {
			return nil, nil
		}),
		tool.NewFunction("noted", func(_ context.Context, _ struct{}) (notedOutput,
			error) {
			return notedOutput{}, nil
		}),
		tool.NewFunction("map", identity[map[string]any]),
		tool.NewFunction("fails", func(_ context.Context, _ struct{}) (int, error) {
			return 0,
				own
		}),
		tool.NewFunction("nan", func(_ context.Context, _ struct{}) (float64,
			error) {
			return math.NaN(), nil
		}),
		tool.RawFunction("raw", identity[json.RawMessage]),
		tool.RawFunction("rawfails", func(context.Context, json.RawMessage) (json.RawMessage,
			error) {
			return nil, own
		}),
		tool.RawFunction("rawbad", func(context.Context, json.RawMessage) (json.RawMessage,
			error) {
			return json.RawMessage("{"), nil
		}),
	)
	cases := []struct {
		handler, args, want string
		notes               int
		failure             api.ErrorType
	}{
		{handler: "none", want: "null"},
		{handler: "noted", args: "{}", want: "{}", notes: 1},
		{handler: "map", args: `{"b":1e400,"A":2}`, want: `{"A":2,"b":1e400}`},
		{handler: "fails", args: "{}", failure: api.ErrPolicyViolation},
		{handler: "nan", args: "{}", failure: api.ErrInvalidOutput},
		{handler: "raw", args: `{"b":1,"b":2}`, want: `{"b":1,"b":2}`},
		{handler: "rawfails", args: "{}", failure: api.ErrPolicyViolation},
		{handler: "rawbad", args: "{}", failure: api.ErrInvalidOutput},
		{handler: "missing", args: "{}", failure: api.ErrExecutorNotFound},
	}
	for _, c := range cases {
		t.Run(c.handler, func(t *testing.T) {
			answer, err := r.Execute(t.Context(), functionSpec(c.handler), json.RawMessage(c.args))
			if c.failure != "" {
				if e := api.AsError(err); e == nil || e.Type != c.failure {
					t.Fatalf("got %s, %v; want %s", answer.Output, err, c.failure)
				}
				return
			}
			if err != nil || string(answer.Output) != c.want || len(answer.Notes) != c.notes {
				t.Fatalf("got %s, %q, %v; want %s", answer.Output, answer.Notes, err, c.want)
			}
		})
	}
}

// The stack is logged and not sent to the model.
func TestFunctionPanic_IsTheErrorOfTheCall(t *testing.T) {
	var log bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	r := register(t, tool.NewFunction("probe", func(context.Context, struct{}) (int,
		error) {
		panic("out of cheese")
	}))
	_, err := r.Execute(t.Context(), functionSpec(""), json.RawMessage("{}"))
	e := api.AsError(err)
	if e == nil || e.Type != api.ErrExecution || e.Message != "the tool's function panicked: out of cheese" ||
		strings.Contains(e.Message, "goroutine") {
		t.Fatalf("got %v", err)
	}
	for effect, want := range map[api.Effect]api.ErrorType{api.EffectOnce: api.ErrOutcomeUnknown,
		api.EffectIdempotent: api.ErrExecution, api.EffectRead: api.ErrExecution} {
		spec := functionSpec("")
		spec.Execution.Effect = effect
		e := executor.CallError(t.Context(), err, spec)
		if e.Type != want || e.Retryable || e.MayHaveActed() != (effect != api.EffectRead) {
			t.Errorf("%s: got %+v", effect, e)
		}
	}
	if !strings.Contains(log.String(), "TestFunctionPanic_IsTheErrorOfTheCall") || !strings.Contains(log.String(),
		"handler=probe") {
		t.Fatalf("the log lacks handler or stack: %s", log.String())
	}
}

func TestNewFunctions_ReportEveryFault(t *testing.T) {
	type cyclic struct {
		Next []cyclic `json:"next,omitempty"`
	}
	_, err := New(
		tool.NewFunction("twice", identity[struct{}]),
		tool.NewFunction("twice", identity[struct{}]),
		tool.NewFunction[struct{}, int]("nil", nil),
		tool.RawFunction("rawnil", nil),
		tool.Function{},
		tool.NewFunction("dotted.name", identity[struct{}]),
		tool.NewFunction("text", identity[string]),
		tool.NewFunction("channel", identity[struct{ C chan int }]),
		tool.NewFunction("cyclic", identity[cyclic]),
	)
	want := strings.Join([]string{
		`function "twice": another function has this name too`,
		`function "nil": the function is nil`,
		`function "rawnil": the function is nil`,
		`function "": the function is nil; make it with NewFunction or RawFunction`,
		`function "dotted.name": name "dotted.name" contains '.'; models accept only letters, digits, _ and - (github.search becomes github_search)`,
		`function "text": its argument type string is not an object in JSON; use a struct or a map with string keys`,
		`function "channel": its argument type struct { C chan int } has no JSON form: ForType(struct { C chan int }): type chan int is unsupported by jsonschema`,
		`function "cyclic": its argument type function.cyclic has no JSON form: ForType(function.cyclic): computing element schema: cycle detected for type function.cyclic`,
	}, "\n")
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
	r := register(t, tool.NewFunction("b", identity[struct{}]), tool.NewFunction("a",
		identity[struct{}]))
	if names := strings.Join(r.Names(), " "); names != "a b" {
		t.Errorf("names: %s", names)
	}
	if faults := r.Check(functionSpec("a"), json.RawMessage(`{}`)); faults != nil {
		t.Errorf("a registered function: %q", faults)
	}
	if faults := r.Check(functionSpec("c"), json.RawMessage(`{}`)); len(faults) != 1 {
		t.Errorf("a function that is not registered: %q", faults)
	}
}

// The error names the parameter and both types.
func TestFunctionCheck_ComparesSchemaAndType(t *testing.T) {
	f := register(t, tool.NewFunction("probe", identity[probeInput]))
	good := `"path":{"type":"string"},"count":{"type":"integer"},"wait":{"type":"string"},"points":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]}},"any":{"type":["string","null"]},"raw":{},"level":{"type":["number","null"]},"labels":{"type":"object","properties":{"A":{"type":"string"}}}`
	cases := []struct{ name, schema, want string }{
		{"fits", `{"type":"object","required":["path"],"properties":{` + good + `}}`, ""},
		{"defaulted", `{"properties":{"path":{"type":"string","default":"."}}}`, ""},
		{"by reference", `{"required":["path"],"$defs":{"p":{"type":"integer"}},"properties":{"path":{"$ref":"#/$defs/p"},"count":{"enum":[1,2]}}}`,
			""},
		{"other type", `{"required":["path"],"properties":{"path":{"type":"integer"}}}`,
			`parameter "path" is declared as integer, but function "probe" takes string`},
		{"wider type", `{"required":["path"],"properties":{"path":{"type":"string"},"count":{"type":"number"}}}`,
			`parameter "count" is declared as number, but function "probe" takes integer`},
		{"null", `{"required":["path"],"properties":{"path":{"type":["string","null"]}}}`,
			`parameter "path" is declared as string`},
		{"any value", `{"required":["path"],"properties":{"path":{}}}`,
			`parameter "path" is declared as any value`},
		{"no field", `{"required":["path"],"properties":{"path":{"type":"string"},"Path":{"type":"string"}}}`,
			`parameter "Path" is declared as string, but function "probe" takes no argument of that name; it takes path, count`},
		{"not declared", `{"properties":{}}`,
			`function "probe" takes "path" (string), but no parameter of that name is declared`},
		{"may be absent", `{"properties":{"path":{"type":"string"}}}`,
			`parameter "path" (string) may be absent`},
		{"inside an array", `{"required":["path"],"properties":{"path":{"type":"string"},"points":{"type":"array","items":{"type":"object","required":["x"],"properties":{"x":{"type":"string"}}}}}}`,
			`parameter "points[].x" is declared as string, but function "probe" takes number`},
		{"inside a map", `{"required":["path"],"properties":{"path":{"type":"string"},"labels":{"type":"object","properties":{"A":{"type":"integer"}}}}}`,
			`parameter "labels.A" is declared as integer`},
		{"unreadable", `{"type":7}`, `tool probe: the input schema is not readable`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(f.Check(functionSpec(""), json.RawMessage(c.schema)), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q; want %q", got, c.want)
			}
		})
	}
	for _, function := range []tool.Function{tool.RawFunction("probe",
		identity[json.RawMessage]), tool.NewFunction("probe", identity[map[string]any]),
		tool.NewFunction("probe", identity[any])} {
		open := register(t, function)
		if got := open.Check(functionSpec(""),
			json.RawMessage(`{"properties":{"x":{"type":"integer"}}}`)); got != nil {
			t.Errorf("%s: %q", function.Name(), got)
		}
	}
}
