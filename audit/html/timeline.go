package html

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Timeline is the page about a run and its sub-agents. Times are milliseconds since the start of
// the first run.
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
	calls []shownCall
	steps []shownStep
	marks []mark
}

// shownRun is one run of the page.
type shownRun struct {
	Path     string   `json:"path"`
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Status   string   `json:"status"`
	From     millis   `json:"from"`
	To       millis   `json:"to"`
	Open     bool     `json:"open,omitempty"`
	Parts    []millis `json:"parts,omitempty"`
	summary  history.Summary
	children []api.ChildRun
}

// shownStep is one model step.
type shownStep struct {
	Run      int         `json:"run"`
	ID       string      `json:"id"`
	Turn     int         `json:"turn"`
	Spans    []span      `json:"spans"`
	In       int         `json:"in"`
	Out      int         `json:"out"`
	Cached   int         `json:"cached,omitempty"`
	Cost     float64     `json:"cost,omitempty"`
	Open     bool        `json:"open,omitempty"`
	Attempts int         `json:"attempts,omitempty"`
	Details  [][2]string `json:"details"`
}

// mark is an event of a run that is not a call or a step: a question, an approval, a pause, a
// message, a hook.
type mark struct {
	Run  int      `json:"run"`
	Kind markKind `json:"kind"`
	Call string   `json:"call,omitempty"`
	From millis   `json:"from"`
	// To is the end of a mark that lasts.
	To      millis      `json:"to"`
	Open    bool        `json:"open,omitempty"`
	Label   string      `json:"label"`
	Details [][2]string `json:"details"`
}

type markKind string

const (
	markApproval markKind = "approval"
	markQuestion markKind = "question"
	markPause    markKind = "pause"
	markMessage  markKind = "message"
	markHook     markKind = "hook"
	markRefused  markKind = "refused"
	markPart     markKind = "part"
	markEnd      markKind = "end"
)

// lasts reports whether marks of the kind have a beginning and an end.
func (k markKind) lasts() bool { return k == markApproval || k == markQuestion || k == markPause }

// maxRuns bounds the runs of one page.
const maxRuns = 2000

// ReadTimeline reads a run so far and, with tree, its sub-agents. Parameters and errors are those
// of audit.Events. Gone counts sub-agents whose histories are deleted. If only the first histories
// of a run are deleted, the page shows the rest.
func ReadTimeline(
	ctx context.Context,
	c client.Client,
	workflowID, runID string,
	tree bool,
) (*Timeline, error) {
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
	marks []runMark
	open  map[string]int
}

// endedCall is a finished call and when the run reported its end.
type endedCall struct {
	record api.Record
	at     time.Time
}

// runMark is a mark with absolute times.
type runMark struct {
	mark
	from, to time.Time
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
		if tell := markReaders[e.Type]; tell != nil {
			tell(b, e)
		}
	}
}

// AddRun adds a run with the events of b, its summary, the records of its open calls, and what runs
// or waits. The first run is the run of the page.
func (t *Timeline) AddRun(
	b *Run,
	s history.Summary,
	running []api.Record,
	pending []audit.Running,
) {
	if len(t.runs) == 0 {
		t.start = s.Started
	}
	n := len(t.runs)
	end := cmp.Or(s.Closed, t.Now)
	run := shownRun{
		ID:      s.WorkflowID,
		Name:    runName(s),
		Status:  string(s.Status),
		From:    t.at(s.Started),
		To:      t.at(end),
		Open:    s.Closed.IsZero(),
		summary: s,
	}
	if s.Parent != nil && n > 0 {
		run.Path = s.Parent.Call
	}
	for _, p := range s.Parts[min(1, len(s.Parts)):] {
		run.Parts = append(run.Parts, t.at(p.Started))
		b.marks = append(
			b.marks,
			runMark{from: p.Started, mark: mark{Kind: markPart, Label: "continues in a new execution",
				Details: [][2]string{
					{
						"continued as new",
						"the run continued as new because its history was long",
					},
					{"execution", p.RunID},
				}}},
		)
	}
	f := fill{t: t, run: n, b: b, summary: s, end: end}
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
	f.marksOf()
	t.runs = append(t.runs, run)
}

func (r *shownRun) addChild(record api.Record) {
	if record.Child != nil && record.Child.RunID != "" {
		r.children = append(r.children, *record.Child)
	}
}

// runName returns the kind and the name of a run.
func runName(s history.Summary) string {
	what := string(s.Kind)
	if s.Kind == history.RunCall {
		what = "direct call of"
	}
	return what + " " + s.Name
}

// at returns a time relative to the start of the page.
func (t *Timeline) at(when time.Time) millis { return millis(when.Sub(t.start)) }
