package workflows

import (
	"cmp"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/workflow"
)

// follower is a feature of a run. It follows the run's calls, and saves what it knows for the next
// execution. Its methods are deterministic. A feature is one line of newPipeline, or of
// newAgentRun, and embeds bystander for the methods that it does not need.
type follower interface {
	// admit takes the decisions of admission on calls, in their order.
	admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time)
	// readmit takes the decision on a call whose arguments a person changes.
	readmit(v api.AdmissionDecision)
	// approve takes a call whose approval is over, with its arguments after an edit, and the labels
	// that the approval clears; none for a call that was not approved.
	approve(c *callRun, clears []api.Clearing)
	// begin takes a call whose first attempt starts.
	begin(c *callRun)
	// take returns the outcome that the feature has for a call of the model, which is then not
	// executed; nil for none. It is asked before the call is batched, edited or approved.
	take(c api.Call, v api.AdmissionDecision) *api.RecordedCall
	// adopt takes the result of the run below a call.
	adopt(c *callRun, below *api.RunResult)
	// requeue takes a call whose attempt did not start, and which is to be scheduled again.
	requeue(c *callRun)
	// end takes the outcome of a call. It may not have begun: it was rejected, denied or answered
	// without its tool.
	end(ctx workflow.Context, c *callRun, out api.CallOutcome)
	// finish waits, after the last call of a turn, for what the feature still has under way.
	finish(ctx workflow.Context) error
	// save adds what the next execution needs to its state, restore takes that in it.
	save(ctx workflow.Context, next *api.ContinueState)
	restore(ctx workflow.Context, before *api.ContinueState)
}

// bystander is a follower that does nothing.
type bystander struct{}

func (bystander) admit([]api.Call, []api.AdmissionDecision, time.Time)   {}
func (bystander) readmit(api.AdmissionDecision)                          {}
func (bystander) approve(*callRun, []api.Clearing)                       {}
func (bystander) begin(*callRun)                                         {}
func (bystander) take(api.Call, api.AdmissionDecision) *api.RecordedCall { return nil }
func (bystander) adopt(*callRun, *api.RunResult)                         {}
func (bystander) requeue(*callRun)                                       {}
func (bystander) end(workflow.Context, *callRun, api.CallOutcome)        {}
func (bystander) finish(workflow.Context) error                          { return nil }
func (bystander) save(workflow.Context, *api.ContinueState)              {}
func (bystander) restore(workflow.Context, *api.ContinueState)           {}

// turnFollower is a follower that also follows the turns of an agent's run. It has the
// methods of bystander for those of a follower that it does not need.
type turnFollower interface {
	follower
	// open returns the messages before the prompt, if the feature has them; first is the second
	// input of the run. The error says why the run cannot start.
	open(ctx workflow.Context, first []byte) (messages []api.Message, opened bool, err error)
	// start takes the beginning of the run, whose tools are pinned.
	start(ctx workflow.Context)
	// firstCalls returns calls that the run makes in place of the model step of its next turn.
	firstCalls() []api.Call
	// step takes that a model step is about to be made; limit is the limit that the run has
	// reached, or "".
	step(ctx workflow.Context, limit string)
	// answer takes the answer of the model step of a turn.
	answer(m api.Message)
	// tell takes the outcomes of a turn's calls, and the messages about them.
	tell(outcomes []api.CallOutcome, messages []api.Message)
}

// followers are the features of a run, in the order in which they take part.
type followers []follower

func (all followers) admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time) {
	for _, f := range all {
		f.admit(calls, decisions, at)
	}
}

func (all followers) readmit(v api.AdmissionDecision) {
	for _, f := range all {
		f.readmit(v)
	}
}

func (all followers) approve(c *callRun, clears []api.Clearing) {
	for _, f := range all {
		f.approve(c, clears)
	}
}

func (all followers) begin(c *callRun) {
	for _, f := range all {
		f.begin(c)
	}
}

func (all followers) take(c api.Call, v api.AdmissionDecision) *api.RecordedCall {
	for _, f := range all {
		if r := f.take(c, v); r != nil {
			return r
		}
	}
	return nil
}

func (all followers) adopt(c *callRun, below *api.RunResult) {
	for _, f := range all {
		f.adopt(c, below)
	}
}

func (all followers) requeue(c *callRun) {
	for _, f := range all {
		f.requeue(c)
	}
}

func (all followers) end(ctx workflow.Context, c *callRun, out api.CallOutcome) {
	for _, f := range all {
		f.end(ctx, c, out)
	}
}

// finish waits for all features and returns the first error.
func (all followers) finish(ctx workflow.Context) (err error) {
	for _, f := range all {
		err = cmp.Or(err, f.finish(ctx))
	}
	return err
}

func (all followers) save(ctx workflow.Context, next *api.ContinueState) {
	for _, f := range all {
		f.save(ctx, next)
	}
}

func (all followers) restore(ctx workflow.Context, before *api.ContinueState) {
	for _, f := range all {
		f.restore(ctx, before)
	}
}

// factsFollower keeps what the run has seen and done, for policies.
type factsFollower struct {
	bystander
	p *pipeline
}

func (f factsFollower) admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time) {
	f.p.runFacts.Admitted(calls, decisions, f.p.turn, at)
}

func (f factsFollower) approve(c *callRun, clears []api.Clearing) {
	f.p.runFacts.Changed(c.call.ID, c.arguments())
	f.p.runFacts.Clear(c.call.ID, clears)
}

func (f factsFollower) begin(c *callRun) { f.p.runFacts.Begin(c.call.ID, partIDs(c)) }

func (f factsFollower) end(_ workflow.Context, c *callRun, out api.CallOutcome) {
	facts := &f.p.runFacts
	switch {
	case !c.refused:
		facts.Ended(out, f.p.tools.Of(c.call.Tool))
	case len(c.parts) == 0:
		facts.Refused(c.call)
	}
	for _, part := range c.parts {
		if c.refused {
			facts.Refused(part.call)
		}
	}
}

func (f factsFollower) adopt(c *callRun, below *api.RunResult) {
	f.p.runFacts.Adopt(below.CallStats)
	f.p.runFacts.LabelCall(c.call.ID, below.Labels)
}

func (f factsFollower) save(_ workflow.Context, next *api.ContinueState) {
	facts := &f.p.runFacts
	next.Labels, next.Calls = facts.Labels, facts.EndedCalls()
	next.DescendantCalls, next.Earlier = facts.ContinueDescendants(), facts.Log.Continued()
}

// sizesFollower reserves what running calls may add to the history and to the workflow task.
type sizesFollower struct {
	bystander
	p *pipeline
}

func (f sizesFollower) begin(c *callRun) {
	f.p.sizes.History.Enter(c.call.ID, c.historyNeed())
}

func (f sizesFollower) end(ctx workflow.Context, c *callRun, out api.CallOutcome) {
	size := 0
	if out.Result != nil {
		size = jsonvalue.PayloadSize(out.Result.Output)
	}
	f.p.sizes.History.Leave(c.call.ID)
	f.p.sizes.Task.Leave(ctx, c.call.ID, size)
}
