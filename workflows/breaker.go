package workflows

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
)

// maxRepeats bounds how many failing calls are kept in mind, and how many that changed something.
const maxRepeats = 100

// hints are texts that the model is told with results, by call.
type hints map[string]string

// breaker notices that an agent's calls fail again and again.
type breaker struct{ *agentRun }

// noteRepeats counts what failed in a turn. Equal calls that fail in the same way while nothing
// changes, and turns of nothing but calls that cannot be made, get a hint at the limit, and end the
// run at as many again.
func (r breaker) noteRepeats(calls []api.Call, outcomes []api.CallOutcome) hints {
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
	r.pipeline.admitter.block(r.repeats)
	return told
}

// block has calls refused of which the model was told that they fail again and again, until that is
// forgiven.
func (p admitter) block(known api.Repeats) {
	p.blocked = nil
	for _, c := range known.Calls {
		if c.Told {
			p.blocked = append(p.blocked, c)
		}
	}
}

// noteInARow looks at failures without a success between: count is the highest, call one that it is
// true of.
func (r breaker) noteInARow(limit, count int, call string, told hints) {
	switch {
	case r.repeats.Told && count >= 2*limit:
		r.stopped = budget.LimitRepeats
	case !r.repeats.Told && count >= limit:
		r.repeats.Told = true
		r.repeats.Refused = min(r.repeats.Refused, limit)
		for i := range r.repeats.Calls {
			// What was called at once in great number could not have been told yet.
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

// noteStuck looks at calls that fail again and again, whatever others do between.
func (r breaker) noteStuck(limit int, calls []api.Call, outcomes []api.CallOutcome, told hints) {
	for i, o := range outcomes {
		c := repeatOf(&r.repeats, calls[i], o.Error)
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

// repeatOf returns what is known of a call that failed now; nil where that is not held against it,
// or the budget was in its way.
func repeatOf(known *api.Repeats, c api.Call, e *api.Error) *api.Repeat {
	if !countedAgainst(e) || e.Type == api.ErrBudgetExceeded {
		return nil
	}
	if i := repeatAt(*known, c, e); i >= 0 {
		return &known.Calls[i]
	}
	return nil
}

// repeatAt returns where the failure of a call is counted, -1 where it is the first of its kind. A
// refusal because a call has failed so often is that failure once more.
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

// noteSuccess forgives failures: those of the same call, and where it has changed something, all of
// them.
func (r breaker) noteSuccess(c api.Call) {
	known := &r.repeats
	if len(known.Calls) == 0 {
		return
	}
	digest := api.CallDigest(c.Tool, c.Arguments)
	if r.pipeline.tools[c.Tool].Effect == api.EffectRead || slices.Contains(known.Changed, digest) {
		known.Calls = slices.DeleteFunc(known.Calls,
			func(failed api.Repeat) bool { return failed.Call == digest })
		return
	}
	known.Changed = append(known.Changed, digest)
	known.Changed = known.Changed[max(len(known.Changed)-maxRepeats, 0):]
	known.Calls = nil
}

// countRepeats counts the failures of a turn. It returns the highest count since the last success,
// and a call that it is true of.
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

// heldAgainst reports whether a call's failure is the caller's to mend; nil is none.
func countedAgainst(e *api.Error) bool { return e != nil && e.Type != api.ErrCancelled }

// unmakable reports whether a call is one that cannot be made at all: there is no such tool, or the
// arguments are refused.
func unmakable(e *api.Error) bool {
	return e.Type == api.ErrToolNotFound || e.Type == api.ErrToolNotActive ||
		e.Type == api.ErrValidation ||
		e.Type == api.ErrInvalidExecutionPlan
}

// carriedRepeats is what continue-as-new carries of the failures.
func (r breaker) continuedRepeats() *api.Repeats {
	if len(r.repeats.Calls) == 0 && r.repeats.Refused == 0 {
		return nil
	}
	repeats := r.repeats
	return &repeats
}
