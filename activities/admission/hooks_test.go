package admission

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// hookBench returns an admitter and a request with hooks before calls of the tool "probe", which
// takes a text and a number.
func hookBench(t testing.TB, hooks ...tool.Hook) (*bench, api.AdmissionRequest) {
	t.Helper()
	catalog := catalogOf(t, spec("probe", func(s *toolspecs.Spec) {
		s.Parameters = append(s.Parameters, toolspecs.Parameter{Name: "n", Type: "integer",
			Default: json.RawMessage("1")})
		s.OutputSchema = json.RawMessage(`{"type":"string"}`)
		s.Execution.MaxResult = 400 << 10
	}), spec("other", nil))
	b := setUp(t, catalog, func(c *Config) { c.Hooks = hooksOf(t, hooks...) })
	r := api.AdmissionRequest{Tools: toolsOf(catalog), Known: []string{"probe", "other"},
		Origin: &api.Origin{Run: "run-1", Caller: api.Caller{Type: api.CallerAgent, ID: "tester"}}}
	for _, h := range hooks {
		r.Hooks = append(r.Hooks, api.Hook{Name: h.Name()})
	}
	return b, r
}

// before returns a hook before calls with a fixed decision.
func before(v tool.HookDecision, err error) tool.Hook {
	return tool.NewBeforeCall("h",
		func(context.Context, tool.HookCall) (tool.HookDecision, error) {
			return v,
				err
		})
}

// The cases are all decisions of a hook before a call and all its faults, for hooks whose failure
// blocks and for those whose failure is ignored.
func TestBeforeCall_AppliesEveryDecision(t *testing.T) {
	for _, test := range []struct {
		name    string
		hook    tool.Hook
		error   string
		output  string
		changed string
		did     api.HookOutcome
	}{
		{name: "proceeds", hook: before(tool.HookDecision{}, nil)},
		{name: "blocks", hook: before(tool.HookDecision{Block: "no\xff"}, nil),
			error: `the hook "h" says: no�`, did: api.HookBlocked},
		{name: "changes", hook: before(tool.HookDecision{Arguments: json.RawMessage(
			`{"text":"b"}`)}, nil), changed: `{"text":"b","n":1}`, did: api.HookModified},
		{name: "changes to the same",
			hook: before(tool.HookDecision{Arguments: json.RawMessage(`{"text":"b","n":2}`)},
				nil), changed: `{"text":"b","n":2}`, did: api.HookModified},
		{name: "changes wrongly",
			hook:  before(tool.HookDecision{Arguments: json.RawMessage(`{"txt":"b"}`)}, nil),
			error: `the hook "h" before the call failed: it changed the arguments to invalid ones: the arguments of probe do not fit: $.text: "text" is required (string); $.txt: there is no argument "txt"; did you mean "text"?`, did: api.HookFailed},
		{name: "changes too much",
			hook: before(tool.HookDecision{Arguments: json.RawMessage(`{"text":"` +
				strings.Repeat("b", maxHooked) + `"}`)}, nil),
			error: `the hook "h" before the call failed: its arguments take 262161 bytes in history; at most 262144 are allowed`, did: api.HookFailed},
		{name: "overrides", hook: before(tool.HookDecision{Override: json.RawMessage(
			` "<mine>" `)}, nil), output: `"<mine>"`, did: api.HookOverrode},
		{name: "overrides with no JSON",
			hook:  before(tool.HookDecision{Override: json.RawMessage(`mine`)}, nil),
			error: `the hook "h" before the call failed: its answer is not a JSON value: invalid character 'm' looking for beginning of value`, did: api.HookFailed},
		{name: "overrides in another form",
			hook:  before(tool.HookDecision{Override: json.RawMessage(`7`)}, nil),
			error: `the hook "h" before the call failed: its answer does not have the form that probe declares: $: must be a string, not the number 7`, did: api.HookFailed},
		{name: "overrides with too much",
			hook: before(tool.HookDecision{Override: json.RawMessage(`"` +
				strings.Repeat("<", maxHooked/3) + `"`)}, nil),
			error: `the hook "h" before the call failed: its answer takes 524314 bytes in history; at most 262144 are allowed`, did: api.HookFailed},
		{name: "decides twice", hook: before(tool.HookDecision{Block: "a",
			Override: json.RawMessage(`"b"`)}, nil), error: `the hook "h" before the call failed: it sets several of Block, Arguments and Override; set exactly one`,
			did: api.HookFailed},
		{name: "fails", hook: before(tool.HookDecision{}, errors.New("no database")),
			error: `the hook "h" before the call failed: no database`,
			did:   api.HookFailed},
		{name: "panics", hook: tool.NewBeforeCall("h",
			func(context.Context, tool.HookCall) (tool.HookDecision,
				error) {
				panic("oh")
			}), error: `the hook "h" before the call failed: it panicked: oh`, did: api.HookFailed},
		{name: "hangs", hook: tool.NewBeforeCall("h",
			func(context.Context, tool.HookCall) (tool.HookDecision,
				error) {
				select {}
			}), error: `the hook "h" before the call failed: it did not end within 50ms`, did: api.HookFailed},
		{name: "obeys its context", hook: tool.NewBeforeCall("h", func(ctx context.Context,
			_ tool.HookCall) (tool.HookDecision, error) {
			<-ctx.Done()
			return tool.HookDecision{}, ctx.Err()
		}),
			error: `the hook "h" before the call failed: it did not end within 50ms`, did: api.HookFailed},
		{name: "is not there", hook: tool.Hook{},
			error: `the hook "gone" before the call failed: the worker has no hook "gone" for before_call; it has none`, did: api.HookFailed},
	} {
		for _, on := range []api.HookFailure{api.HookBlocks, api.HookIgnored} {
			t.Run(test.name+" "+string(on), func(t *testing.T) {
				var registered []tool.Hook
				if test.hook.Point() != "" {
					registered = append(registered, test.hook)
				}
				b, r := hookBench(t, registered...)
				r.Hooks = []api.Hook{{Name: cmp.Or(test.hook.Name(), "gone"), OnError: on,
					Tools: []string{"probe"}, Timeout: api.Duration(50 * time.Millisecond)}}
				r.Calls = []api.Call{{ID: "1.1", Tool: "probe", Arguments: `{"text":"a"}`},
					{ID: "1.2", Tool: "other", Arguments: `{"text":"a"}`}}
				decisions := b.admit(t, r)
				if other := decisions[1]; other.Error != nil || len(other.Hooks) > 0 {
					t.Errorf("a call of another tool has the decision %+v", other)
				}
				v := decisions[0]
				ignored := test.did == api.HookFailed && on == api.HookIgnored
				switch {
				case test.error != "" && !ignored:
					if v.Error == nil || v.Error.Type != api.ErrBlockedByHook ||
						v.Error.Phase != api.PhasePreExecution || v.Error.Message != test.error {
						t.Errorf("got %v", v.Error)
					}
				case v.Error != nil:
					t.Errorf("got %v", v.Error)
				case test.output != "":
					if v.Result == nil || string(v.Result.Output) != test.output ||
						v.Result.Tokens == 0 {
						t.Errorf("got %+v", v.Result)
					}
				case test.changed != "" && string(v.Arguments) != test.changed,
					test.changed == "" && string(v.Arguments) != `{"text":"a","n":1}`:
					t.Errorf("the arguments are %s", v.Arguments)
				}
				if test.did == "" && len(v.Hooks) > 0 || test.did != "" &&
					(len(v.Hooks) != 1 || v.Hooks[0].Outcome != test.did) {
					t.Errorf("noted are %+v", v.Hooks)
				}
			})
		}
	}
}

// Each hook gets the call as the previous one left it, with the call's context. After a hook has
// stopped the call, no other hook runs.
func TestBeforeCall_RunsHooksInOrder(t *testing.T) {
	var mu sync.Mutex
	var received []string
	see := func(name string, v tool.HookDecision) tool.Hook {
		return tool.NewBeforeCall(name, func(ctx context.Context,
			c tool.HookCall) (tool.HookDecision, error) {
			call, _ := callcontext.From(ctx)
			mu.Lock()
			defer mu.Unlock()
			received = append(received, fmt.Sprintf("%s %s %s %s %s %s", name, c.ID, c.Tool, c.Arguments,
				call.Key, c.Effect))
			return v, nil
		})
	}
	b, r := hookBench(t, see("one",
		tool.HookDecision{Arguments: json.RawMessage(`{"text":"b"}`)}),
		see("two", tool.HookDecision{Arguments: json.RawMessage(`{"text":"c","n":2}`)}),
		see("three", tool.HookDecision{Block: "enough"}),
		see("four", tool.HookDecision{}))
	r.Calls = []api.Call{{ID: "1.1", Tool: "probe", Arguments: `{"text":"a"}`},
		{ID: "1.2", Tool: "probe", Arguments: `{"text":1}`}}
	v := b.admit(t, r)[0]
	want := []string{`one 1.1 probe {"text":"a","n":1} run-1/1.1 read`,
		`two 1.1 probe {"text":"b","n":1} run-1/1.1 read`,
		`three 1.1 probe {"text":"c","n":2} run-1/1.1 read`}
	if strings.Join(received, "\n") != strings.Join(want, "\n") {
		t.Errorf("received:\n%s", strings.Join(received, "\n"))
	}
	if len(v.Hooks) != 3 || v.Error == nil || string(v.Arguments) != `{"text":"c","n":2}` {
		t.Errorf("got %+v", v)
	}
	if got := strings.Join(v.Notes,
		"|"); got != "the hook one changed the arguments|the hook two changed the arguments" {
		t.Errorf("notes %q", got)
	}
}

// If hooks make the decisions of a turn too long for one marker, only the first calls are answered.
// Hooks that run at the end of the run decide nothing.
func TestBeforeCall_IsBounded(t *testing.T) {
	b, r := hookBench(t, before(tool.HookDecision{Override: json.RawMessage(`"` +
		strings.Repeat("x", 200<<10) + `"`)}, nil))
	for i := range 20 {
		r.Calls = append(r.Calls, api.Call{ID: fmt.Sprint("1.", i), Tool: "probe",
			Arguments: `{"text":"a"}`})
	}
	decisions, err := b.Admit(t.Context(), r)
	if err != nil || len(decisions) == 0 || len(decisions) > 5 ||
		recordedSize(decisions) > api.MaxPayload {
		t.Errorf("%d decisions of %d bytes, %v", len(decisions), recordedSize(decisions), err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if decisions, err := b.Admit(ctx, r); err == nil {
		t.Errorf("got %d decisions", len(decisions))
	}
}
