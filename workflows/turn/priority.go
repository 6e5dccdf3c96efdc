package turn

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Priority orders the calls and model steps of a run among those of other runs that wait for the
// same workers (requirement S4).
type Priority struct {
	// own is that of the workflow. The server passes it on to activities and sub-agents, field by
	// field, if they have none.
	own temporal.Priority
	// Run is the run's priority; empty leaves calls to their tools.
	Run api.Priority
	// Conversation and caller are fairness keys: a whole tree of runs has one conversation.
	Conversation, caller string
}

// shortRun is how much of a run's id is the fairness key of a run without a conversation.
const shortRun = 8

func NewPriority(ctx workflow.Context, in *api.RunInput, origin api.Origin) Priority {
	own := workflow.GetInfo(ctx).Priority
	r := Priority{own: own, Run: lanerules.RunPriority(in.Priority, own.PriorityKey),
		caller: lanerules.FairnessKey(string(origin.Caller.Type) + "/" + origin.Caller.ID)}
	switch {
	case in.Parent != nil:
		r.Conversation = in.Parent.Fairness
	case in.Session != nil: // all sessions of a caller share
		r.Conversation = r.caller
	}
	r.Conversation = cmp.Or(r.Conversation, lanerules.FairnessKey(origin.Conversation),
		own.FairnessKey,
		origin.Run[:min(shortRun, len(origin.Run))])
	return r
}

// Call returns the priority of the activity of a call. On a keyed lane the server shares between
// keys, and the worker between the calls of a key.
func (r Priority) Call(c api.Call, t api.Tool, route api.Route) temporal.Priority {
	priority, fairness := lanerules.CallPriority(c, r.Run, t), r.Fairness(route)
	if route.FIFO {
		priority = api.PriorityNormal
	} else if route.Key != "" {
		fairness = lanerules.FairnessKey(route.Key)
	}
	if c.OfRun() { // such as compensations, which must not wait for what they compensate
		priority = api.PriorityUrgent
	}
	return r.beyond(priority, fairness)
}

// Fairness returns the fairness key of calls on a route.
func (r Priority) Fairness(route api.Route) string {
	switch {
	case route.FIFO || route.Fairness == api.FairnessNone:
		return api.FairnessAll
	case route.Fairness == api.FairnessCaller:
		return r.caller
	}
	return r.Conversation
}

// Step returns the priority of a model step.
func (r Priority) Step(route api.Route) temporal.Priority {
	return r.Call(api.Call{}, api.Tool{}, route)
}

// beyond returns what differs from what the workflow's own priority gives anyway.
func (r Priority) beyond(priority api.Priority, fairness string) temporal.Priority {
	var more temporal.Priority
	if level := lanerules.PriorityLevel(priority); level != cmp.Or(r.own.PriorityKey,
		lanerules.PriorityLevel(api.PriorityNormal)) {
		more.PriorityKey = level
	}
	if fairness != r.own.FairnessKey {
		more.FairnessKey = fairness
	}
	return more
}
