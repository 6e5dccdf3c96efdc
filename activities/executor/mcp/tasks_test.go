package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

// taskBench is an executor, a server that answers with tasks, and what the call saves.
type taskBench struct {
	*mcpBench
	server *mcpserver.Tasks
	// saved receives every change of the saved task.
	saved chan *api.RemoteTask
}

// bothEras runs a test with a server of version 2025-11-25 and with a newer one, with calls that
// share a connection and with the session of a run.
func bothEras(t *testing.T, test func(t *testing.T, b *taskBench)) {
	for name, newer := range map[string]bool{"2025-11-25": false, "extension": true} {
		t.Run(name, func(t *testing.T) {
			tasks := &mcpserver.Tasks{Newer: newer}
			server := httptest.NewServer(tasks)
			t.Cleanup(server.Close)
			t.Cleanup(server.CloseClientConnections)
			test(t, newTaskBench(t, tasks, server.URL))
		})
	}
}

func newTaskBench(t *testing.T, tasks *mcpserver.Tasks, address string) *taskBench {
	entry := toolspecs.MCPEntry{URL: address, Allow: []string{"127.0.0.1"}}
	return &taskBench{mcpBench: newMCPBench(t, entry, Options{}), server: tasks,
		saved: make(chan *api.RemoteTask, 100)}
}

// context returns a context of a call with the task of an earlier attempt.
func (b *taskBench) context(ctx context.Context, resumed *api.RemoteTask) context.Context {
	task := executor.NewTask(resumed, func(_ context.Context, task *api.RemoteTask) {
		b.saved <- task
	})
	return executor.WithTask(ctx, task)
}

// call calls the tool job, whose task ends as text says.
func (b *taskBench) call(ctx context.Context, kind, text string) (executor.Answer, error) {
	spec := b.spec("job", func(s *toolspecs.Spec) {
		toolspecs.EditEntry(s, func(e *toolspecs.MCPEntry) { e.Session = kind })
		s.Execution.Effect = api.EffectOnce
	})
	args, _ := json.Marshal(map[string]string{"text": text})
	if kind == toolspecs.SessionShared {
		return b.Execute(ctx, spec, args)
	}
	instance, err := b.StartInstance(ctx, spec, executor.InstanceInfo{})
	if err != nil {
		return executor.Answer{}, err
	}
	defer instance.Value.(*session).Close()
	return instance.Call(ctx, spec, args)
}

// interrupt calls the tool until its task is saved, and ends the call with a cause.
func (b *taskBench) interrupt(t *testing.T, session string, cause error) (*api.RemoteTask, error) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(b.context(t.Context(), nil))
	ended := make(chan error, 1)
	go func() {
		_, err := b.call(ctx, session, "wait")
		ended <- err
	}()
	task := <-b.saved
	cancel(cause)
	err := <-ended
	if err == nil {
		t.Fatal("an interrupted call succeeded")
	}
	return task, executor.CallError(ctx, err, b.spec("job", func(s *toolspecs.Spec) {
		s.Execution.Effect = api.EffectOnce
	}))
}

var errStops = errors.New("the worker stops")

// Another worker gets the result of a task without another call, whatever the session.
func TestTasks_SurviveTheWorker(t *testing.T) {
	bothEras(t, func(t *testing.T, b *taskBench) {
		for i, session := range []string{toolspecs.SessionShared, toolspecs.SessionRun} {
			task, err := b.interrupt(t, session, errStops)
			if !errors.Is(err, &api.Error{Type: api.ErrOutcomeUnknown}) || len(b.saved) > 0 {
				t.Errorf("%s: got %v; %d changes of the task", session, err, len(b.saved))
			}
			b.server.Release()
			again := newTaskBench(t, b.server, b.entry.URL)
			// The session of a run is lost with its worker: the call comes without it.
			answer, err := again.call(again.context(t.Context(), task), toolspecs.SessionShared, "wait")
			if err != nil || !strings.Contains(string(answer.Output), "done by") ||
				!slices.ContainsFunc(answer.Notes, func(note string) bool {
					return strings.Contains(note, "not called again")
				}) {
				t.Errorf("%s: got %s %q, %v", session, answer.Output, answer.Notes, err)
			}
			if got := b.server.Executions(); got != i+1 {
				t.Errorf("%s: the tool was called %d times", session, got)
			}
		}
	})
}

// A call that is cancelled, or whose timeout expires, has its task cancelled and leaves none.
func TestTasks_AreCancelledWithTheCall(t *testing.T) {
	bothEras(t, func(t *testing.T, b *taskBench) {
		for _, cause := range []error{executor.ErrTimeout, temporal.NewCanceledError()} {
			before := b.server.Requests("tasks/cancel")
			_, err := b.interrupt(t, toolspecs.SessionShared, cause)
			if !errors.Is(err, &api.Error{Type: api.ErrOutcomeUnknown}) {
				t.Errorf("%v: got %v", cause, err)
			}
			if left := <-b.saved; left != nil {
				t.Errorf("%v: the call left the task %v", cause, left)
			}
			if got := b.server.Requests("tasks/cancel"); got != before+1 {
				t.Errorf("%v: %d tasks were cancelled", cause, got-before)
			}
		}
	})
}

func TestTasks_FailAsTheServerReports(t *testing.T) {
	bothEras(t, func(t *testing.T, b *taskBench) {
		for text, want := range map[string]api.ErrorType{
			"fail":            api.ErrExecution,
			"tool error":      api.ErrExecution,
			"fail internally": api.ErrOutcomeUnknown,
			"cancelled":       api.ErrOutcomeUnknown,
			"unknown":         api.ErrOutcomeUnknown,
			"odd":             api.ErrOutcomeUnknown,
			"long id":         api.ErrOutcomeUnknown,
		} {
			ctx := b.context(t.Context(), nil)
			_, err := b.call(ctx, toolspecs.SessionShared, text)
			spec := b.spec("job", func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce })
			if err == nil || executor.CallError(ctx, err, spec).Type != want {
				t.Errorf("%s: got %v", text, err)
			}
			if left := executor.TaskFromContext(ctx).Current(); left != nil {
				t.Errorf("%s: the call left the task %v", text, left)
			}
		}
	})
}

// A server that restarted forgot its sessions, and may have stored its tasks.
func TestTasks_AreFoundByAServerThatRestarted(t *testing.T) {
	for forgets, want := range map[bool]api.ErrorType{false: "", true: api.ErrOutcomeUnknown} {
		bothEras(t, func(t *testing.T, b *taskBench) {
			task, _ := b.interrupt(t, toolspecs.SessionShared, errStops)
			b.server.Release()
			b.server.Forget(forgets)
			ctx := b.context(t.Context(), task)
			answer, err := newTaskBench(t, b.server, b.entry.URL).call(ctx, toolspecs.SessionShared,
				"wait")
			if want == "" {
				if err != nil || !strings.Contains(string(answer.Output), "done by") {
					t.Errorf("got %s, %v", answer.Output, err)
				}
				return
			}
			for effect, want := range map[api.Effect]api.ErrorType{api.EffectOnce: want,
				api.EffectRead: api.ErrExecution} {
				spec := b.spec("job", func(s *toolspecs.Spec) { s.Execution.Effect = effect })
				got := executor.CallError(ctx, err, spec)
				if got.Type != want || got.Retryable != (effect == api.EffectRead) {
					t.Errorf("%s: got %+v", effect, got)
				}
			}
			if left := executor.TaskFromContext(ctx).Current(); left != nil {
				t.Errorf("the call left the task %v", left)
			}
			if got := b.server.Executions(); got != 1 {
				t.Errorf("the tool was called %d times", got)
			}
		})
	}
}

// The call waits for a server that is away, within its timeout.
func TestTasks_OutliveTheConnection(t *testing.T) {
	for name, newer := range map[string]bool{"2025-11-25": false, "extension": true} {
		t.Run(name, func(t *testing.T) {
			tasks := &mcpserver.Tasks{Newer: newer}
			server := httptest.NewServer(tasks)
			b := newTaskBench(t, tasks, server.URL)
			ended := make(chan error, 1)
			go func() {
				_, err := b.call(b.context(t.Context(), nil), toolspecs.SessionShared, "wait")
				ended <- err
			}()
			<-b.saved
			server.CloseClientConnections()
			server.Close()
			polled := tasks.Requests("tasks/get")
			select {
			case err := <-ended:
				t.Fatalf("the call ended with its connection: %v", err)
			case <-time.After(time.Second):
			}
			listener, err := net.Listen("tcp", strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			again := &http.Server{Handler: tasks, ReadHeaderTimeout: time.Minute}
			defer again.Close()
			go func() { _ = again.Serve(listener) }()
			tasks.Release()
			if err := <-ended; err != nil {
				t.Errorf("got %v", err)
			}
			if got := tasks.Requests("tasks/get"); got <= polled {
				t.Errorf("the server was asked %d times, %d before it was away", got, polled)
			}
			if got := tasks.Executions(); got != 1 {
				t.Errorf("the tool was called %d times", got)
			}
		})
	}
}

// The task of server-everything reaches its end over both transports, asks during the task, and is
// continued by another worker.
func TestNPMEverything_RunsTasks(t *testing.T) {
	program := testserver.NPM(t, "mcp-server-everything")
	for name, entry := range map[string]toolspecs.MCPEntry{
		"stdio": {Argv: []string{program}, AnswerWithin: api.Duration(time.Minute)},
		"http": {URL: newEverything(t).url(), Allow: []string{"127.0.0.1"},
			AnswerWithin: api.Duration(time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			b := &taskBench{mcpBench: newMCPBench(t, entry, Options{}),
				saved: make(chan *api.RemoteTask, 100)}
			spec := b.spec("simulate-research-query", nil)
			asking := tool.WithAsk(t.Context(), func(context.Context, string,
				json.RawMessage) (api.Reply, error) {
				return api.Reply{Value: json.RawMessage(`{"interpretation":"snake"}`)}, nil
			})
			answer, err := b.Execute(b.context(asking, nil), spec,
				json.RawMessage(`{"topic":"python","ambiguous":true}`))
			if err != nil || !strings.Contains(string(answer.Output), "python (snake)") {
				t.Errorf("got %s, %v", answer.Output, err)
			}
			if entry.URL == "" {
				if len(b.saved) > 0 {
					t.Error("the task of a program was saved")
				}
				return
			}
			<-b.saved
			ctx, cancel := context.WithCancelCause(b.context(t.Context(), nil))
			ended := make(chan error, 1)
			go func() {
				_, err := b.Execute(ctx, spec, json.RawMessage(`{"topic":"lanes"}`))
				ended <- err
			}()
			task := <-b.saved
			cancel(errStops)
			<-ended
			other := newMCPBench(t, entry, Options{})
			answer, err = other.Execute(b.context(t.Context(), task), spec,
				json.RawMessage(`{"topic":"lanes"}`))
			if err != nil || !strings.Contains(string(answer.Output), "Research Report: lanes") {
				t.Errorf("another worker got %s, %v", answer.Output, err)
			}
		})
	}
}
