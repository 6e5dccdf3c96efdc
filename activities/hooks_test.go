package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// hooksOf registers hooks.
func hooksOf(t testing.TB, list ...tool.Hook) *hooks.Registry {
	t.Helper()
	registered, err := hooks.New(list...)
	if err != nil {
		t.Fatal(err)
	}
	return registered
}

// The result of a hook is validated and truncated as the tool's. Failures block or are ignored.
func TestAfterCall_ChangesTheResult(t *testing.T) {
	after := func(output string, err error) tool.Hook {
		return tool.NewAfterCall("h", func(_ context.Context, c tool.HookCall,
			result json.RawMessage) (json.RawMessage, error) {
			if string(c.Arguments) != `{"text":"a"}` || string(result) != `"secret"` {
				t.Errorf("the hook sees %+v, %s", c, result)
			}
			if output == "" {
				return nil, err
			}
			return json.RawMessage(output), err
		})
	}
	for _, test := range []struct {
		name, want string
		hook       tool.Hook
		on         api.HookFailure
		did        api.HookOutcome
		failure    string
	}{
		{"leaves it", "secret", after("", nil), "", "", ""},
		{"changes it", "***", after(`"***"`, nil), "", api.HookModified, ""},
		{"fails", "secret", after("", errors.New("down")), "", api.HookFailed, ""},
		{"fails and blocks", "", after("", errors.New("down")), api.HookBlocks, "",
			`probe answered, but its answer is withheld because the hook "h" after the call failed: down`},
		{"breaks the form", "secret", after("7", nil), "", api.HookFailed, ""},
		{"is not there", "", tool.Hook{}, api.HookBlocks, "", `probe answered, but its answer is withheld because the hook "h" after the call failed: the worker has no hook "h" for after_call; it has none`},
	} {
		t.Run(test.name, func(t *testing.T) {
			catalog := catalogOf(t,
				spec("probe", func(s *toolspecs.Spec) {
					s.OutputSchema = json.RawMessage(
						`{"type":"string"}`)
				}))
			b := setUp(t, catalog, func(c *Config) {
				c.Executors = map[string]executor.Executor{toolspecs.KindFunction: answers(`"secret"`)}
				if test.hook.Point() != "" {
					c.Hooks = hooksOf(t, test.hook)
				}
			})
			compiled, _ := catalog.Get("probe")
			x := executionOf(compiled)
			x.Hooks = []api.Hook{{Name: "h", OnError: test.on}}
			result, err := b.execute(t, x, nil)
			if test.failure != "" {
				e, _ := callError(t, err)
				if e.Type != api.ErrExecution || e.Phase != api.PhasePostExecution ||
					e.Message != test.failure || expect.Contains(e.Message,
					"secret") {
					t.Errorf("got %+v", e)
				}
				return
			}
			if err != nil || result.ForModel() != test.want {
				t.Errorf("got %+v, %v", result, err)
			}
			if test.did == "" && len(result.Hooks) > 0 || test.did != "" &&
				(len(result.Hooks) != 1 || result.Hooks[0].Outcome != test.did) {
				t.Errorf("noted are %+v", result.Hooks)
			}
		})
	}
}

// A hook of a run gets its context, can store a bounded value and read the conversation. Some of
// its failures are retried.
func TestRunHook_KnowsItsRun(t *testing.T) {
	messages := []api.Message{{Role: api.RoleUser, Text: "Go."}}
	asked := api.ModelRequest{Run: "run-1", Chain: api.NextChain("", messages[0].Digest()), Seen: 1}
	run := func(h tool.Hook, r api.HookRequest) (answer api.HookAnswer, err error) {
		b := setUp(t, catalogOf(t), func(c *Config) { c.Hooks = hooksOf(t, h) })
		b.run.Messages = messages
		r.Hook, r.Origin.Run, r.Conversation = api.Hook{Name: "h"}, "run-1", asked
		value, err := within(t, "x", nil, func(ctx context.Context, _ converter.EncodedValues) (any,
			error) {
			return b.RunHook(ctx, r)
		})
		if err == nil {
			err = value.Get(&answer)
		}
		return answer, err
	}
	answer, err := run(tool.NewMemoryRetrieve("h", func(ctx context.Context,
		r tool.HookRun) (string, error) {
		talk, err := r.Conversation(ctx)
		call, _ := callcontext.From(ctx)
		if len(talk) != 1 || talk[0].Text != "Go." || r.Agent != "me" || r.Prompt != "Go." ||
			call.Run != "run-1" || call.Conversation == "" || call.Key != "" {
			t.Errorf("the hook sees %+v, %+v in %+v", r, talk, call)
		}
		return strings.Repeat("é", 64<<10), err
	}), api.HookRequest{Point: api.HookMemoryRetrieve, Agent: "me", Prompt: "Go."})
	if err != nil || len(answer.Text) > 64<<10+100 || !strings.Contains(answer.Text, "[cut to") {
		t.Errorf("remembered are %d bytes, %v", len(answer.Text), err)
	}
	end := func(err error) tool.Hook {
		return tool.NewAfterRun("h",
			func(context.Context, tool.HookEnd) error { return err })
	}
	ended := api.HookRequest{Point: api.HookAfterRun, End: &api.RunEnd{}}
	for _, test := range []struct {
		err   error
		again bool
	}{{errors.New("down"), false}, {api.Transient(errors.New("down"), 0), true}} {
		_, err := run(end(test.err), ended)
		if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok ||
			app.Type() != "hook_failed" || app.NonRetryable() == test.again ||
			app.Message() != "down" {
			t.Errorf("got %v", err)
		}
	}
	if _, err := run(end(nil), api.HookRequest{Point: api.HookMemoryWrite}); err == nil ||
		err.Error() != `activity error (type: x, scheduledEventID: 0, startedEventID: 0, identity: ): the hook "h" is one for after_run, not for memory_write (type: hook_failed, retryable: false)` {
		t.Errorf("got %v", err)
	}
}
