package run

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/workflow"
)

// Observer collects the states of an agent run at its turns while its histories are replayed. The
// methods of a nil Observer do nothing.
type Observer struct {
	input    *api.RunInput
	points   map[int]Point
	answers  map[int]api.Message
	outcomes map[string]outcome
	executed []*executed
	byID     map[string]*executed
	// left are the recorded calls that a forked run has not asked for.
	left []forks.RecordedCall
}

// Point is the state of a run before the model step of a turn.
type Point struct {
	Turn, Before    int
	Messages        []api.Message
	Labels          []string
	Calls           []api.PastCalls
	DescendantCalls []api.PastCalls
	Instances       []workflows.Instance
	// Recorded are the calls of its own source that the run has not asked for yet.
	Recorded []forks.RecordedCall
}

// outcome is the outcome of a call, with the message about it and the labels of the run after it.
type outcome struct {
	api.CallOutcome
	message api.Message
	labels  []string
}

// executed is a call that left the run.
type executed struct {
	call      api.Call
	tool      api.Tool
	arguments json.RawMessage
	// taken is set if the outcome is that of a source of the run.
	taken *forks.RecordedCall
	// undone says that the run undid the call.
	undone bool
}

// NewObserver returns an Observer for the executions of one run, from the first on.
func NewObserver() *Observer {
	return &Observer{points: map[int]Point{}, answers: map[int]api.Message{},
		outcomes: map[string]outcome{}, byID: map[string]*executed{}}
}

// RecordStart takes the input of an execution. It keeps that of the first one.
func (o *Observer) RecordStart(in api.RunInput) {
	if o != nil && o.input == nil {
		o.input = &in
	}
}

// Input returns the input of the run; the zero value if it has decided nothing yet.
func (o *Observer) Input() api.RunInput {
	if o.input == nil {
		return api.RunInput{}
	}
	return *o.input
}

// RecordPoint takes the state of the run before a model step. A repeated step replaces the first
// one.
func (o *Observer) RecordPoint(p Point) {
	if o != nil {
		o.points[p.Turn], o.left = p, p.Recorded
	}
}

// RecordAnswer takes the answer of the model step of a turn.
func (o *Observer) RecordAnswer(turn int, m api.Message) {
	if o != nil {
		o.answers[turn] = m
	}
}

// Began takes a call that the run executes.
func (o *Observer) Began(c api.Call, tool api.Tool, arguments json.RawMessage) {
	if o == nil {
		return
	}
	e := &executed{call: c, tool: tool, arguments: arguments}
	o.byID[c.ID], o.executed = e, append(o.executed, e)
}

// TakeOver takes a call that the run did not execute, because its own source had made it.
func (o *Observer) TakeOver(c api.Call, tool api.Tool, r forks.RecordedCall) {
	if o == nil {
		return
	}
	o.Began(c, tool, nil)
	o.byID[c.ID].taken = &r
	o.left = slices.DeleteFunc(slices.Clone(o.left), func(left forks.RecordedCall) bool {
		return left.Source == r.Source
	})
}

// RecordOutcome takes the outcome of a call and the labels of the run after it.
func (o *Observer) RecordOutcome(c api.Call, out api.CallOutcome, labels []string) {
	if o == nil {
		return
	}
	o.outcomes[out.ID] = outcome{out, out.Message(), labels}
	if target := o.byID[c.TargetCallID]; c.Purpose == api.PurposeUndo && out.Error == nil &&
		target != nil {
		target.undone = true
	}
}

// Told takes the outcomes of a turn's calls, and the messages of the conversation about them.
func (o *Observer) Told(outcomes []api.CallOutcome, messages []api.Message, labels []string) {
	if o == nil {
		return
	}
	for _, out := range outcomes {
		if out.Result != nil || out.Error != nil {
			o.outcomes[out.ID] = outcome{out, out.Message(), labels}
		}
	}
	for _, m := range messages {
		if known, ok := o.outcomes[m.CallID]; ok {
			known.message = m
			o.outcomes[m.CallID] = known
		}
	}
}

type observerKey struct{}

// With returns a context whose run tells the Observer what it does.
func With(ctx workflow.Context, o *Observer) workflow.Context {
	return workflow.WithValue(ctx, observerKey{}, o)
}

// contextObserver returns the Observer of a context; nil for none.
func contextObserver(ctx workflow.Context) *Observer {
	o, _ := ctx.Value(observerKey{}).(*Observer)
	return o
}
