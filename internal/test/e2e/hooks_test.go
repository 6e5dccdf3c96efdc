package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
)

// hooks are those of the tests' worker.
func hooks() []tool.Hook {
	return []tool.Hook{
		tool.NewBeforeRun("allow", func(_ context.Context, r tool.HookRun) (string,
			error) {
			if r.Agent == "refused" {
				return "this agent may not run", nil
			}
			return "", nil
		}),
		tool.NewBeforeRun("hold_run", func(ctx context.Context, _ tool.HookRun) (string,
			error) {
			return "", errors.Join(noteHook(ctx, "waiting"), gateOpens(ctx))
		}),
		tool.NewMemoryRetrieve("earlier_notes", func(_ context.Context,
			r tool.HookRun) (string, error) {
			return "Known of " + r.Agent + ": nothing.", nil
		}),
		tool.NewBeforeCall("guard", guard),
		tool.NewAfterCall("redact", func(_ context.Context, _ tool.HookCall,
			output json.RawMessage) (json.RawMessage, error) {
			if !strings.Contains(string(output), "cheaper") {
				return nil, nil
			}
			return json.RawMessage(strings.ReplaceAll(string(output), "cheaper", "***")), nil
		}),
		tool.NewMemoryWrite("lose",
			func(context.Context,
				tool.HookEnd) error {
				return errors.New("the store is down")
			}),
		tool.NewAfterRun("report", func(ctx context.Context, e tool.HookEnd) error {
			talk, err := e.Conversation(ctx)
			if err != nil || len(talk) == 0 {
				return errors.New("the conversation is gone")
			}
			return noteHook(ctx, string(e.Outcome)+" "+e.Answer)
		}),
	}
}

// guard decides by the text to be written.
func guard(_ context.Context, c tool.HookCall) (tool.HookDecision, error) {
	switch args := string(c.Arguments); {
	case strings.Contains(args, "forbidden"):
		return tool.HookDecision{Block: "it is forbidden"}, nil
	case strings.Contains(args, "cheap"):
		return tool.HookDecision{Arguments: json.RawMessage(`{"text":"cheaper"}`)}, nil
	case strings.Contains(args, "known"):
		return tool.HookDecision{Override: json.RawMessage(`{"text":"as known"}`)}, nil
	}
	return tool.HookDecision{}, nil
}

// noteHook writes a line to the journal.
func noteHook(ctx context.Context, text string) error {
	call, _ := callcontext.From(ctx)
	line, err := json.Marshal(entry{Run: call.Run, Text: text, PID: os.Getpid()})
	return errors.Join(err, appendJournal(line))
}

// hooked returns an agent with a hook at every point.
func hooked(steps ...api.ScriptStep) *api.Agent {
	a := withTools(agent(steps...), "append")
	a.Hooks = api.Hooks{BeforeRun: []api.Hook{{Name: "allow"}},
		MemoryRetrieve: []api.Hook{{Name: "earlier_notes"}},
		BeforeCall:     []api.Hook{{Name: "guard", Tools: []string{"append"}}},
		AfterCall:      []api.Hook{{Name: "redact"}},
		MemoryWrite:    []api.Hook{{Name: "lose"}}, AfterRun: []api.Hook{{Name: "report"}}}
	return a
}

// On a real server, hooks at every point decide exactly once per run, and records and events name
// them.
func TestHooks_DecideOnceAtEveryPoint(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("hooks", hooked(
		step(named("a", call("append", `{"text":"cheap"}`)), call("append", `{"text":"forbidden"}`),
			named("k", call("append", `{"text":"known"}`))),
		answer("${a.text}, ${k.text}")))
	if r := l.result(run); r.Answer != "***, as known" || r.Usage.Calls != 3 ||
		r.Usage.Failed != 1 {
		t.Errorf("result: %+v", r)
	}
	if m := l.conversation(run); m[0].Role != api.RoleSystem || !slices.ContainsFunc(m[:2],
		func(m api.Message) bool { return m.Text == "Known of tester: nothing." }) {
		t.Errorf("the conversation begins with %+v", m[:2])
	}
	var written []string
	for _, e := range l.entries() {
		written = append(written, e.Text)
	}
	if !slices.Equal(written, []string{"cheaper", "answered ***, as known"}) {
		t.Errorf("written: %q", written)
	}
	var got []string
	for e, err := range audit.Events(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if e.Hook != nil {
			got = append(got, strings.Join([]string{string(e.Hook.Point), e.Hook.Hook,
				string(e.Hook.Outcome), e.Hook.Reason}, " "))
		}
		if e.Record == nil {
			continue
		}
		line := e.CallID + " " + string(e.Record.Status) + " " + string(e.Record.Phase) + " " +
			string(e.Record.Arguments)
		for _, h := range e.Record.Hooks {
			line += ", " + h.Hook + " " + string(h.Outcome)
		}
		got = append(got, line)
	}
	want := []string{"before_run allow done ", "memory_retrieve earlier_notes done ",
		`1.2 refused pre_execution {"text":"forbidden"}, guard blocked`,
		`1.3 completed pre_execution {"text":"known"}, guard overrode`,
		`1.1 completed post_execution {"text":"cheaper"}, guard modified, redact modified`,
		"memory_write lose failed the store is down", "after_run report done "}
	if !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// The hook runs on another worker, and the run continues.
func TestHook_RunsAgainIfItsWorkerIsKilled(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	a := withTools(agent(answer("done")), "append")
	a.Hooks.BeforeRun = []api.Hook{{Name: "hold_run", Timeout: api.Duration(time.Minute)}}
	run := l.runAgent("hook_lost", a)
	l.awaitEntries(1)
	first.Kill()
	l.worker()
	l.awaitEntries(2)
	l.openGate()
	if r := l.result(run); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	if entries := l.entries(); len(entries) != 2 || entries[0].PID == entries[1].PID {
		t.Errorf("the hook ran as %+v", entries)
	}
}
