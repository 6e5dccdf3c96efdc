// Package run is the part of forks in a run: it takes over what the run has of its source, and
// shows the run to the Observer of a replay, by which package cmd makes forks of it.
package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/workflow"
)

// follower is what a forked run takes over of its source: its conversation, its state, and the
// outcomes of calls that it does not repeat.
type follower struct {
	workflows.Bystander
	run workflows.AgentRun
	// calls are those of the source that are not executed again.
	calls    Calls
	observer *Observer
	// state is what a forked run takes over until it has started.
	state *forks.State
	// matches are the recorded calls whose outcomes calls of the turn are to get, in their order.
	matches []match
}

// match is a recorded call, and the ID of the call that equals it.
type match struct {
	id       string
	recorded forks.RecordedCall
}

// New returns the follower that forks are of a run. It is a workflows.Feature.
func New(ctx workflow.Context, r workflows.AgentRun) workflows.TurnFollower {
	f := &follower{run: r, observer: contextObserver(ctx)}
	f.observer.RecordStart(*r.Input())
	return f
}

// forkWithin bounds the time in which a forked run gets the next part of what it takes over.
const forkWithin = time.Minute

// Open receives what a forked run takes over, and returns the conversation with its labels.
func (f *follower) Open(ctx workflow.Context, first []byte) (*workflows.Opening, error) {
	in := f.run.Input()
	source, err := forks.Source(in.Features)
	switch {
	case err != nil:
		return nil, refuse(err.Error())
	case source == nil || in.State != nil:
		return nil, nil
	}
	parts, err := receive(ctx, first, source.Parts)
	if err != nil {
		return nil, err
	}
	state, err := forks.Decode(parts)
	if err != nil {
		return nil, refuse(err.Error())
	}
	f.state = &state
	return &workflows.Opening{Messages: state.Messages, Labels: state.Labels}, nil
}

// refuse returns the failure of a forked run that cannot start.
func refuse(message string) error {
	return workflows.Invalid([]api.Problem{{Path: "$.features." + forks.InputKey,
		Rule: api.RuleConversation, Message: message}})
}

// receive returns the parts of which the run has the first one. They may arrive in any order and
// twice.
func receive(ctx workflow.Context, first []byte, count int) ([][]byte, error) {
	parts := make([][]byte, max(count, 1))
	parts[0] = first
	channel := workflow.GetSignalChannel(ctx, forks.Signal)
	for missing := len(parts) - 1; missing > 0; {
		var p forks.Part
		if ok, _ := channel.ReceiveWithTimeout(ctx, forkWithin, &p); !ok {
			return nil, cmp.Or(ctx.Err(), refuse(fmt.Sprintf("%d of %d parts did not arrive "+
				"within %s: whoever forked the run was interrupted; fork it again", missing,
				len(parts), forkWithin)))
		}
		if p.Index > 0 && p.Index < len(parts) && parts[p.Index] == nil {
			parts[p.Index] = p.Data
			missing--
		}
	}
	return parts, nil
}

// Start sets the state that a forked run takes over besides its conversation.
func (f *follower) Start(ctx workflow.Context) {
	if f.state == nil {
		return
	}
	s := f.state
	f.run.TakeOver(ctx, workflows.Past{Own: s.Calls, Below: s.DescendantCalls,
		Instances: s.Instances})
	f.calls.Recorded, f.state = s.Recorded, nil
}

// Restore and Save carry the recorded calls that the run has not asked for yet. They panic if these
// cannot be read or written, so that the workflow task fails, as the SDK does for a whole input.
func (f *follower) Restore(_ workflow.Context, before *api.ContinueState) {
	data := before.Features[forks.StateKey]
	if data == nil {
		return
	}
	var recorded api.Packed[[]forks.RecordedCall]
	if err := json.Unmarshal(data, &recorded); err != nil {
		panic(err)
	}
	f.calls.Recorded = recorded.Value
}

func (f *follower) Save(_ workflow.Context, next *api.ContinueState) {
	if len(f.calls.Recorded) == 0 {
		return
	}
	data, err := json.Marshal(api.Pack(f.calls.Recorded))
	if err != nil {
		panic(err)
	}
	if next.Features == nil {
		next.Features = api.Features{}
	}
	next.Features[forks.StateKey] = data
}

// Take returns the outcome of the equal call that the source made after the point of the fork.
func (f *follower) Take(c api.Call, arguments json.RawMessage) *workflows.KnownOutcome {
	r := f.calls.Take(c, f.run.Tool(c.Tool), arguments)
	if r == nil {
		return nil
	}
	f.matches = append(f.matches, match{c.ID, *r})
	return &workflows.KnownOutcome{Source: r.Source, Output: r.Output, Error: r.Error}
}

// Begin tells the observer that the call is executed.
func (f *follower) Begin(c *workflows.Call) {
	for _, part := range c.Parts() {
		f.observer.Began(part.Request, c.Tool(), part.Arguments)
	}
}

// End tells the observer how the call ended. Parts of a batched call end with their turn.
func (f *follower) End(_ workflow.Context, c *workflows.Call, out api.CallOutcome) {
	call := c.Request()
	i := slices.IndexFunc(f.matches, func(m match) bool { return m.id == call.ID })
	if i >= 0 && c.IsKnown() {
		f.observer.TakeOver(call, c.Tool(), f.matches[i].recorded)
		f.matches = slices.Delete(f.matches, i, i+1)
	}
	if !c.IsBatched() && (call.Purpose != api.PurposeUndo || c.IsExecuted()) {
		f.observer.RecordOutcome(call, out, f.run.Labels())
	}
}

// Finish gives back, in their order, the recorded calls whose outcomes no call of the turn got.
func (f *follower) Finish(workflow.Context) error {
	for _, m := range slices.Backward(f.matches) {
		f.calls.Return(m.recorded)
	}
	f.matches = nil
	return nil
}

// Step tells the observer the state of the run before a model step. A run that reached a limit can
// be forked at the turn that it could not take.
func (f *follower) Step(ctx workflow.Context, limit string) {
	if f.observer == nil {
		return
	}
	turn := f.run.Turn()
	if limit != "" {
		turn++
	}
	own, below := f.run.Calls()
	f.observer.RecordPoint(Point{Turn: turn, Before: f.run.Before(), Messages: f.run.Messages(),
		Labels: f.run.Labels(), Calls: own, DescendantCalls: below,
		Instances: f.run.Instances(ctx), Recorded: f.calls.Recorded})
}

func (f *follower) Answer(m api.Message) { f.observer.RecordAnswer(f.run.Turn(), m) }

func (f *follower) Tell(outcomes []api.CallOutcome, messages []api.Message) {
	f.observer.Told(outcomes, messages, f.run.Labels())
}
