package instances

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// The first answer has a note about the lost state and the reason.
func TestHostInstance_NotesLostState(t *testing.T) {
	used := api.InstanceProgress{Generation: 4, Used: true}
	before := reportedBefore(t, used)
	for name, c := range map[string]struct {
		change  func(*api.HostInstanceRequest)
		details []any
		says    string
	}{
		"first":  {nil, nil, ""},
		"unused": {nil, []any{api.InstanceProgress{Generation: 4}}, ""},
		"lost": {nil, []any{used},
			"the worker that hosted the last one was lost: this is a new instance of counter"},
		"idle": {func(r *api.HostInstanceRequest) { r.Last = used }, nil,
			"the last one was closed after 10m0s without a call"},
		"closed by a person": {func(r *api.HostInstanceRequest) {
			r.Last = used.AfterClose("the last one was closed by ada")
		}, nil, "closed by ada: this is a new instance of counter"},
		"closed by a call": {func(r *api.HostInstanceRequest) { r.Last = used.AfterClose("") },
			nil, ""},
		"closed after continue-as-new": {func(r *api.HostInstanceRequest) {
			r.Last = api.InstanceProgress{}.AfterClose("")
			r.Before = []api.InstanceHost{{RunID: "old", ActivityID: "host/counter"}}
		}, nil, ""},
		"by the run": {func(r *api.HostInstanceRequest) { r.Last, r.Lost = used, true }, nil,
			"was lost"},
		"by the server": {func(r *api.HostInstanceRequest) {
			r.Before = []api.InstanceHost{{RunID: "old", ActivityID: "host/counter"}}
		}, nil, "was lost"},
		"by an earlier run": {func(r *api.HostInstanceRequest) {
			r.Before = []api.InstanceHost{{RunID: "old", ActivityID: "host/counter"},
				{RunID: "empty", ActivityID: "host/counter"}}
		}, nil, "was lost"},
		"no heartbeat": {func(r *api.HostInstanceRequest) {
			r.Last.Generation = 4
			r.Before = []api.InstanceHost{{RunID: "empty", ActivityID: "host/counter"}}
		}, nil, "was lost"},
		"forgotten": {func(r *api.HostInstanceRequest) {
			r.Last.Generation = 4
			r.Before = []api.InstanceHost{{RunID: "old", ActivityID: "host/counter"},
				{RunID: "empty", ActivityID: "host/counter/2"}}
		}, nil, "was lost"},
		"deleted": {func(r *api.HostInstanceRequest) {
			r.Last.Generation = 4
			r.Before = []api.InstanceHost{{RunID: "old", ActivityID: "host/counter"},
				{RunID: "deleted", ActivityID: "host/counter"}}
		}, nil, "was lost"},
		"unreadable": {nil, []any{"text"}, "was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHosts(t, nil, plain)
			h.server.Describe("old", before)
			empty := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
			empty.PendingActivities = []*workflowpb.PendingActivityInfo{{ActivityId: "host/counter"}}
			h.server.Describe("empty", empty)
			r := h.request()
			if c.change != nil {
				c.change(&r)
			}
			running := h.start(r, c.details...)
			s := expect.Receive(t, "the instance", h.served)
			notes := strings.Join(h.add(s, 1).Notes, "|")
			if !strings.Contains(notes, c.says) || notes != "" && c.says == "" {
				t.Errorf("the first answer says %q, want %q", notes, c.says)
			}
			if more := h.add(s, 1).Notes; len(more) > 0 {
				t.Errorf("the second answer says %q", more)
			}
			if want := map[bool]int{true: 1, false: 5}[name == "first" ||
				name == "unreadable"]; h.server.Last().Generation != want {
				t.Errorf("generation %d, want %d", h.server.Last().Generation, want)
			}
			running.end(errors.New("over"))
			h.failed(running)
		})
	}
}

// Every call says that the state is gone until one has completed, whatever ended the last instance.
func TestHostInstance_NotesLostStateInFailures(t *testing.T) {
	used := api.InstanceProgress{Generation: 4, Used: true}
	exited := used
	exited.Ended = "the server exited"
	for says, c := range map[string]struct {
		last    api.InstanceProgress
		lost    bool
		details []any
	}{
		"the worker that hosted the last one was lost": {details: []any{used}},
		"the server exited":                            {details: []any{exited}},
		"the last one was closed after 10m0s":          {last: used},
		"the last one was closed by ada":               {last: used.AfterClose("the last one was closed by ada")},
		"was lost":                                     {last: used, lost: true},
	} {
		t.Run(says, func(t *testing.T) {
			failures := 2
			h := newHosts(t, nil, func(h *hosts) tool.Stateful {
				return tool.NewStateful("counter", func(context.Context,
					tool.StartInfo) (*loud, error) {
					return &loud{hosts: h, call: func(context.Context) error {
						if failures--; failures >= 0 {
							return errors.New("no such row")
						}
						return nil
					}}, nil
				}, tool.NewMethod("add", (*loud).Add))
			})
			r := h.request()
			r.Last, r.Lost = c.last, c.lost
			running := h.start(r, c.details...)
			s := expect.Receive(t, "the instance", h.served)
			for range 2 {
				_, err := h.call(s, 1)
				app, ok := errors.AsType[*temporal.ApplicationError](err)
				var e api.Error
				if !ok || app.Details(&e) != nil || len(e.Notes) != 1 ||
					!expect.Contains(e.Notes[0], says, "without the state") ||
					!expect.Contains(e.ForModel(), "no such row", e.Notes[0]) {
					t.Errorf("the call failed with %v, notes %q", err, e.Notes)
				}
			}
			if notes := h.add(s, 1).Notes; len(notes) != 1 || !expect.Contains(notes[0], says) {
				t.Errorf("the first answer has the notes %q", notes)
			}
			if notes := h.add(s, 1).Notes; len(notes) > 0 {
				t.Errorf("the second answer has the notes %q", notes)
			}
			running.end(errors.New("over"))
			h.failed(running)
		})
	}
}

// The failure to create the next instance says it, too, and leaves the reason to the one after it.
func TestHostInstance_NotesLostStateWhereNoInstanceIsCreated(t *testing.T) {
	h := newHosts(t, nil, func(*hosts) tool.Stateful {
		return tool.NewStateful("counter", func(context.Context,
			tool.StartInfo) (*loud, error) {
			return nil, errors.New("no display")
		}, tool.NewMethod("add", (*loud).Add))
	})
	e, left, _ := h.failed(h.start(h.request(), api.InstanceProgress{Generation: 4, Used: true}))
	if len(e.Notes) != 1 || !expect.Contains(e.Notes[0], lostWorker) || left.Ended != lostWorker {
		t.Errorf("failed with %v, notes %q, and left %+v", e.Message, e.Notes, left)
	}
	h = newHosts(t, nil, plain)
	r := h.request()
	r.Last = left
	running := h.start(r)
	s := expect.Receive(t, "the instance", h.served)
	if notes := h.add(s, 1).Notes; len(notes) != 1 || !expect.Contains(notes[0], lostWorker) {
		t.Errorf("the first answer has the notes %q", notes)
	}
	running.end(errors.New("over"))
	h.failed(running)
}

// reportedBefore returns an ended execution whose host reported a state with its last heartbeat.
func reportedBefore(t *testing.T, reported api.InstanceProgress) *described {
	t.Helper()
	details, err := converter.GetDefaultDataConverter().ToPayloads(reported)
	if err != nil {
		t.Fatal(err)
	}
	d := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
	d.PendingActivities = []*workflowpb.PendingActivityInfo{{ActivityId: "other",
		HeartbeatDetails: &commonpb.Payloads{}}, {ActivityId: "host/counter",
		HeartbeatDetails: details}}
	return d
}

func TestHostInstance_NotesUnsavedStateOnce(t *testing.T) {
	for size, says := range map[int]string{maxSnapshot + 1: "bytes compressed", -1: "no ink"} {
		h := newHosts(t, recreate, snapshotBy(func(c *loudSnapshot) { c.size = size }))
		running := h.start(h.request())
		s := expect.Receive(t, "the instance", h.served)
		if notes := h.add(s, 1).Notes; len(notes) != 1 || !expect.Contains(notes[0], "not saved",
			says, "cannot be rebuilt") {
			t.Errorf("notes %q", notes)
		}
		if reported := h.server.Last(); reported.State != nil || !reported.Used {
			t.Errorf("reported %+v", reported)
		}
		running.end(errors.New("over"))
		h.failed(running)
	}
}
