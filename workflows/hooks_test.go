package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/hookrules"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	workflowpb "go.temporal.io/api/workflow/v1"
)

// hookFuncs are the hooks of a lab; each is registered under the name of its point. A nil one does
// nothing.
type hookFuncs struct {
	beforeRun, retrieve func(tool.HookRun) (string, error)
	before              func(tool.HookCall) (tool.HookDecision, error)
	after               func(tool.HookCall, json.RawMessage) (json.RawMessage, error)
	end                 func(context.Context, api.HookPoint, tool.HookEnd) error
}

func (l *lab) registerHooks() *hooks.Registry {
	end := func(point api.HookPoint) func(context.Context, tool.HookEnd) error {
		return func(ctx context.Context, e tool.HookEnd) error {
			if l.hooks.end == nil {
				return nil
			}
			return l.hooks.end(ctx, point, e)
		}
	}
	registered, err := hooks.New(
		tool.NewBeforeRun("before_run", func(_ context.Context, r tool.HookRun) (string,
			error) {
			return l.hooks.beforeRun(r)
		}),
		tool.NewMemoryRetrieve("memory_retrieve", func(_ context.Context,
			r tool.HookRun) (string, error) {
			return l.hooks.retrieve(r)
		}),
		tool.NewBeforeCall("before_call", func(_ context.Context,
			c tool.HookCall) (tool.HookDecision, error) {
			return l.hooks.before(c)
		}),
		tool.NewAfterCall("after_call", func(_ context.Context, c tool.HookCall,
			output json.RawMessage) (json.RawMessage, error) {
			return l.hooks.after(c, output)
		}),
		tool.NewMemoryWrite("memory_write", end(api.HookMemoryWrite)),
		tool.NewAfterRun("after_run", end(api.HookAfterRun)))
	if err != nil {
		l.t.Fatal(err)
	}
	return registered
}

// hooked returns the agent with one hook at each of the points.
func hooked(a *api.Agent, points ...api.HookPoint) *api.Agent {
	for _, p := range points {
		list := []api.Hook{{Name: string(p)}}
		switch p {
		case api.HookBeforeRun:
			a.Hooks.BeforeRun = list
		case api.HookMemoryRetrieve:
			a.Hooks.MemoryRetrieve = list
		case api.HookBeforeCall:
			a.Hooks.BeforeCall = list
		case api.HookAfterCall:
			a.Hooks.AfterCall = list
		case api.HookMemoryWrite:
			a.Hooks.MemoryWrite = list
		case api.HookAfterRun:
			a.Hooks.AfterRun = list
		}
	}
	return a
}

// A hook before a run refuses it, or fails and blocks. No hook after the run runs then.
func TestRunHooks_PreventTheStart(t *testing.T) {
	for _, test := range []struct {
		name    string
		refusal string
		err     error
		on      api.HookFailure
		want    string
	}{
		{"refuses", "not on Sundays", nil, api.HookIgnored,
			`the hook "before_run" refused the run: not on Sundays`},
		{"fails", "", errors.New("no database"), "",
			`the hook "before_run" for before_run failed: no database`},
		{"is ignored", "", errors.New("no database"), api.HookIgnored, ""},
		{"fails for good", "", api.Transient(errors.New("not yet"), 0), "", `the hook "before_run" for before_run failed: not yet`},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			attempts := 0
			l.hooks.beforeRun = func(tool.HookRun) (string,
				error) {
				attempts++
				return test.refusal, test.err
			}
			l.hooks.end = func(context.Context, api.HookPoint, tool.HookEnd) error {
				if test.want != "" {
					t.Error("a hook after the run got a run that did not start")
				}
				return nil
			}
			a := hooked(agent(answer("done")), api.HookBeforeRun, api.HookAfterRun)
			a.Hooks.BeforeRun[0].OnError = test.on
			l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
			if test.want == "" {
				l.result()
				return
			}
			if app := l.failure(api.RunBlocked, &api.RunResult{}); app.Message() != test.want {
				t.Errorf("got %q", app.Message())
			}
			if want := 1 + 2*strings.Count(test.name, "for good"); attempts != want {
				t.Errorf("%d attempts, want %d", attempts, want)
			}
		})
	}
}

// A failing hook fails a run that did not fail before if it blocks; the results of the run are not
// lost.
func TestRunHooks_GetEveryKindOfEnd(t *testing.T) {
	for _, test := range []struct {
		name    string
		tell    []api.Message
		cancel  bool
		on      api.HookFailure
		ended   api.Outcome
		failure api.RunErrorType
	}{
		{"answered", []api.Message{{Text: "done"}}, false, "", api.OutcomeAnswered, ""},
		{"answered and blocked", []api.Message{{Text: "done"}}, false, api.HookBlocks,
			api.OutcomeAnswered, api.RunBlocked},
		{"failed", nil, false, api.HookBlocks, api.OutcomeFailed, api.RunModelFailed},
		{"cancelled", []api.Message{{Calls: []api.Call{{Tool: "hang", Arguments: `{}`}}}}, true,
			api.HookBlocks, api.OutcomeCancelled, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			var ends []api.RunEnd
			l.hooks.end = func(_ context.Context, _ api.HookPoint, e tool.HookEnd) error {
				ends = append(ends, e.RunEnd)
				return errors.New("it is broken")
			}
			if test.cancel {
				l.hangs = l.CancelWorkflow
			}
			a := hooked(listedAgent(), api.HookMemoryWrite, api.HookAfterRun)
			a.Hooks.MemoryWrite[0].OnError = test.on
			l.modelAnswers(test.tell...)
			l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
			if len(ends) != 2 || ends[0].Outcome != test.ended ||
				ends[1].FailureType != ends[0].FailureType {
				t.Fatalf("got the ends %+v", ends)
			}
			switch {
			case test.cancel:
				l.cancelled()
			case test.failure != "":
				var result api.RunResult
				app := l.failure(test.failure, &result)
				if test.failure == api.RunBlocked && (result.Answer != "done" ||
					result.Usage.Turns != 1 || app.Message() != `the hook "memory_write" for memory_write failed: it is broken`) {
					t.Errorf("got %q with %+v", app.Message(), result)
				}
			default:
				l.result()
			}
		})
	}
}

// Calls and admission have additional time for the timeouts of their hooks.
func TestHooks_ExtendTimeouts(t *testing.T) {
	l := newLab(t)
	l.hooks.before = func(tool.HookCall) (tool.HookDecision,
		error) {
		return tool.HookDecision{}, nil
	}
	l.hooks.after = func(tool.HookCall, json.RawMessage) (json.RawMessage,
		error) {
		return nil, nil
	}
	a := hooked(agent(step(call("echo", `{"value":1}`)), answer("done")), api.HookBeforeCall,
		api.HookAfterCall)
	a.Hooks.AfterCall[0].Timeout = api.Duration(time.Minute)
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
	l.result()
	for _, s := range l.scheduled {
		if s.tool == "echo" && (len(s.call.Hooks) != 1 || hookrules.Timeout(s.call.Hooks[0]) != time.Minute) {
			t.Errorf("the call's hooks are %+v", s.call.Hooks)
		}
	}
}

// The error names each hook that the worker lacks, or has for another point, with suggestions.
func TestHooks_UnknownOnesPreventTheStart(t *testing.T) {
	l := newLab(t)
	a := agent(answer("never"))
	a.Hooks = api.Hooks{BeforeCall: []api.Hook{{Name: "before_cal"}, {Name: "after_call"}}}
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
	var problems []api.Problem
	l.failure(api.RunInvalid, &problems)
	var got []string
	for _, p := range problems {
		got = append(got, p.String())
	}
	expect(t, "problems", got, []string{
		`$.hooks.before_call[0]: the worker has no hook "before_cal" for before_call; did you mean before_call?`,
		`$.hooks.before_call[1]: the hook "after_call" is one for after_call, not for before_call`})
}

// They also get the answers of inline tools, sub-agents and people, with the arguments of those
// calls. A sub-agent has only the hooks of its own agent.
func TestAfterCallHooks_GetEveryAnswer(t *testing.T) {
	specs, err := toolspecs.Decode("people.yaml", []byte(peoplesTools), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	inline, err := toolspecs.Decode("inline.yaml", []byte(inlineCatalog), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	specs = append(append(specs, inline...),
		agentTool("sub", above("echo", step(call("echo", `{"value":1}`)), answer("from below"))))
	l := newLabOf(t, 1, specs...)
	l.people = &answerers{pending: map[string]*workflowpb.PendingActivityInfo{},
		tokens: map[string][]byte{}}
	var runFacts []string
	l.hooks.after = func(c tool.HookCall, output json.RawMessage) (json.RawMessage, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		runFacts = append(runFacts, c.ID+" "+c.Tool+" "+string(c.Arguments)+" "+string(output))
		return json.RawMessage(`"checked"`), nil
	}
	a := hooked(above("in_echo sub ask", step(call("in_echo", `{"value":1}`),
		call("sub", `{"topic":"x"}`), call("ask", `{"question":"May I?"}`)), answer("done")),
		api.HookAfterCall)
	l.reply(time.Hour, says("1.3", "alice", `"yes"`))
	l.ExecuteWorkflow(api.AgentWorkflow, api.RunInput{Agent: a, Prompt: "Go."})
	l.result()
	slices.Sort(runFacts)
	expect(t, "calls of the hook", runFacts, []string{`1.1 in_echo {"value":1} 1`,
		`1.2 sub {"topic":"x","detail":1} "from below"`, `1.3 ask {"question":"May I?"} "yes"`})
	var texts []string
	for _, text := range l.callResults() {
		first, _, _ := strings.Cut(text, "\n")
		texts = append(texts, first)
	}
	expect(t, "texts for the model", texts, []string{"1.1 checked", "1.2 checked", "1.3 checked"})
}
