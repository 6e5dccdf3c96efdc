package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// Servers end a run whose history has 51,200 events or 50 MiB. Calls are begun up to these bounds, with all that those which run
// may add; what is left is for the next model step, for people, and for the undoing, which has some more.
const (
	maxEvents     = 48_000
	maxBytes      = 44 << 20
	moreToUndo    = 2_000
	moreToUndoMiB = 3 << 20
)

// What a call adds to history at most: so many events, and besides its arguments and its result so many bytes. A sub-agent's answer
// comes with what undoes its calls.
const (
	eventsOfCall     = 9
	bytesOfCall      = 4 << 10
	bytesOfAgent     = 256 << 10
	defaultMaxResult = 32 << 10
)

// room keeps count of what the calls that run may add to the run's history.
type historyBudget struct {
	hosted map[string]int
	bytes  int
	// results are the most bytes of a result, by the digest of the tool.
	results map[string]int
	// undoing is set where the run undoes what it has done.
	undoing bool
}

func (r *historyBudget) enter(id string, bytes int) {
	if r.hosted == nil {
		r.hosted = map[string]int{}
	}
	r.bytes += bytes - r.hosted[id]
	r.hosted[id] = bytes
}

func (r *historyBudget) leave(id string) {
	r.bytes -= r.hosted[id]
	delete(r.hosted, id)
}

// need is how many bytes a call may add to the history.
func (r *historyBudget) need(t api.Tool, c api.Call, v api.AdmissionDecision) int {
	bytes := bytesOfCall + len(validated(c, v)) + api.ResultBytes(r.maxResult(t))
	if t.Kind == api.KindAgent {
		bytes += bytesOfAgent + len(t.Spec) + len(v.Prompt)
	}
	return bytes
}

// maxResult reads the bound of a tool's results out of its pinned toolspec.
func (r *historyBudget) maxResult(t api.Tool) int {
	if known, ok := r.results[t.Digest]; ok {
		return known
	}
	var spec struct {
		Execution struct {
			MaxResult int `json:"max_result"`
		} `json:"execution"`
	}
	most := defaultMaxResult
	if json.Unmarshal(t.Spec, &spec) == nil && spec.Execution.MaxResult > 0 {
		most = spec.Execution.MaxResult
	}
	if r.results == nil {
		r.results = map[string]int{}
	}
	r.results[t.Digest] = most
	return most
}

// written is how long the history is, and with it what the workflow task has to record of what ran inline.
func (p *pipeline) written(ctx workflow.Context) (events, bytes int) {
	info := workflow.GetInfo(ctx)
	events, bytes = info.GetCurrentHistoryLength(), info.GetCurrentHistorySize()
	if p.inline.on {
		p.inline.look(ctx)
		events += p.inline.recorded / markerOverhead
		bytes += p.inline.recorded
	}
	return events, bytes
}

// fitting returns how many of the calls, from the first on, may begin beside those that run, so that
// the history does not reach the size at which the server ends the run.
func (p *pipeline) fitting(ctx workflow.Context, calls []*callRun) int {
	events, bytes := p.written(ctx)
	mostEvents, mostBytes := maxEvents, maxBytes
	if p.historyBudget.undoing {
		mostEvents, mostBytes = maxEvents+moreToUndo, maxBytes+moreToUndoMiB
	}
	events, bytes = events+len(p.historyBudget.hosted)*eventsOfCall, bytes+p.historyBudget.bytes
	for fit, c := range calls {
		events, bytes = events+eventsOfCall, bytes+c.historyNeed()
		if events > mostEvents || bytes > mostBytes {
			return fit
		}
	}
	return len(calls)
}

// noHistoryLeft has admission refuse calls because the run's history is too long for them, and gives
// them those decisions. Each part of a batched call has a decision of its own in history. Approvals
// of the calls are withdrawn.
func (p *pipeline) noHistoryLeft(ctx workflow.Context, calls []*callRun) error {
	why := p.fullness(ctx)
	byCall := map[string]api.AdmissionDecision{}
	for rest := unbatched(calls); len(rest) > 0; {
		n := portion(rest)
		request := api.AdmissionRequest{Run: p.origin.Run, Base: p.queue, Calls: rest[:n], Full: why}
		var part []api.AdmissionDecision
		options := saying(withAdmitOptions(ctx, nil), "no history left for "+named(request.Calls))
		if err := workflow.ExecuteLocalActivity(options, api.AdmitActivity, request).Get(ctx, &part); err != nil {
			return err
		}
		for _, v := range part {
			byCall[v.ID] = v
		}
		rest = rest[n:]
	}
	for _, c := range calls {
		c.decision = byCall[c.call.ID]
		p.control.approvals.withdraw(ctx, c.call.ID, "the run's history has no room for the call")
	}
	return nil
}

// unbatched returns calls as their caller made them: the parts of batched ones.
func unbatched(calls []*callRun) (all []api.Call) {
	for _, c := range calls {
		if len(c.parts) == 0 {
			all = append(all, c.call)
		}
		for _, part := range c.parts {
			all = append(all, part.call)
		}
	}
	return all
}

// fullness says why there is no room, and what to do.
func (p *pipeline) fullness(ctx workflow.Context) string {
	events, bytes := p.written(ctx)
	what := "Split the plan, or have its tools answer with less"
	if p.origin.Caller.Type == api.CallerAgent {
		what = "Call it again in the next turn, where there is room anew, with fewer calls at a time, or ask for less"
	}
	return fmt.Sprintf("the run's history has no room for this call: with those before it, it has %d events and %.1f MiB, and a server ends a run at 51200 or 50. %s",
		events, float64(bytes)/(1<<20), what)
}
