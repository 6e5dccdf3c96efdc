package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

func taskServer(t *testing.T, newer bool) (*mcpserver.Tasks, *Server) {
	tasks := &mcpserver.Tasks{Newer: newer}
	server := httptest.NewServer(tasks)
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	return tasks, &Server{URL: server.URL, Allow: []string{"127.0.0.1"}}
}

// bothEras runs a test with a server of version 2025-11-25 and with a newer one.
func bothEras(t *testing.T, test func(t *testing.T, tasks *mcpserver.Tasks, entry *Server)) {
	for name, newer := range map[string]bool{"2025-11-25": false, "extension": true} {
		t.Run(name, func(t *testing.T) {
			tasks, entry := taskServer(t, newer)
			test(t, tasks, entry)
		})
	}
}

// job returns the request of a call whose task ends as text says.
func job(text string) Request {
	arguments, _ := json.Marshal(map[string]string{"text": text})
	return Request{Tool: "job", Arguments: arguments, TaskSupport: TaskOptional,
		KeepTask: time.Hour}
}

func TestCall_FollowsTasks(t *testing.T) {
	bothEras(t, func(t *testing.T, tasks *mcpserver.Tasks, entry *Server) {
		c := connect(t, entry, Options{Asks: true})
		for text, want := range map[string]string{
			"":           "done by täsk",
			"plain":      "done at once",
			"flaky":      "done by täsk",
			"zero":       "done by täsk",
			"tool error": "no such job",
		} {
			a, err := c.Call(t.Context(), job(text))
			if err != nil {
				t.Errorf("%q: got %v", text, err)
				continue
			}
			if got := textOf(t, a); !strings.HasPrefix(got, want) ||
				a.IsError != (text == "tool error") {
				t.Errorf("%q: got %q, failed %v", text, got, a.IsError)
			}
		}
		a, err := c.Call(t.Context(), job("digits"))
		if err != nil || !strings.Contains(string(a.Structured), "9007199254740993") {
			t.Errorf("got %s, %v", a.Structured, err)
		}
		if tasks.Newer {
			for _, name := range tasks.Names() {
				if !strings.HasPrefix(name, "=?base64?") {
					t.Errorf("a request about a task has Mcp-Name %q", name)
				}
			}
		} else if got := tasks.TTL(); got != time.Hour {
			t.Errorf("the server was asked to keep the task for %v", got)
		}
	})
}

// The tool of the test server refuses calls that do not ask for a task.
func TestCall_AsksForTasksWhereTheToolRequiresThem(t *testing.T) {
	_, entry := taskServer(t, false)
	c := connect(t, entry, Options{})
	for support, want := range map[TaskSupport]bool{TaskRequired: true, "": false,
		"forbidden": false} {
		_, err := c.Call(t.Context(), Request{Tool: "must", TaskSupport: support})
		if (err == nil) != want {
			t.Errorf("%q: got %v", support, err)
		}
	}
	tool, _, err := c.Tool(t.Context(), "must")
	if err != nil || tool.TaskSupport != TaskRequired {
		t.Errorf("got %+v, %v", tool, err)
	}
}

func TestCall_ReportsHowTasksEnd(t *testing.T) {
	bothEras(t, func(t *testing.T, _ *mcpserver.Tasks, entry *Server) {
		c := connect(t, entry, Options{})
		for text, want := range map[string]TaskError{
			"fail":            {Status: TaskFailed, Code: -32000, Message: "the disk is full"},
			"fail internally": {Status: TaskFailed, Code: -32603, Message: "the database is locked"},
			"cancelled":       {Status: TaskCancelled, Message: "poll 1"},
			"unknown":         {Status: TaskUnknown, Code: -32602, Message: "task not found"},
		} {
			_, err := c.Call(t.Context(), job(text))
			got, ok := errors.AsType[*TaskError](err)
			if !ok || *got != want {
				t.Errorf("%q: got %#v", text, err)
			}
		}
		for _, text := range []string{"long id", "other id", "odd", "words", "no result"} {
			_, err := c.Call(t.Context(), job(text))
			if _, ok := errors.AsType[*Fault](err); !ok {
				t.Errorf("%q: got %#v", text, err)
			} else if len(err.Error()) > 1000 {
				t.Errorf("%q: the error has %d bytes", text, len(err.Error()))
			}
		}
	})
}

func TestCall_PassesQuestionsOfTasksOn(t *testing.T) {
	bothEras(t, func(t *testing.T, _ *mcpserver.Tasks, entry *Server) {
		c := connect(t, entry, Options{Asks: true})
		asked := 0
		r := job("ask")
		r.Ask = func(_ context.Context, _, text string, _ json.RawMessage) (Reply, error) {
			asked++
			return Reply{Content: map[string]any{"name": "Ada"}}, nil
		}
		a, err := c.Call(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if got := textOf(t, a); asked != 1 || !strings.Contains(got, `"accept"`) ||
			!strings.Contains(got, `"Ada"`) {
			t.Errorf("asked %d times; got %s", asked, got)
		}
	})
}

// A task that does not end, and one whose server wants to be asked once a year, end with the call.
func TestCall_LeavesTasksWhenItEnds(t *testing.T) {
	bothEras(t, func(t *testing.T, tasks *mcpserver.Tasks, entry *Server) {
		c := connect(t, entry, Options{})
		for _, text := range []string{"never", "year"} {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			defer cancel()
			var created api.RemoteTask
			r := job(text)
			r.Created = func(task api.RemoteTask) { created = task }
			_, err := c.Call(ctx, r)
			ended, ok := errors.AsType[*Ended](err)
			if !ok || !ended.Sent || !errors.Is(ended.Err, context.DeadlineExceeded) {
				t.Errorf("%q: got %#v", text, err)
			}
			if err := CancelTask(t.Context(), c, created.ID); err != nil {
				t.Errorf("%q: got %v", text, err)
			}
			_, err = Follow(t.Context(), c, job(text), created)
			if got, ok := errors.AsType[*TaskError](err); !ok || got.Status != TaskCancelled {
				t.Errorf("%q: got %#v", text, err)
			}
		}
		if got := tasks.Requests("tasks/cancel"); got != 2 {
			t.Errorf("%d tasks were cancelled", got)
		}
	})
}

// Another connection finds the task: it continues the session if there is one, and does not end it.
func TestFollow_ContinuesTheSessionOfTheTask(t *testing.T) {
	bothEras(t, func(t *testing.T, tasks *mcpserver.Tasks, entry *Server) {
		ctx, cancel := context.WithCancel(t.Context())
		created := make(chan api.RemoteTask, 1)
		first := connect(t, entry, Options{})
		ended := make(chan error, 1)
		go func() {
			r := job("wait")
			r.Created = func(task api.RemoteTask) { created <- task }
			_, err := first.Call(ctx, r)
			ended <- err
		}()
		task := <-created
		cancel()
		if err := <-ended; err == nil {
			t.Fatal("the call of a cancelled context succeeded")
		}
		if (task.Session == "") != tasks.Newer {
			t.Errorf("the session of the task is %q", task.Session)
		}
		second, err := Connect(t.Context(), entry, Options{Task: &task})
		if err != nil {
			t.Fatal(err)
		}
		tasks.Release()
		a, err := Follow(t.Context(), second, job("wait"), task)
		if err != nil || !strings.HasPrefix(textOf(t, a), "done by") {
			t.Errorf("got %v, %v", a, err)
		}
		second.Close()
		if got := tasks.Requests("initialize"); got > 1 {
			t.Errorf("%d sessions were opened", got)
		}
		if !tasks.Newer && tasks.Sessions() != 1 {
			t.Errorf("%d sessions are open", tasks.Sessions())
		}
		if got := tasks.Executions(); got != 1 {
			t.Errorf("the tool was called %d times", got)
		}
	})
}

func TestFollow_FailsAsLostIfTheServerForgotTheSession(t *testing.T) {
	tasks, entry := taskServer(t, false)
	tasks.Forget(true)
	task := api.RemoteTask{ID: "task", Session: "gone", Protocol: "2025-11-25"}
	c := connect(t, entry, Options{Task: &task})
	_, err := Follow(t.Context(), c, job(""), task)
	lost, ok := errors.AsType[*Lost](err)
	if !ok || !lost.Sent {
		t.Fatalf("got %#v", err)
	}
	if refused, ok := errors.AsType[*Refused](lost.Err); !ok || refused.Status != 404 {
		t.Errorf("got %#v", lost.Err)
	}
}

func TestInterval_IsBounded(t *testing.T) {
	for asked, want := range map[float64]time.Duration{-1e300: minPollInterval, 0: minPollInterval,
		3000: 3 * time.Second, 1e300: maxPollInterval} {
		for _, failures := range []int{0, 1 << 40} {
			low := want
			if failures > 0 {
				low = min(want<<6, maxPollInterval)
			}
			got := taskState{PollInterval: &asked}.interval(failures)
			if got < low || got > low+low/5 {
				t.Errorf("%v after %d failures: got %v", asked, failures, got)
			}
		}
	}
	if got := fmt.Sprint(taskState{}.interval(0) >= defaultPollInterval); got != "true" {
		t.Error("without an interval the default is not used")
	}
}
