package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// tally is the stateful tool of these tests.
type tally struct{ n int }

type tallyArgs struct {
	By int `json:"by"`
}

func (c *tally) Add(_ context.Context, in tallyArgs) (int, error) {
	c.n += in.By
	return c.n, nil
}

// tallySnapshot can be rebuilt.
type tallySnapshot struct{ tally }

func (c *tallySnapshot) Snapshot(context.Context) ([]byte, error) { return json.Marshal(c.n) }

func (c *tallySnapshot) Restore(_ context.Context, state []byte) error {
	return json.Unmarshal(state, &c.n)
}

// halfTally has one half of a Snapshotter; wrongTally has both with other types.
type halfTally struct{ tally }

func (*halfTally) Snapshot(context.Context) ([]byte, error) { return nil, nil }

type wrongTally struct{ tally }

func (*wrongTally) Snapshot() []byte { return nil }
func (*wrongTally) Restore([]byte)   {}

func makes[T any](value *T) func(context.Context, tool.StartInfo) (*T, error) {
	return func(context.Context, tool.StartInfo) (*T, error) { return value, nil }
}

func addTo[T any](*T, context.Context, tallyArgs) (int, error) { return 0, nil }

func TestNewFactories_ListsEveryFault(t *testing.T) {
	add := tool.NewMethod("add", (*tally).Add)
	good := tool.NewStateful("good", makes(&tally{}), add)
	const half = " has Snapshot or Restore but does not implement tool.Snapshotter; give it both methods as declared there"
	const name = " contains %s; models accept only letters, digits, _ and - (github.search becomes github_search)"
	for name, c := range map[string]struct {
		stateful tool.Stateful
		says     string
	}{
		"no factory": {tool.NewStateful("a", nil, add),
			"the function that starts an instance is nil"},
		"no methods": {tool.NewStateful("a", makes(&tally{})), "it has no methods; make one with NewMethod"},
		"nil method": {tool.NewStateful("a", makes(&tally{}), tool.Method[tally]{}),
			`method "": it is nil; make it with NewMethod or RawMethod`},
		"no function": {tool.NewStateful("a", makes(&tally{}),
			tool.NewMethod[tally, tallyArgs, int]("add", nil)),
			`method "add": the function is nil`},
		"method's name": {tool.NewStateful("a", makes(&tally{}),
			tool.NewMethod("a.b", (*tally).Add)), fmt.Sprintf(`method "a.b": name "a.b"`+name, "'.'")},
		"method twice": {tool.NewStateful("a", makes(&tally{}),
			add, add), `method "add": another method has this name too`},
		"half": {tool.NewStateful("a", makes(&halfTally{}),
			tool.NewMethod("add", addTo[halfTally])), "its type *instances.halfTally" + half},
		"wrong types": {tool.NewStateful("a", makes(&wrongTally{}),
			tool.NewMethod("add", addTo[wrongTally])), "its type *instances.wrongTally" + half},
		"no object": {tool.NewStateful("a", makes(&tally{}),
			tool.NewMethod("add", func(*tally, context.Context, int) (int, error) {
				return 0, nil
			})), `method "add": its argument type int is not an object in JSON; use a struct or a map with string keys`},
		"raw": {tool.NewStateful("a", makes(&tally{}), tool.RawMethod[tally]("add", nil)),
			`method "add": the function is nil`},
		"zero": {tool.Stateful{}, "it is nil; make it with NewStateful"},
		"name": {tool.NewStateful("a b", makes(&tally{}), add),
			fmt.Sprintf(`name "a b"`+name, "' '")},
		"twice": {tool.NewStateful("good", makes(&tally{}), add),
			"another stateful type has this name too"},
	} {
		if _, err := NewFactories(good, c.stateful); err == nil || err.Error() !=
			fmt.Sprintf("stateful type %q: %s", c.stateful.Name(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := NewFactories(good, tool.NewStateful("restored", makes(&tallySnapshot{}),
		tool.NewMethod("add", addTo[tallySnapshot])))
	if err != nil || fmt.Sprint(f.Methods()) != "map[good:[add] restored:[add]]" {
		t.Errorf("%v, %v", f, err)
	}
}

// A raw tool accepts every schema.
func TestStatefulCheck_ComparesInputType(t *testing.T) {
	fits := func(s tool.Stateful, parameter string) []string {
		compiled, err := activitytest.Spec("counter", func(s *toolspecs.Spec) {
			s.Entry.Kind = toolspecs.StatefulEntry{}
			s.Parameters = []toolspecs.Parameter{{Name: parameter, Type: "integer", Required: true}}
		}).Compile()
		if err != nil {
			t.Fatal(err)
		}
		f, err := NewFactories(s)
		if err != nil {
			t.Fatal(err)
		}
		return f.Check(&compiled.Spec, compiled.InputSchema())
	}
	typed := tool.NewStateful("counter", makes(&tally{}), tool.NewMethod("add", (*tally).Add))
	if faults := fits(typed, "by"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	if faults := fits(typed, "times"); len(faults) != 2 || faults[0] != `parameter "times" is declared as integer, but function "counter.add" takes no argument of that name; it takes by` {
		t.Errorf("got %q", faults)
	}
	untyped := tool.NewStateful("counter", makes(&tally{}), echo)
	if faults := fits(untyped, "times"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	several := tool.NewStateful("counter", makes(&tally{}), echo,
		tool.NewMethod("add", (*tally).Add))
	if faults := fits(several, "by"); len(faults) != 1 || faults[0] !=
		`the stateful type "counter" has 2 methods, and the entry names none (write method: and one of add, echo)` {
		t.Errorf("got %q", faults)
	}
}

var echo = tool.RawMethod("echo",
	func(_ *tally, _ context.Context, args json.RawMessage) (json.RawMessage, error) {
		return args, nil
	})

// Tools of different methods call the same instance.
func TestStateful_ExecutesTheMethodOfTheTool(t *testing.T) {
	m, err := started(t, tool.NewStateful("counter", makes(&tally{}), echo,
		tool.NewMethod("add", (*tally).Add),
		tool.NewMethod("value", func(c *tally, _ context.Context, _ struct{}) (int, error) {
			return c.n, nil
		})), "echo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, args, want string }{
		{"echo", `{"a":1}`, `{"a":1}`}, {"add", `{"by":2}`, "2"}, {"add", `{"by":3}`, "5"},
		{"value", "", "5"},
	} {
		answer, err := m.Call(t.Context(), methodSpec("counter", c.method),
			json.RawMessage(c.args))
		if err != nil || string(answer.Output) != c.want {
			t.Errorf("%s: %s, %v", c.method, answer.Output, err)
		}
	}
	for method, says := range map[string]string{
		"ad": `the stateful type "counter" has no method "ad" (did you mean "add"?)`,
		"":   `the stateful type "counter" has 3 methods, and the entry names none (write method: and one of add, echo, value)`,
	} {
		_, err := m.Call(t.Context(), methodSpec("counter", method), nil)
		if e := api.AsError(err); !executor.IsNotStarted(err) ||
			e.Type != api.ErrExecutorNotFound ||
			e.Message != "the worker cannot execute counter: "+says {
			t.Errorf("%q: %v", method, err)
		}
	}
	if _, err := m.Call(t.Context(), methodSpec("counter", "add"),
		json.RawMessage(`{"By":1}`)); !executor.IsNotStarted(err) {
		t.Errorf("got %v", err)
	}
}

func methodSpec(name, method string) *toolspecs.Spec {
	spec := activitytest.Spec(name, nil)
	spec.Entry.Kind = toolspecs.StatefulEntry{Handler: name, Method: method}
	return &spec
}

// started starts an instance by a factory.
func started(t *testing.T, s tool.Stateful, method string) (executor.Instance, error) {
	t.Helper()
	f, err := NewFactories(s)
	if err != nil {
		t.Fatal(err)
	}
	return f.StartInstance(t.Context(), methodSpec(s.Name(), method), executor.InstanceInfo{})
}

// A factory that returns no instance fails.
func TestStateful_ReportsWhyNoInstanceStarted(t *testing.T) {
	_, err := started(t, tool.NewStateful("a", makes[tally](nil), echo), "")
	if err == nil ||
		err.Error() != "no instance was started: the function returned nil without an error" {
		t.Errorf("got %v", err)
	}
	broken := errors.New("no disk")
	_, err = started(t, tool.NewStateful("a", func(context.Context,
		tool.StartInfo) (*tally, error) {
		return nil, broken
	}, echo), "")
	if !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestFactories_RejectCallsWithoutInstance(t *testing.T) {
	f, err := NewFactories(tool.NewStateful("probe", makes(&tally{}), tool.NewMethod("add", (*tally).Add)))
	if err != nil {
		t.Fatal(err)
	}
	s := activitytest.Spec("probe", nil)
	if _, err := f.Execute(t.Context(), &s, json.RawMessage(`{}`)); !errors.Is(err,
		&api.Error{Type: api.ErrExecutorNotFound}) {
		t.Errorf("got %v", err)
	}
}
