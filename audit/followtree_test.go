package audit_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// followedTree returns the events of a tree whose last error is ErrNotFound, because the histories
// of some sub-agents are not in testdata.
func followedTree(t *testing.T, runs map[string]*archivedRun) []api.Event {
	t.Helper()
	var events []api.Event
	gone := false
	for e, err := range audit.FollowTree(t.Context(), serve(t, runs), "sub_agents", "") {
		switch {
		case errors.Is(err, audit.ErrNotFound):
			gone = true
		case err != nil:
			t.Fatal(err)
		case gone:
			t.Fatal("an event follows the error")
		default:
			events = append(events, e)
		}
	}
	if !gone {
		t.Error("the missing histories are not reported")
	}
	return events
}

// The events of all runs of a tree are one sequence by time, each run's in its own order. A
// sub-agent's events lie between the start and the end of its call. The sequence is the same each
// time.
func TestFollowTree_OrdersTheEventsOfAllRuns(t *testing.T) {
	t.Parallel()
	runs := family(t)
	events := followedTree(t, runs)
	runOf := map[string]string{"": "sub_agents", "1.1": "sub_agents/1.1",
		"1.1/1.1": "sub_agents/1.1/1.1"}
	var latest time.Time
	sequences, open := map[string]int{}, map[string]bool{"": true}
	for i, e := range events {
		sequences[e.Parent]++
		if e.TreeSequence != i+1 || e.Sequence != sequences[e.Parent] ||
			e.WorkflowID != runOf[e.Parent] || !open[e.Parent] || e.Time.Before(latest) {
			t.Errorf("event %d is %d, %d of %s below %q, %s", i, e.TreeSequence, e.Sequence,
				e.WorkflowID, e.Parent, e.Type)
		}
		latest = e.Time
		switch path := api.CallPath(e.Parent, e.CallID); {
		case e.Type == api.EventToolStarted && e.Child != nil:
			open[path] = true
		case e.Record != nil && e.Record.Child != nil && e.Type != api.EventToolStarted:
			open[path] = false
		}
	}
	if len(sequences) != len(runOf) {
		t.Errorf("the events are of the runs %v", sequences)
	}
	for run, n := range sequences {
		if want := len(collect(t, audit.Events(t.Context(), serve(t, runs), runOf[run],
			""))); n != want {
			t.Errorf("run %q has %d events, want %d", run, n, want)
		}
	}
	if again := followedTree(t, runs); !slices.EqualFunc(events, again, func(x, y api.Event) bool {
		return fmt.Sprint(x.TreeSequence, x.Parent, x.Sequence) ==
			fmt.Sprint(y.TreeSequence, y.Parent, y.Sequence)
	}) {
		t.Error("the second time the order is another")
	}
}

// A reader may turn away at any event.
func TestFollowTree_EndsWithItsReader(t *testing.T) {
	t.Parallel()
	for range audit.FollowTree(t.Context(), serve(t, family(t)), "sub_agents", "") {
		break
	}
}
