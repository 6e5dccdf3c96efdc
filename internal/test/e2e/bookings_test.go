package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

type bookArgs struct {
	What string `json:"what"`
}

type booking struct {
	ID string `json:"id"`
}

// bookings are tools that book, and one that cancels bookings.
func bookings() []tool.Function {
	return []tool.Function{
		tool.NewFunction("book", func(ctx context.Context, in bookArgs) (booking, error) {
			return booking{ID: "no-" + in.What}, write(ctx, entry{Text: in.What})
		}),
		tool.NewFunction("book_late", func(ctx context.Context, in bookArgs) (booking,
			error) {
			if err := write(ctx, entry{Text: in.What}); err != nil {
				return booking{}, err
			}
			<-ctx.Done()
			return booking{}, context.Cause(ctx)
		}),
		tool.NewFunction("unbook", func(ctx context.Context, in struct {
			ID  string `json:"id"`
			Why string `json:"why"`
		}) (string, error) {
			call, _ := callcontext.From(ctx)
			if err := write(ctx, entry{Text: in.ID + " for " + call.ParentCall + " with " +
				strings.TrimPrefix(call.Key, call.Run)}); err != nil {
				return "", err
			}
			switch in.ID {
			case "no-flight":
				return "", errors.New("the airline takes nothing back")
			case "no-hall":
				return "taken back", gateOpens(ctx)
			}
			return "taken back", nil
		}),
	}
}

func bookingOf(what string) api.ScriptCall { return call("book", `{"what":"`+what+`"}`) }

// journalled returns the tools' lines of the journal.
func (l *lab) journalled() []string {
	var texts []string
	for _, e := range l.entries() {
		texts = append(texts, e.Text)
	}
	return texts
}

// undoneOf returns one line for each undone call in a run's summary.
func (l *lab) undoneOf(run client.WorkflowRun) []string {
	l.t.Helper()
	summary, err := audit.Describe(l.ctx, l.Client, run.GetID(), "")
	if err != nil {
		l.t.Fatal(err)
	}
	var lines []string
	for _, u := range summary.Result.Undone {
		line := u.TargetCallID + " by " + u.CallID + " " + u.Tool
		if u.Error != nil {
			line += " " + string(u.Error.Type)
		}
		lines = append(lines, line)
	}
	return lines
}

// cancelledBookings is a run that is cancelled after three bookings, of which the second cannot be
// cancelled.
func cancelledBookings(l *lab, id string) client.WorkflowRun {
	l.worker()
	run := l.runAgent(id, withTools(agent(step(bookingOf("room")), step(bookingOf("flight")),
		step(bookingOf("car")), step(call("hold_read", `{}`))), "book hold_read"))
	l.awaitEntries(4)
	if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
		l.t.Fatal(err)
	}
	return run
}

// A cancelled run undoes its three bookings in reverse order, although the second cannot be undone.
// Each undo is a separate call for its target, made once with its own key. Events, records and the
// end of the run name the booking that was not undone, and the run ends as cancelled.
func TestUndo_CompensatesInReverseOrder(t *testing.T) {
	l := newLab(t)
	run := cancelledBookings(l, "trip")
	l.cancelled(run)
	expect(t, "journal", l.journalled(), []string{"room", "flight", "car", "",
		"no-car for 3.1 with /undo-3.1", "no-flight for 2.1 with /undo-2.1",
		"no-room for 1.1 with /undo-1.1"})
	expect(t, "records", l.statuses(run), []string{"1.1 book completed", "2.1 book completed",
		"3.1 book completed", "4.1 hold_read cancelled cancelled",
		"undo-3.1 unbook completed", "undo-2.1 unbook failed execution_error",
		"undo-1.1 unbook completed"})
	expect(t, "undone calls", l.undoneOf(run), []string{"3.1 by undo-3.1 unbook",
		"2.1 by undo-2.1 unbook execution_error", "1.1 by undo-1.1 unbook"})
	for _, r := range l.records(run)[4:] {
		undoneBy := strings.TrimPrefix(r.CallID, "undo-")
		if r.Purpose != api.PurposeUndo || r.TargetCallID != undoneBy || r.Parent != undoneBy ||
			r.Path != undoneBy+"/"+r.CallID || r.Version != "1.0.0" {
			t.Errorf("record %s target %q, parent %q, path %q, version %q", r.CallID,
				r.TargetCallID, r.Parent, r.Path, r.Version)
		}
	}
	var order []string
	for r, err := range audit.Tree(l.ctx, l.Client, run.GetID(), "") {
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, r.CallID)
	}
	expect(t, "order", order, []string{"1.1", "2.1", "3.1", "4.1", "undo-3.1", "undo-2.1",
		"undo-1.1"})
}

// Another worker continues the interrupted undo call with the same key, and nothing is undone
// twice.
func TestUndo_ContinuesAfterTheWorkerIsKilled(t *testing.T) {
	l := newLab(t)
	first := l.worker()
	run := l.runAgent("killed", withTools(agent(step(bookingOf("room")), step(bookingOf("hall")),
		step(bookingOf("car"))), "book"))
	l.awaitEntries(5)
	first.Kill()
	l.openGate()
	l.worker()
	app := l.failure(run, api.RunModelFailed)
	if app.Message() != "the model step of turn 4 failed: the script has 3 steps and the run is at turn 4; end the script with an answer\n(calls undone: 3)" {
		t.Errorf("message: %s", app.Message())
	}
	expect(t, "journal", l.journalled(), []string{"room", "hall", "car",
		"no-car for 3.1 with /undo-3.1",
		"no-hall for 2.1 with /undo-2.1", "no-hall for 2.1 with /undo-2.1",
		"no-room for 1.1 with /undo-1.1"})
	expect(t, "undone calls", l.undoneOf(run), []string{"3.1 by undo-3.1 unbook", "2.1 by undo-2.1 unbook",
		"1.1 by undo-1.1 unbook"})
}

// lateBookings is a plan in which one call times out after it took effect.
func lateBookings(l *lab, id string) client.WorkflowRun {
	l.worker()
	return l.runPlan(id, api.Plan{Name: "trip", Calls: []api.PlanCall{
		{ID: "room", Tool: "book", Arguments: []byte(`{"what":"room"}`)},
		{ID: "car", Tool: "book_late", Arguments: []byte(`{"what":"car"}`),
			DependsOn: []string{"room"}},
	}})
}

// A failed plan undoes completed calls, and by its key a call that timed out and took effect. The
// run's failure lists them.
func TestUndo_CompensatesFailedPlans(t *testing.T) {
	l := newLab(t)
	run := lateBookings(l, "late")
	app := l.failure(run, api.RunCallsFailed)
	var r api.RunResult
	if err := app.Details(&r); err != nil || len(r.Undone) != 2 || len(r.Failures) != 1 ||
		r.Failures[0].Error.Type != api.ErrOutcomeUnknown &&
			r.Failures[0].Error.Type != api.ErrTimeout {
		t.Errorf("result: %+v, error %v", r, err)
	}
	key := l.entries()[0].Run + "/car"
	expect(t, "journal", l.journalled(), []string{"room", "car", key + " for car with /undo-car",
		"no-room for room with /undo-room"})
}

// The records show the undo call that was running.
func TestUndo_StopsWhenTheRunIsTerminated(t *testing.T) {
	l := newLab(t)
	l.worker()
	run := l.runAgent("terminated",
		withTools(agent(step(bookingOf("room")), step(bookingOf("hall"))), "book"))
	l.awaitEntries(3)
	if err := l.Client.CancelWorkflow(l.ctx, run.GetID(), ""); err != nil {
		t.Fatal(err)
	}
	if err := l.Client.TerminateWorkflow(l.ctx, run.GetID(), "", "enough"); err != nil {
		t.Fatal(err)
	}
	if err := run.Get(l.ctx, nil); !terminated(err) {
		t.Errorf("the run ended with %v", err)
	}
	l.openGate()
	expect(t, "records", l.statuses(run), []string{"1.1 book completed", "2.1 book completed",
		"undo-2.1 unbook cancelled cancelled"})
}

func terminated(err error) bool {
	_, ok := errors.AsType[*temporal.TerminatedError](err)
	return ok
}
