package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
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

func makes[T any](value *T) func(context.Context, switchyard.StartInfo) (*T, error) {
	return func(context.Context, switchyard.StartInfo) (*T, error) { return value, nil }
}

func addTo[T any](*T, context.Context, tallyArgs) (int, error) { return 0, nil }

func TestNewFactories_ListsEveryFault(t *testing.T) {
	good := switchyard.NewStateful("good", makes(&tally{}), (*tally).Add)
	const half = " has Snapshot or Restore but does not implement switchyard.Snapshotter; give it both methods as declared there"
	for name, c := range map[string]struct {
		stateful switchyard.Stateful
		says     string
	}{
		"no factory": {switchyard.NewStateful("a", nil, (*tally).Add),
			"the function that starts an instance is nil"},
		"no call": {switchyard.NewStateful[tally, tallyArgs, int]("a", makes(&tally{}), nil),
			"the function that executes calls is nil"},
		"half": {switchyard.NewStateful("a", makes(&halfTally{}), addTo[halfTally]),
			"its type *instances.halfTally" + half},
		"wrong types": {switchyard.NewStateful("a", makes(&wrongTally{}), addTo[wrongTally]),
			"its type *instances.wrongTally" + half},
		"no object": {switchyard.NewStateful("a", makes(&tally{}), func(*tally, context.Context,
			int) (int, error) {
			return 0, nil
		}), "its argument type int is not an object in JSON; use a struct or a map with string keys"},
		"raw": {switchyard.RawStateful("a", nil),
			"the function that starts an instance is nil"},
		"zero": {switchyard.Stateful{}, "it is nil; make it with NewStateful or RawStateful"},
		"name": {switchyard.NewStateful("a b", makes(&tally{}), (*tally).Add),
			`name "a b" contains ' '; models accept only letters, digits, _ and - (github.search becomes github_search)`},
		"twice": {switchyard.NewStateful("good", makes(&tally{}), (*tally).Add),
			"another stateful tool has this name too"},
	} {
		if _, err := NewFactories(good, c.stateful); err == nil || err.Error() !=
			fmt.Sprintf("stateful tool %q: %s", c.stateful.Name(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f, err := NewFactories(good, switchyard.NewStateful("restored", makes(&tallySnapshot{}),
		addTo[tallySnapshot]))
	if err != nil || strings.Join(f.Names(), " ") != "good restored" {
		t.Errorf("%v, %v", f, err)
	}
}

// A raw tool accepts every schema.
func TestStatefulCheck_ComparesInputType(t *testing.T) {
	fits := func(s switchyard.Stateful, parameter string) []string {
		compiled, err := activitytest.Spec("counter", func(s *toolspecs.Spec) {
			s.Entry.Type = toolspecs.KindStateful
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
	typed := switchyard.NewStateful("counter", makes(&tally{}), (*tally).Add)
	if faults := fits(typed, "by"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
	if faults := fits(typed, "times"); len(faults) != 2 || faults[0] != `parameter "times" is declared as integer, but function "counter" takes no argument of that name; it takes by` {
		t.Errorf("got %q", faults)
	}
	if faults := fits(switchyard.RawStateful("counter",
		func(context.Context, switchyard.StartInfo) (switchyard.RawInstance, error) {
			return nil,
				nil
		}), "times"); len(faults) > 0 {
		t.Errorf("got %q", faults)
	}
}

type rawInstance func(json.RawMessage) (json.RawMessage, error)

func (r rawInstance) Call(_ context.Context, args json.RawMessage) (json.RawMessage, error) {
	return r(args)
}

// started starts an instance by a factory.
func started(t *testing.T, s switchyard.Stateful) (executor.Instance, error) {
	t.Helper()
	f, err := NewFactories(s)
	if err != nil {
		t.Fatal(err)
	}
	spec := activitytest.Spec(s.Name(), nil)
	return f.StartInstance(t.Context(), &spec, executor.InstanceInfo{})
}

// A factory that returns no instance fails.
func TestStateful_StartsInstances(t *testing.T) {
	echo := switchyard.RawStateful("raw",
		func(context.Context, switchyard.StartInfo) (switchyard.RawInstance, error) {
			return rawInstance(func(args json.RawMessage) (json.RawMessage, error) {
				return args,
					nil
			}), nil
		})
	m, err := started(t, echo)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := m.Call(t.Context(), nil, json.RawMessage(`{"a":1}`))
	if err != nil ||
		string(answer.Output) != `{"a":1}` {
		t.Errorf("%+v, %v", answer, err)
	}
	broken := errors.New("no disk")
	for name, s := range map[string]switchyard.Stateful{
		"typed nothing": switchyard.NewStateful("a", makes[tally](nil), (*tally).Add),
		"raw nothing": switchyard.RawStateful("a",
			func(context.Context, switchyard.StartInfo) (switchyard.RawInstance,
				error) {
				return nil, nil
			}),
	} {
		if _, err := started(t, s); err == nil || err.Error() != "no instance was started: the function returned nil without an error" {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, s := range map[string]switchyard.Stateful{
		"typed": switchyard.NewStateful("a", func(context.Context, switchyard.StartInfo) (*tally,
			error) {
			return nil, broken
		}, (*tally).Add),
		"raw": switchyard.RawStateful("a",
			func(context.Context, switchyard.StartInfo) (switchyard.RawInstance,
				error) {
				return nil, broken
			}),
	} {
		if _, err := started(t, s); !errors.Is(err, broken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFactories_RejectCallsWithoutInstance(t *testing.T) {
	f, err := NewFactories(switchyard.NewStateful("probe", makes(&tally{}), (*tally).Add))
	if err != nil {
		t.Fatal(err)
	}
	s := activitytest.Spec("probe", nil)
	if _, err := f.Execute(t.Context(), &s, json.RawMessage(`{}`)); !errors.Is(err,
		&api.Error{Type: api.ErrExecutorNotFound}) {
		t.Errorf("got %v", err)
	}
}
