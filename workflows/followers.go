package workflows

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"go.temporal.io/sdk/workflow"
)

// followers are the features of a run, in the order in which they take part.
type followers []Follower

func (all followers) Admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time) {
	for _, f := range all {
		f.Admit(calls, decisions, at)
	}
}

func (all followers) Readmit(v api.AdmissionDecision) {
	for _, f := range all {
		f.Readmit(v)
	}
}

func (all followers) Approve(c *Call, clears []api.Clearing) {
	for _, f := range all {
		f.Approve(c, clears)
	}
}

func (all followers) Begin(c *Call) {
	for _, f := range all {
		f.Begin(c)
	}
}

func (all followers) Take(c api.Call, arguments json.RawMessage) *KnownOutcome {
	for _, f := range all {
		if known := f.Take(c, arguments); known != nil {
			return known
		}
	}
	return nil
}

func (all followers) Adopt(c *Call, below *api.RunResult) {
	for _, f := range all {
		f.Adopt(c, below)
	}
}

func (all followers) Requeue(c *Call) {
	for _, f := range all {
		f.Requeue(c)
	}
}

func (all followers) End(ctx workflow.Context, c *Call, out api.CallOutcome) {
	for _, f := range all {
		f.End(ctx, c, out)
	}
}

// Finish waits for all features and returns the first error.
func (all followers) Finish(ctx workflow.Context) (err error) {
	for _, f := range all {
		err = cmp.Or(err, f.Finish(ctx))
	}
	return err
}

func (all followers) Save(ctx workflow.Context, next *api.ContinueState) {
	for _, f := range all {
		f.Save(ctx, next)
	}
}

func (all followers) Restore(ctx workflow.Context, before *api.ContinueState) {
	for _, f := range all {
		f.Restore(ctx, before)
	}
}

// factsFollower keeps what the run has seen and done, for policies.
type factsFollower struct {
	Bystander
	p *pipeline
}

func (f factsFollower) Admit(calls []api.Call, decisions []api.AdmissionDecision, at time.Time) {
	f.p.runFacts.RecordAdmissions(calls, decisions, f.p.turn, at)
}

func (f factsFollower) Approve(c *Call, clears []api.Clearing) {
	f.p.runFacts.RecordChange(c.call.ID, c.Arguments())
	f.p.runFacts.Clear(c.call.ID, clears)
}

func (f factsFollower) Begin(c *Call) { f.p.runFacts.Begin(c.call.ID, partIDs(c)) }

func (f factsFollower) End(_ workflow.Context, c *Call, out api.CallOutcome) {
	facts := &f.p.runFacts
	switch {
	case !c.refused:
		facts.RecordOutcome(out, f.p.tools.Of(c.call.Tool))
	case len(c.parts) == 0:
		facts.RecordRefusal(c.call)
	}
	for _, part := range c.parts {
		if c.refused {
			facts.RecordRefusal(part.call)
		}
	}
}

func (f factsFollower) Adopt(c *Call, below *api.RunResult) {
	f.p.runFacts.Adopt(below.CallStats)
	f.p.runFacts.LabelCall(c.call.ID, below.Labels)
}

func (f factsFollower) Save(_ workflow.Context, next *api.ContinueState) {
	facts := &f.p.runFacts
	next.Labels, next.Calls = facts.Labels, facts.EndedCalls()
	next.DescendantCalls, next.Earlier = facts.ContinueDescendants(), facts.Log.ContinueCalls()
}

// sizesFollower reserves what running calls may add to the history and to the workflow task.
type sizesFollower struct {
	Bystander
	p *pipeline
}

func (f sizesFollower) Begin(c *Call) {
	f.p.sizes.History.Enter(c.call.ID, c.historyNeed())
}

func (f sizesFollower) End(ctx workflow.Context, c *Call, out api.CallOutcome) {
	size := 0
	if out.Result != nil {
		size = jsonvalue.PayloadSize(out.Result.Output)
	}
	f.p.sizes.History.Leave(c.call.ID)
	f.p.sizes.Task.Leave(ctx, c.call.ID, size)
}
