package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
)

// maxRepeats bounds the failing calls that a run remembers, and the calls that changed something.
const maxRepeats = 100

// hints maps call IDs to texts that the model gets with the results.
type hints map[string]string

// noteRepeats counts the failures of a turn. Equal calls that fail in the same way while nothing
// changes, and turns in which every call is invalid, get a hint at the limit. The run ends after as
// many again.
func (r *agentRun) noteRepeats(calls []api.Call, outcomes []api.CallOutcome) hints {
	limit := cmp.Or(r.agent.Limits.Repeats, api.DefaultRepeats)
	succeeded := false
	for i, o := range outcomes {
		if o.Result != nil {
			succeeded = true
			r.noteSuccess(calls[i])
		}
	}
	told := hints{}
	if count, call := countRepeats(&r.repeats, calls, outcomes); succeeded {
		r.repeats.Refused, r.repeats.Told = 0, false
		for i := range r.repeats.Calls {
			r.repeats.Calls[i].Count = 0
		}
	} else {
		r.noteInARow(limit, count, call, told)
	}
	r.noteStuck(limit, calls, outcomes, told)
	r.pipeline.block(r.repeats)
	return told
}

// block makes admission reject the calls for which the model got a hint, until their failures are
// forgiven.
func (p *pipeline) block(known api.Repeats) {
	p.blocked = nil
	for _, c := range known.Calls {
		if c.Told {
			p.blocked = append(p.blocked, c)
		}
	}
}

// noteInARow handles failures without a success between them: count is the highest count, and call
// is the ID of a call that has it.
func (r *agentRun) noteInARow(limit, count int, call string, told hints) {
	switch {
	case r.repeats.Told && count >= 2*limit:
		r.stopped = budget.LimitRepeats
	case !r.repeats.Told && count >= limit:
		r.repeats.Told = true
		r.repeats.Refused = min(r.repeats.Refused, limit)
		for i := range r.repeats.Calls {
			// A count can pass the limit within one turn, before the model gets a hint.
			c := &r.repeats.Calls[i]
			c.Told = c.Told || c.Count >= limit
			c.Count = min(c.Count, limit)
			if c.Told {
				c.All = min(c.All, limit)
			}
		}
		told[call] = hint(count, limit)
	}
}

// noteStuck handles calls that fail repeatedly, whatever other calls do in between.
func (r *agentRun) noteStuck(limit int, calls []api.Call, outcomes []api.CallOutcome, told hints) {
	for i, o := range outcomes {
		c := findRepeat(&r.repeats, calls[i], o.Error)
		switch {
		case r.stopped != "" || c == nil || c.All < limit || c.Told && c.All < 2*limit:
		case c.Told:
			r.stopped = budget.LimitRepeats
		default:
			told[o.ID] = hint(c.All, limit)
			c.Told, c.All = true, limit
		}
	}
}

// findRepeat returns the record of a call that failed now. It returns nil where the failure does
// not
// count or the budget caused it.
func findRepeat(known *api.Repeats, c api.Call, e *api.Error) *api.Repeat {
	if !countedAgainst(e) || e.Type == api.ErrBudgetExceeded {
		return nil
	}
	if i := repeatAt(*known, c, e); i >= 0 {
		return &known.Calls[i]
	}
	return nil
}

// repeatAt returns the index at which the failure of a call is counted, or -1 for a new one. A
// rejection for repeated failure counts as that failure again.
func repeatAt(known api.Repeats, c api.Call, e *api.Error) int {
	key, refused := repeatKey(c, e), ""
	if e.Type == api.ErrPolicyViolation {
		refused = api.CallDigest(c.Tool, c.Arguments)
	}
	return slices.IndexFunc(known.Calls, func(k api.Repeat) bool {
		return k.Key == key || k.Told &&
			k.Call == refused
	})
}

func hint(count, limit int) string {
	return fmt.Sprintf("\n[hint: this has now failed %d times in the same way. It is not made again like that: "+
		"change the arguments, use another tool, or answer with what is known. After %d more of the same the run ends.]",
		count, limit)
}

// noteSuccess forgives the failures of the same call, and all failures if the call changed
// something.
func (r *agentRun) noteSuccess(c api.Call) {
	known := &r.repeats
	if len(known.Calls) == 0 {
		return
	}
	digest := api.CallDigest(c.Tool, c.Arguments)
	if r.pipeline.tools.Of(c.Tool).Effect == api.EffectRead ||
		slices.Contains(known.Changed, digest) {
		known.Calls = slices.DeleteFunc(known.Calls,
			func(failed api.Repeat) bool { return failed.Call == digest })
		return
	}
	known.Changed = append(known.Changed, digest)
	known.Changed = known.Changed[max(len(known.Changed)-maxRepeats, 0):]
	known.Calls = nil
}

// countRepeats counts the failures of a turn. It returns the highest count since the last success
// and the ID of a call that has it.
func countRepeats(r *api.Repeats, calls []api.Call, outcomes []api.CallOutcome) (count int,
	call string) {
	refused := len(outcomes) > 0
	for i, o := range outcomes {
		if !countedAgainst(o.Error) {
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

func countRepeat(r *api.Repeats, c api.Call, e *api.Error) int {
	i := repeatAt(*r, c, e)
	if i < 0 {
		r.Calls = append(r.Calls, api.Repeat{Key: repeatKey(c, e), Call: api.CallDigest(c.Tool,
			c.Arguments)})
		i = len(r.Calls) - 1
	}
	r.Calls[i].Count++
	r.Calls[i].All++
	return r.Calls[i].Count
}

func repeatKey(c api.Call, e *api.Error) string {
	return api.Digest([]byte(fmt.Sprintf("%q %q %q", c.Tool, c.Arguments, e.Type)))
}

// countedAgainst reports whether a failure counts against the caller; nil does not. Only a failure
// that says something about the call does. After an outage or a busy lane, the equal call succeeds.
func countedAgainst(e *api.Error) bool {
	if e == nil || e.Retryable && e.BeforeStart() {
		return false
	}
	switch e.Type {
	case api.ErrCancelled, api.ErrQueueFull, api.ErrQueueTimeout:
		return false
	case api.ErrWorkerLost:
		return e.Gone() // no later call of the instance succeeds either
	}
	return true
}

// unmakable reports whether a call cannot be made at all: the tool does not exist or the arguments
// are invalid.
func unmakable(e *api.Error) bool {
	return e.Type == api.ErrToolNotFound || e.Type == api.ErrToolNotActive ||
		e.Type == api.ErrValidation ||
		e.Type == api.ErrInvalidExecutionPlan
}

// continuedRepeats returns what continue-as-new carries of the failures.
func (r *agentRun) continuedRepeats() *api.Repeats {
	if len(r.repeats.Calls) == 0 && r.repeats.Refused == 0 {
		return nil
	}
	repeats := r.repeats
	return &repeats
}
