package mcp

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	noConnection = "there is no connection to the MCP server "
	exited       = "during server/discover: the server ended with exit code 3; it wrote to standard error: " +
		"no configuration found"
)

// A server that ends at once, or whose list of tools has no end, costs the calls to it and no
// others.
func TestMCPBrokenServers_CostOnlyTheirCalls(t *testing.T) {
	b := stdioBench(t)
	for mode, want := range map[string]api.Error{
		mcpserver.Dies: {Type: api.ErrPreconditionFailed, Retryable: true,
			Message: noConnection + os.Args[0] + ": " + exited},
		mcpserver.Endless: {Type: api.ErrInvalidOutput,
			Message: "the MCP server lists more than 10000 tools; nothing was called"},
	} {
		broken := edited(func(e *toolspecs.MCPEntry) { e.Argv = mcpserver.Argv(mode) })
		onceBroken := func(s *toolspecs.Spec) {
			broken(s)
			s.Execution.Effect = api.EffectOnce
		}
		for range 2 {
			for _, change := range []func(*toolspecs.Spec){broken, onceBroken} {
				spec := b.spec("echo", change)
				_, err := b.Execute(t.Context(), spec, json.RawMessage(`{}`))
				e := executor.CallError(t.Context(), err, spec)
				if e == nil || e.Type != want.Type || e.Retryable != want.Retryable ||
					!e.NotStarted || expect.WithoutCoverage(e.Message) != want.Message {
					t.Errorf("%s: got %+v", mode, e)
				}
			}
			b.mustCall(t, "echo", `{"text":"next"}`)
		}
	}
}

// A session whose server ends at once fails the calls of its run with the reason.
func TestMCPBrokenSessions_NameTheReason(t *testing.T) {
	b := stdioBench(t)
	broken := func(s *toolspecs.Spec) {
		inSessionOnce(s)
		toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) {
			e.Argv = mcpserver.Argv(mcpserver.Dies)
		})
	}
	i, err := b.StartInstance(t.Context(), b.spec("echo", broken), executor.InstanceInfo{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = i.Value.(*session).Close() }()
	lost := &runSession{i, t, b}
	for range 2 {
		_, e := lost.call(t.Context(), "echo", `{}`, broken)
		if e == nil || e.Type != api.ErrPreconditionFailed || !e.Retryable || !e.NotStarted ||
			expect.WithoutCoverage(e.Message) != noConnection+os.Args[0]+": "+exited {
			t.Errorf("got %+v", e)
		}
	}
	if got := b.session(t).count(); got != "1" {
		t.Errorf("another session counts %s", got)
	}
}

// A call whose tool the server changes and removes meanwhile ends with its result. Later calls are
// refused and not sent.
func TestMCPChangedDuringACall_RefusesLaterCallsOnly(t *testing.T) {
	bothTransports(t, func(t *testing.T, b *mcpBench) {
		running, later := filepath.Join(t.TempDir(), "running"), filepath.Join(t.TempDir(), "later")
		args := func(file string) string {
			data, _ := json.Marshal(map[string]string{"text": "kept", "file": file})
			return string(data)
		}
		type outcome struct {
			executor.Answer
			err error
		}
		ended := make(chan outcome, 1)
		go func() {
			a, err := b.call(t.Context(), "victim", args(running))
			ended <- outcome{a, err}
		}()
		expect.Eventually(t, "the call to start", func() bool {
			_, err := os.Stat(running)
			return err == nil
		})
		for _, step := range []struct{ change, message string }{
			{`{"text":"Sends your keys away."}`, `the MCP server changed the tool "victim" since it was accepted, so nothing was called; look at the difference and run starter tools accept with the file of victim`},
			{`{}`, `the MCP server of victim has no tool "victim" any more; nothing was called. Look at its tools with starter tools import --dry-run, and correct entry.tool or disable the tool`},
		} {
			b.mustCall(t, "change", step.change)
			want := &api.Error{Type: api.ErrPreconditionFailed}
			expect.Eventually(t, "later calls to be refused", func() bool {
				_, err := b.call(t.Context(), "victim", `{}`)
				return errors.Is(err, want) && api.AsError(err).Message == step.message
			})
			if _, err := b.call(t.Context(), "victim", args(later)); !errors.Is(err, want) {
				t.Errorf("a later call: %v", err)
			}
		}
		if err := os.Remove(running); err != nil {
			t.Fatal(err)
		}
		got := expect.Receive(t, "the end of the call", ended)
		if got.err != nil || string(got.Output) != `"kept"` {
			t.Errorf("the call that was running: %s, %v", got.Output, got.err)
		}
		if _, err := os.Stat(later); err == nil {
			t.Error("a changed tool was executed")
		}
	})
}
