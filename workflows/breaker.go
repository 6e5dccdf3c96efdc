package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/workflow"
)

// breakerChange is the change by which runs that older versions began are told from those that a breaker ends.
const breakerChange = "breaker"

// maxRepeats bounds how many failing calls are kept in mind.
const maxRepeats = 100

// hints are texts that the model is told with results, by call.
type hints map[string]string

// noteRepeats counts what failed in a turn. Equal calls that fail in the same way, with no success between, and turns of
// nothing but calls that cannot be made, get a hint at the limit, and end the run at as many again.
func (r *agentRun) noteRepeats(ctx workflow.Context, calls []switchyard.Call, outcomes []switchyard.CallOutcome) hints {
	if slices.ContainsFunc(outcomes, func(o switchyard.CallOutcome) bool { return o.Result != nil }) {
		r.repeats = switchyard.Repeats{}
		return nil
	}
	limit := cmp.Or(r.agent.Limits.Repeats, switchyard.DefaultRepeats)
	count, call := countRepeats(&r.repeats, calls, outcomes)
	switch {
	case r.repeats.Told && count >= 2*limit:
		r.stopped = limitRepeats
	case !r.repeats.Told && count >= limit && workflow.GetVersion(ctx, breakerChange, workflow.DefaultVersion, 1) != workflow.DefaultVersion:
		r.repeats.Told = true
		r.repeats.Refused = min(r.repeats.Refused, limit)
		for i := range r.repeats.Calls {
			// What was called at once in great number could not have been told yet.
			r.repeats.Calls[i].Count = min(r.repeats.Calls[i].Count, limit)
		}
		return hints{call: fmt.Sprintf("\n[hint: this has now failed %d times in the same way. Do not call it like that again: "+
			"change the arguments, use another tool, or answer with what is known. After %d more of the same the run ends.]", count, limit)}
	}
	return nil
}

// countRepeats counts the failures of a turn without a success. It returns the highest count, and a call that it is true of.
func countRepeats(r *switchyard.Repeats, calls []switchyard.Call, outcomes []switchyard.CallOutcome) (count int, call string) {
	refused := len(outcomes) > 0
	for i, o := range outcomes {
		if o.Error == nil || o.Error.Type == switchyard.ErrCancelled {
			refused = false
			continue
		}
		refused = refused && unmakable(o.Error)
		if n := countRepeat(r, calls[i], o.Error); n > count {
			count, call = n, o.ID
		}
	}
	r.Calls = r.Calls[max(len(r.Calls)-maxRepeats, 0):]
	if !refused {
		r.Refused = 0
		return count, call
	}
	if r.Refused++; r.Refused > count {
		count, call = r.Refused, outcomes[len(outcomes)-1].ID
	}
	return count, call
}

func countRepeat(r *switchyard.Repeats, c switchyard.Call, e *switchyard.Error) int {
	key := switchyard.Digest([]byte(fmt.Sprintf("%q %q %q", c.Tool, c.Arguments, e.Type)))
	i := slices.IndexFunc(r.Calls, func(known switchyard.Repeat) bool { return known.Key == key })
	if i < 0 {
		r.Calls = append(r.Calls, switchyard.Repeat{Key: key})
		i = len(r.Calls) - 1
	}
	r.Calls[i].Count++
	return r.Calls[i].Count
}

// unmakable reports whether a call is one that cannot be made at all: there is no such tool, or the arguments are refused.
func unmakable(e *switchyard.Error) bool {
	return e.Type == switchyard.ErrToolNotFound || e.Type == switchyard.ErrToolNotActive || e.Type == switchyard.ErrValidation ||
		e.Type == switchyard.ErrInvalidExecutionPlan
}

// carriedRepeats is what continue-as-new carries of the failures.
func (r *agentRun) carriedRepeats() *switchyard.Repeats {
	if len(r.repeats.Calls) == 0 && r.repeats.Refused == 0 {
		return nil
	}
	repeats := r.repeats
	return &repeats
}
