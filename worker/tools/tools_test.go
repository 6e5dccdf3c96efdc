package tools

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// execute runs a tool as a worker does.
func execute(ctx context.Context, t *testing.T, all []tool.Function, handler string,
	args any) (executor.Answer, error) {
	t.Helper()
	r, err := function.New(all...)
	if err != nil {
		t.Fatal(err)
	}
	data, err := jsonvalue.Encode(args)
	if err != nil {
		t.Fatal(err)
	}
	return r.Execute(ctx, &toolspecs.Spec{Name: handler,
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}, data)
}

// outputOf runs one of all tools and decodes its output.
func outputOf[T any](t *testing.T, c Config, handler string, args map[string]any) (T, []string,
	*api.Error) {
	t.Helper()
	var out T
	answer, err := execute(t.Context(), t, All(c), handler, args)
	if err == nil {
		if err := json.Unmarshal(answer.Output, &out); err != nil {
			t.Fatalf("%s: %v", answer.Output, err)
		}
	}
	return out, answer.Notes, api.AsError(err)
}

func TestShippedSpecs_MatchTheFunctions(t *testing.T) {
	r, err := function.New(All(Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]bool{}
	for _, spec := range toolspecs.LoadShipped() {
		served[executor.Handler(&spec)] = true
		compiled, err := spec.Compile()
		if err != nil {
			t.Errorf("%s: %v", spec.Name, err)
			continue
		}
		for _, mismatch := range r.Check(&spec, compiled.InputSchema()) {
			t.Errorf("%s: %s", spec.Name, mismatch)
		}
	}
	for _, name := range r.Names() {
		if !served[name] {
			t.Errorf("no shipped toolspec uses the function %s", name)
		}
	}
}

func TestShippedSpecs_DeclareTheOutputs(t *testing.T) {
	calls := map[string]string{
		"echo":       `{"text":"x"}`,
		"calculator": `{"expression":"1/3"}`,
		"datetime":   `{"operation":"difference","other":"2030-01-01"}`,
		"string":     `{"operation":"length","text":"x"}`,
	}
	r, err := function.New(All(Config{})...)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range toolspecs.LoadShipped() {
		args, ok := calls[spec.Name]
		if !ok {
			continue
		}
		compiled, err := spec.Compile()
		if err != nil {
			t.Fatal(err)
		}
		valid, _, problems := compiled.Arguments(args, api.ModeStrict)
		answer, err := r.Execute(t.Context(), &spec, valid)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", spec.Name, problems, err)
		}
		if problems := compiled.CheckOutput(answer.Output); len(problems) > 0 {
			t.Errorf("%s: %s: %v", spec.Name, answer.Output, problems)
		}
	}
}

func TestEcho_ReturnsEveryStringByteForByte(t *testing.T) {
	for _, s := range cases.NaughtyStrings(t) {
		if got, _, e := outputOf[string](t, Config{}, "echo",
			map[string]any{"text": s}); e != nil || got != s {
			t.Errorf("%q became %q, %v", s, got, e)
		}
	}
}

func TestEcho_DelayEndsWithTheCall(t *testing.T) {
	began := time.Now()
	if _, _, e := outputOf[string](t, Config{}, "echo", map[string]any{"text": "x",
		"delay": "30ms"}); e != nil || time.Since(began) < 30*time.Millisecond {
		t.Errorf("after %s: %v", time.Since(began), e)
	}
	reason := errors.New("cancelled")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := execute(ctx, t, All(Config{}), "echo", map[string]any{"text": "x",
		"delay": "1h"}); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}

// refusedWith reports whether e has the type and its text contains want.
func refusedWith(e *api.Error, failure api.ErrorType, want string) bool {
	return e != nil && e.Type == failure && strings.Contains(e.Error(), want)
}
