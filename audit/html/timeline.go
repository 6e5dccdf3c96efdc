package html

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Timeline is a run and its sub-agents over time: a page, or the chart of one.
type Timeline struct {
	// Now is when the runs were read. Open spans end there.
	Now time.Time
	// Person is the evaluation of the run by a person; nil if there is none.
	Person *api.RunEvaluation
	// Awaited is what the runs wait for people to do.
	Awaited []audit.Awaited
	// Incomplete is set if the server has deleted the first histories of a run.
	Incomplete bool
	// Gone counts the sub-agents whose histories the server has deleted.
	Gone  int
	start time.Time
	runs  []shownRun
	rows  []row
}

// shownRun is one run of the page. Its path is the call that it is the sub-agent of.
type shownRun struct {
	path     string
	from, to time.Duration
	summary  history.Summary
	children []api.ChildRun
}

// maxRuns bounds the runs of one page.
const maxRuns = 2000

// ReadTimeline reads a run so far and, with tree, its sub-agents. Parameters and errors are those
// of audit.Events. Gone counts sub-agents whose histories are deleted. If only the first histories
// of a run are deleted, the page shows the rest.
func ReadTimeline(ctx context.Context, c client.Client, workflowID, runID string, tree bool) (
	*Timeline, error) {
	t := &Timeline{}
	waiting := []api.ChildRun{{WorkflowID: workflowID, RunID: runID}}
	for len(waiting) > 0 && len(t.runs) < maxRuns {
		next := waiting[0]
		waiting = waiting[1:]
		err := t.read(ctx, c, next)
		if errors.Is(err, audit.ErrIncomplete) {
			t.Incomplete, err = true, nil
		}
		if errors.Is(err, audit.ErrNotFound) && len(t.runs) > 0 {
			t.Gone++
			continue
		}
		if err != nil {
			return nil, err
		}
		if tree {
			waiting = append(waiting, t.runs[len(t.runs)-1].children...)
		}
	}
	t.Gone += len(waiting)
	return t, nil
}

func (t *Timeline) read(ctx context.Context, c client.Client, run api.ChildRun) error {
	b := NewRun()
	summary, running, incomplete := audit.Read(ctx, c, run.WorkflowID, run.RunID, b.Add)
	if incomplete != nil && !errors.Is(incomplete, audit.ErrIncomplete) {
		return incomplete
	}
	var pending []audit.Running
	if summary.Closed.IsZero() {
		var err error
		if pending, err = audit.Pending(ctx, c, run.WorkflowID, run.RunID); err != nil {
			return err
		}
		if len(t.runs) == 0 {
			if t.Awaited, err = audit.Awaits(ctx, c, run.WorkflowID, run.RunID); err != nil {
				return err
			}
		}
	}
	t.Now = time.Now()
	t.AddRun(b, summary, running, pending)
	return incomplete
}

// Run returns the summary of the run of the page.
func (t *Timeline) Run() history.Summary { return t.runs[0].summary }

// Run collects the events of one run for a Timeline.
type Run struct {
	asked map[int]time.Time
	ended []endedCall
	steps []api.Event
	marks []mark
	open  map[string]int
}

// endedCall is a finished call and when the run reported its end.
type endedCall struct {
	record api.Record
	at     time.Time
}

// NewRun returns a Run without events.
func NewRun() *Run { return &Run{asked: map[int]time.Time{}, open: map[string]int{}} }

// Add takes the next event. It does not keep results.
func (b *Run) Add(e api.Event) {
	switch {
	case e.Record != nil:
		r := *e.Record
		r.Result = nil
		b.ended = append(b.ended, endedCall{record: r, at: e.Time})
	case e.Type == api.EventStepCompleted:
		b.asked[e.Turn] = e.Time
		b.steps = append(b.steps, e)
	default:
		if read := markReaders[e.Type]; read != nil {
			read(b, e)
		}
	}
}

// AddRun adds a run with the events of b, its summary, the records of its open calls, and what runs
// or waits. The first run is the run of the page.
func (t *Timeline) AddRun(b *Run, s history.Summary, running []api.Record,
	pending []audit.Running) {
	run := shownRun{summary: s}
	if len(t.runs) == 0 {
		t.start = s.Started
	} else if s.Parent != nil {
		run.path = s.Parent.Call
	}
	end := cmp.Or(s.Closed, t.Now)
	run.from, run.to = t.at(s.Started), t.at(end)
	f := fill{t: t, b: b, summary: s, end: end, path: run.path}
	for _, c := range b.ended {
		f.call(c.record, c.at)
		run.addChild(c.record)
	}
	for _, r := range running {
		f.call(r, time.Time{})
		run.addChild(r)
	}
	for _, e := range b.steps {
		f.step(e)
	}
	for _, p := range pending {
		f.openStep(p)
	}
	for _, m := range b.marks {
		f.mark(m)
	}
	for _, p := range s.Parts[min(1, len(s.Parts)):] {
		f.mark(mark{class: classEvent, label: "continues in a new execution", from: p.Started,
			details: details(line("execution", p.RunID))})
	}
	t.runs = append(t.runs, run)
}

func (r *shownRun) addChild(record api.Record) {
	if record.Child != nil && record.Child.RunID != "" {
		r.children = append(r.children, *record.Child)
	}
}

// sorted returns the rows in the order in which they were asked for.
func (t *Timeline) sorted() []row {
	rows := slices.Clone(t.rows)
	slices.SortStableFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.asked, y.asked), audit.ByCall(x.record, y.record),
			cmp.Compare(x.from(), y.from()))
	})
	for i := range rows {
		rows[i].Index = i
	}
	return rows
}

// runName returns the kind and the name of a run.
func runName(s history.Summary) string {
	what := string(s.Kind)
	if s.Kind == history.RunCall {
		what = "direct call of"
	}
	return what + " " + s.Name
}

// at returns the time since the start of the page; zero for an earlier or unknown one.
func (t *Timeline) at(when time.Time) time.Duration { return max(0, when.Sub(t.start)) }
