// Package bfcl replays the multi-turn cases of the Berkeley Function Calling Leaderboard on a
// stateful MCP server that knows their recorded results, and evaluates the runs.
package bfcl

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
)

// File is the name of the corpus.
const File = "bfcl_multi_turn.json"

// Case is a recorded conversation.
type Case struct {
	ID    string `json:"id"`
	Turns []Turn `json:"turns"`
	// FinalState is the state of the backend after the last call.
	FinalState json.RawMessage `json:"final_state"`
	Orders     []struct {
		Turn    int  `json:"turn"`
		Matters bool `json:"order_matters"`
	} `json:"multi_call_turns"`
}

// Turn has the calls between two messages of the user.
type Turn struct {
	Calls []Call `json:"calls"`
	// free says that the calls give the same results in any order.
	free bool
}

// Call is a call with its recorded result.
type Call struct {
	Class  string          `json:"class"`
	Tool   string          `json:"tool"`
	Args   json.RawMessage `json:"args"`
	Result json.RawMessage `json:"result"`
}

// Load reads the corpus. Turns without calls are left out.
func Load(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var corpus struct {
		Cases []Case `json:"cases"`
	}
	if err := json.Unmarshal(data, &corpus); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(corpus.Cases) == 0 {
		return nil, errors.New(path + " has no cases")
	}
	for i := range corpus.Cases {
		c := &corpus.Cases[i]
		for _, order := range c.Orders {
			c.Turns[order.Turn].free = !order.Matters
		}
		c.Turns = slices.DeleteFunc(c.Turns, func(t Turn) bool { return len(t.Calls) == 0 })
	}
	return corpus.Cases, nil
}

// tool is a tool of the recorded backends. The corpus has no declarations, so its parameters are
// the arguments of its calls.
type tool struct {
	class, name string
	calls       int
	// types and uses are the JSON types of the parameters and how many calls have them.
	types map[string]string
	uses  map[string]int
}

// collectTools returns the tools of all cases, sorted by name.
func collectTools(all []Case) ([]*tool, error) {
	byName := map[string]*tool{}
	for _, c := range all {
		for _, turn := range c.Turns {
			for _, call := range turn.Calls {
				t := byName[call.Tool]
				if t == nil {
					t = &tool{class: call.Class, name: call.Tool, types: map[string]string{},
						uses: map[string]int{}}
					byName[call.Tool] = t
				}
				if err := t.add(call); err != nil {
					return nil, fmt.Errorf("%s: %s: %w", c.ID, call.Tool, err)
				}
			}
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b *tool) int {
		if a.name < b.name {
			return -1
		}
		return 1
	}), nil
}

func (t *tool) add(c Call) error {
	var args map[string]any
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return err
	}
	t.calls++
	for name, value := range args {
		t.uses[name]++
		kind := jsonType(value)
		if before := t.types[name]; before != "" && before != kind {
			return fmt.Errorf("%s is a %s and a %s", name, before, kind)
		}
		t.types[name] = kind
	}
	return nil
}

func jsonType(value any) string {
	switch value.(type) {
	case string:
		return "string"
	case bool:
		return "boolean"
	case float64:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

// schema returns the input schema. A parameter that all calls have is required.
func (t *tool) schema() map[string]any {
	properties, required := map[string]any{}, []string{}
	for name, kind := range t.types {
		properties[name] = map[string]string{"type": kind}
		if t.uses[name] == t.calls {
			required = append(required, name)
		}
	}
	slices.Sort(required)
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
