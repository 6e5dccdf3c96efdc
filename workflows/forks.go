package workflows

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/codec"
	"github.com/switchyard/switchyard/workflows/fork"
	"go.temporal.io/sdk/workflow"
)

// forks is what a forked run takes over of its source: its conversation, its state, and the
// outcomes of calls that it does not repeat. It also shows the run to the observer of a replay, by
// which starter makes forks of it.
type forks struct {
	bystander
	run *agentRun
	// calls are those of the source that are not executed again.
	calls    fork.Calls
	observer *fork.Observer
	// taken is what a forked run takes over until it has started, pending its calls that it makes
	// first.
	taken   *codec.ForkState
	pending []api.Call
	// unused are calls of the turn that did not get the outcome that the source has for them.
	unused []*callRun
}

func newForks(ctx workflow.Context, r *agentRun) *forks {
	return &forks{run: r, observer: fork.ObserverOf(ctx)}
}

// forkWithin bounds the time in which a forked run gets the next part of what it takes over.
const forkWithin = time.Minute

// open receives what a forked run takes over, sets the state that is known before the tools are
// pinned, and returns the conversation.
func (f *forks) open(ctx workflow.Context, first []byte) ([]api.Message, bool, error) {
	r := f.run
	if r.in.Fork == nil || r.in.State != nil {
		return nil, false, nil
	}
	refused := func(message string) error {
		return invalid([]api.Problem{{Path: "$.fork", Rule: ruleConversation, Message: message}})
	}
	parts := make([][]byte, max(r.in.Fork.Parts, 1))
	parts[0] = first
	channel := workflow.GetSignalChannel(ctx, api.ForkSignal)
	for missing := len(parts) - 1; missing > 0; {
		var p codec.ForkPart
		if ok, _ := channel.ReceiveWithTimeout(ctx, forkWithin, &p); !ok {
			return nil, true, cmp.Or(ctx.Err(), refused(fmt.Sprintf("%d of %d parts did not arrive "+
				"within %s: whoever forked the run was interrupted; fork it again", missing,
				len(parts), forkWithin)))
		}
		if p.Index > 0 && p.Index < len(parts) && parts[p.Index] == nil {
			parts[p.Index] = p.Data
			missing--
		}
	}
	taken, err := codec.DecodeFork(parts)
	if err != nil {
		return nil, true, refused(err.Error())
	}
	f.taken, f.pending = &taken, r.in.Fork.Pending
	r.turn, r.before, r.loaded = r.in.Fork.Turn, r.in.Fork.Before, taken.Labels
	return taken.Messages, true, nil
}

// start sets the state that a forked run takes over besides its conversation.
func (f *forks) start(ctx workflow.Context) {
	if f.taken == nil {
		return
	}
	p := f.run.pipeline
	p.runFacts.TakeOver(f.taken.Calls, f.taken.DescendantCalls)
	f.calls.Recorded = f.taken.Recorded
	known := slices.DeleteFunc(f.taken.Instances, func(i api.InstanceState) bool {
		return p.tools.Of(i.Tool).Name == ""
	})
	p.instances.takeOver(ctx, known)
	f.taken = nil
}

func (f *forks) restore(_ workflow.Context, before *api.ContinueState) {
	f.calls.Resume(before.Recorded)
}

func (f *forks) save(_ workflow.Context, next *api.ContinueState) {
	next.Recorded = f.calls.Continued()
}

// firstCalls returns the calls with which a forked run starts.
func (f *forks) firstCalls() []api.Call {
	calls := f.pending
	f.pending = nil
	return calls
}

// take returns the equal call that the source made after the point of the fork.
func (f *forks) take(c api.Call, v api.AdmissionDecision) *api.RecordedCall {
	return f.calls.Take(c, f.run.pipeline.tools.Of(c.Tool), validated(c, v))
}

// begin tells the observer that the call is executed.
func (f *forks) begin(c *callRun) {
	if len(c.parts) == 0 {
		f.observer.Began(c.call, *c.tool, c.arguments())
	}
	for _, part := range c.parts {
		f.observer.Began(part.call, *c.tool, validated(part.call, part.decision))
	}
}

// end tells the observer how the call ended. Parts of a batched call end with their turn.
func (f *forks) end(_ workflow.Context, c *callRun, out api.CallOutcome) {
	if c.recorded != nil && !c.taken {
		f.unused = append(f.unused, c)
	}
	if c.taken {
		f.observer.Took(c.call, *c.tool, *c.recorded)
	}
	if len(c.parts) == 0 && (c.call.Purpose != api.PurposeUndo || c.isExecuted()) {
		f.observer.Ended(c.call, out, f.run.pipeline.runFacts.Labels)
	}
}

// finish gives back, in their order, the recorded calls whose outcomes no call of the turn got.
func (f *forks) finish(workflow.Context) error {
	slices.SortFunc(f.unused, func(a, b *callRun) int { return b.place - a.place })
	for _, c := range f.unused {
		f.calls.Return(*c.recorded)
	}
	f.unused = nil
	return nil
}

// step tells the observer the state of the run before a model step. A run that reached a limit can
// be forked at the turn that it could not take.
func (f *forks) step(ctx workflow.Context, limit string) {
	if f.observer == nil {
		return
	}
	r, turn := f.run, f.run.turn
	if limit != "" {
		turn++
	}
	facts := &r.pipeline.runFacts
	f.observer.Reached(fork.Point{Turn: turn, Before: r.before,
		Messages: slices.Clip(r.conversation.Messages), Labels: facts.Labels,
		Calls: facts.Past(""), DescendantCalls: facts.ContinueDescendants(),
		Instances: r.pipeline.instances.observe(ctx), Recorded: f.calls.Recorded})
}

func (f *forks) answer(m api.Message) { f.observer.Asked(f.run.turn, m) }

func (f *forks) tell(outcomes []api.CallOutcome, messages []api.Message) {
	f.observer.Told(outcomes, messages, f.run.labels())
}

// observe returns the instances of the run for the observer of a replay. It changes nothing, so
// that the replay makes the recorded decisions.
func (s *instances) observe(ctx workflow.Context) []fork.Instance {
	list := make([]fork.Instance, len(s.list))
	for n, i := range s.list {
		state := api.InstanceState{Instance: i.tool.Instance, Tool: i.tool.Name, Last: i.last,
			Vanished: i.vanished, Lost: i.gone}
		live := i.hostInstance != nil || i.member != nil
		if i.hostInstance != nil && i.member == nil && i.hostInstance.IsReady() {
			live = i.hostInstance.Get(ctx, &state.Last) != nil
		}
		list[n] = fork.Instance{Name: i.tool.InstanceName(), State: state,
			Live: live || len(i.before) > 0}
	}
	return list
}
