package audit_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// An end of an attempt is read when the workflow task is complete that decides about it, whatever
// comes in between. Nothing changes the order of the history.
func TestLookahead_KeepsEndsUntilTheRunHasDecided(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 1)
	w.fail(1, requeue)
	end := len(w.events)
	w.add(1, event(0, enumspb.EVENT_TYPE_TIMER_FIRED, nil))
	w.decide(again)
	task := len(w.events)
	w.add(1, event(0, enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED, nil))
	w.add(1, event(0, enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, nil))

	d := history.NewDeriver("", "")
	ahead := history.NewLookahead(d)
	var taken []*historypb.HistoryEvent
	for i, e := range w.events {
		ready, err := ahead.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		taken = append(taken, ready...)
		want := min(i+1, end-1)
		if i == len(w.events)-1 {
			want = task // the cancelled activity waits for the next workflow task
		}
		if len(taken) != want || ahead.Awaits() != (i == task-2 || i == task-1 || i == task) {
			t.Errorf("after event %d of %d, %d are taken, awaits %t", i+1, len(w.events),
				len(taken), ahead.Awaits())
		}
	}
	if rest, err := ahead.Flush(); err != nil || len(rest) > 0 {
		t.Errorf("nothing is decided: %d events, %v", len(rest), err)
	}
	if !slices.Equal(taken, w.events[:task]) {
		t.Error("the order has changed")
	}
}

// A run that ends its workflow task for the task's size may decide in the next one. A call has one
// record then, too.
func TestLookahead_ReadsOnPastADividedTask(t *testing.T) {
	timer := func(w *tale) {
		e := event(0, enumspb.EVENT_TYPE_TIMER_STARTED, nil)
		e.UserMetadata = &sdkpb.UserMetadata{
			Summary: payloads(t, api.NextTaskSummary).GetPayloads()[0]}
		w.add(0, e)
	}
	for name, divided := range map[string]func(w *tale){
		"the task that knows of the failure": func(w *tale) {
			w.fail(1, requeue)
			w.decide()
			timer(w)
		},
		"an earlier task": func(w *tale) {
			timer(w)
			w.fail(1, requeue)
		},
		"an earlier task, and something else starts one before the timer fires": func(w *tale) {
			timer(w)
			w.fail(1, requeue)
			w.decide()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newTale(t)
			w.schedule(nil)
			w.start(1, 1)
			divided(w)
			fired := event(0, enumspb.EVENT_TYPE_TIMER_FIRED, nil)
			for _, e := range w.events {
				if e.GetUserMetadata() != nil {
					fired.Attributes = &historypb.HistoryEvent_TimerFiredEventAttributes{
						TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{
							StartedEventId: e.GetEventId()}}
				}
			}
			w.add(1, fired)
			w.decide(again)
			w.schedule(nil)
			w.start(1, 1)
			w.complete(1, api.Result{Output: json.RawMessage(`7`)})
			c := serve(t, map[string]*archivedRun{"divided": {
				parts: [][]*historypb.HistoryEvent{w.events}, lost: -1}})
			records := collect(t, audit.Records(t.Context(), c, "divided", ""))
			if len(records) != 1 || records[0].Status != api.CallCompleted {
				t.Errorf("the records are %+v", records)
			}
		})
	}
}

// The last event of an execution ends what is kept: the run decides nothing more.
func TestLookahead_KeepsNothingOfAClosedExecution(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 1)
	w.fail(1, api.Errorf(api.ErrExecution, "no"))
	w.terminate()
	ahead, n := history.NewLookahead(history.NewDeriver("", "")), 0
	for _, e := range w.events {
		ready, err := ahead.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		n += len(ready)
	}
	if n != len(w.events) {
		t.Errorf("%d of %d events", n, len(w.events))
	}
}

// A follower has the end of a failed call as soon as the run has decided about it, though nothing
// happens after that. A reader of the run so far has a call that the run has not decided about as
// one that runs.
func TestFailedCall_EndsWhenTheRunHasDecided(t *testing.T) {
	w := newTale(t)
	w.schedule(nil)
	w.start(1, 1)
	w.fail(1, api.Errorf(api.ErrExecution, "no"))
	undecided := slices.Clone(w.events)
	w.decide()
	open := func(events []*historypb.HistoryEvent) *archivedRun {
		return &archivedRun{parts: [][]*historypb.HistoryEvent{events}, lost: -1, waits: true,
			open: &workflowservice.DescribeWorkflowExecutionResponse{}}
	}
	c := serve(t, map[string]*archivedRun{"decided": open(w.events[:len(w.events)-1]),
		"undecided": open(undecided)})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := false
	for e, err := range audit.Follow(ctx, c, "decided", "") {
		if ended = e.Type == api.EventToolFailed; ended {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !ended {
		t.Error("the follower has no end of the call")
	}
	for run, want := range map[string]api.CallStatus{"decided": api.CallFailed,
		"undecided": api.CallRunning} {
		records := collect(t, audit.Records(ctx, c, run, ""))
		if len(records) != 1 || records[0].Status != want {
			t.Errorf("%s: the records are %+v", run, records)
		}
	}
}
