package audit_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// resume returns at most n events after a position that was stored as JSON, and the next position.
func resume(t testing.TB, c client.Client, stored []byte, n int) ([]api.Event, []byte, error) {
	t.Helper()
	var position audit.Position
	if err := json.Unmarshal(stored, &position); err != nil {
		t.Fatal(err)
	}
	s := audit.Subscribe(c, position)
	var events []api.Event
	var failed error
	for e, err := range s.Events(t.Context()) {
		if failed = err; err != nil {
			break
		}
		if events = append(events, e); len(events) == n {
			break
		}
	}
	stored, err := json.Marshal(s.Position())
	if err != nil {
		t.Fatal(err)
	}
	return events, stored, failed
}

// A reader that stops after any event, stores its position as JSON and continues in another process
// gets each event once, over continue-as-new. At the end it gets no more.
func TestSubscribe_ReturnsEachEventOnce(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			c := serve(t, map[string]*archivedRun{s.name: {parts: histories(t, s.name), lost: -1}})
			want := collect(t, audit.Events(t.Context(), c, s.name, ""))
			stored := []byte(`{"workflow_id":"` + s.name + `"}`)
			var got []api.Event
			for n := 1; ; n = n%3 + 1 {
				events, next, err := resume(t, c, stored, n)
				if err != nil {
					t.Fatalf("after %s: %v", stored, err)
				}
				if got, stored = append(got, events...), next; len(events) < n {
					break
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %d events in pieces, want the same %d", len(got), len(want))
			}
		})
	}
}

// A position of another run, after the end, or before the retained events gives no events and a
// distinct error.
func TestPositions_OutsideOfTheRunGiveTypedErrors(t *testing.T) {
	parts, other := histories(t, "continued"), histories(t, "agent")
	run, end := start(parts[0]).GetOriginalExecutionRunId(),
		len(derive(t, history.NewDeriver("", ""), slices.Concat(parts...)))
	c := serve(t, map[string]*archivedRun{
		"continued": {parts: parts, lost: -1},
		"gone":      {parts: parts, lost: 0},
		"agent":     {parts: other, lost: -1},
		"open":      openRun(t),
	})
	foreign := start(other[0]).GetOriginalExecutionRunId()
	second := start(parts[1]).GetOriginalExecutionRunId()
	for name, tt := range map[string]struct {
		position audit.Position
		want     error
	}{
		"of another run": {audit.Position{WorkflowID: "agent", Run: run, Part: foreign,
			Sequence: 2}, audit.ErrPosition},
		"of a run that is not there": {audit.Position{WorkflowID: "agent", Run: run, Sequence: 2},
			audit.ErrNotFound},
		"past the end": {audit.Position{WorkflowID: "continued", Run: run,
			Sequence: end + 1}, audit.ErrPosition},
		"past what has happened": {audit.Position{WorkflowID: "open",
			Run: start(openRun(t).parts[0]).GetOriginalExecutionRunId(), Sequence: 1000},
			audit.ErrPosition},
		"the end": {audit.Position{WorkflowID: "continued", Run: run,
			Sequence: end}, nil},
		"before the retained events": {audit.Position{WorkflowID: "gone", Run: run, Sequence: 3},
			audit.ErrNotFound},
		"from the start of a rest": {audit.Position{WorkflowID: "gone"}, audit.ErrIncomplete},
		"past the end of a rest": {audit.Position{WorkflowID: "gone", Run: run,
			Part: start(parts[2]).GetOriginalExecutionRunId(), Sequence: 1000, Before: 60},
			audit.ErrPosition},
	} {
		t.Run(name, func(t *testing.T) {
			for e, err := range audit.Subscribe(c, tt.position).Events(t.Context()) {
				if !errors.Is(err, tt.want) || tt.want == nil {
					t.Errorf("got %+v, %v; want %v", e, err, tt.want)
				}
			}
			if _, _, err := resume(t, c, mustJSON(t, tt.position), 1000); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	stored := mustJSON(t,
		audit.Position{WorkflowID: "gone", Run: run, Part: second, Sequence: 66, Before: 63})
	if _, _, err := resume(t, c, stored, 1); err != nil {
		t.Errorf("a position in the first retained execution: %v", err)
	}
}

func mustJSON(t testing.TB, value any) []byte {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// If the first execution of a run is past retention, the rest has no numbers and is followed by an
// error. A subscriber that was in the rest already misses nothing.
func TestLostBeginning_GivesTheRestAndAnError(t *testing.T) {
	for _, name := range []string{"continued", "people"} {
		t.Run(name, func(t *testing.T) {
			parts := histories(t, name)
			whole := serve(t, map[string]*archivedRun{name: {parts: parts, lost: -1}})
			rest := serve(t, map[string]*archivedRun{name: {parts: parts, lost: 0}})
			var positions []audit.Position
			s := audit.Subscribe(whole, audit.Position{WorkflowID: name})
			var want []api.Event
			for e, err := range s.Events(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				if e.RunID != start(parts[0]).GetOriginalExecutionRunId() {
					want, positions = append(want, e), append(positions, s.Position())
				}
			}
			checkRest(t, rest, name, want)
			for i, position := range positions {
				stored := mustJSON(t, position)
				if got, _, err := resume(t, rest, stored, len(want)); err != nil ||
					len(got) != len(want)-1-i ||
					len(got) > 0 && !reflect.DeepEqual(got, want[i+1:]) {
					t.Errorf("going on after %s: %d events, %v; want %d", stored, len(got), err,
						len(want)-1-i)
				}
			}
		})
	}
}

func checkRest(t *testing.T, c client.Client, id string, want []api.Event) {
	t.Helper()
	var got []api.Event
	var failed error
	for e, err := range audit.Events(t.Context(), c, id, "") {
		if failed = err; err == nil {
			got = append(got, e)
		}
	}
	if !errors.Is(failed, audit.ErrIncomplete) || !errors.Is(failed, audit.ErrNotFound) {
		t.Errorf("the error is %v", failed)
	}
	records := 0
	for r, err := range audit.Records(t.Context(), c, id, "") {
		if err == nil && r.CallID != "" {
			records++
		}
	}
	for i := range want {
		want := want[i]
		if want.Sequence = 0; !reflect.DeepEqual(got[i], want) {
			t.Errorf("event %d is %+v, want %+v", i, got[i], want)
		}
	}
	if len(got) != len(want) || records != len(recordsOf(want)) {
		t.Errorf("%d events and %d records, want %d and %d", len(got), records, len(want),
			len(recordsOf(want)))
	}
	if s, err := audit.Describe(t.Context(), c, id, ""); !errors.Is(err, audit.ErrIncomplete) ||
		s.Status == "" {
		t.Errorf("the summary is %+v, %v", s, err)
	}
}
