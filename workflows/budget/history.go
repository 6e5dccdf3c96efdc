package budget

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/smallmap"
)

// Servers end a run whose history has 51,200 events or 50 MiB. Calls are begun up to these bounds,
// with all that those which run may add; what is left is for the next model step, for people, and
// for the undoing, which has some more.
const (
	maxEvents     = 48_000
	maxBytes      = 44 << 20
	moreToUndo    = 2_000
	moreToUndoMiB = 3 << 20
)

// What a call adds to history at most: so many events, and besides its arguments and its result so
// many bytes. A sub-agent's answer comes with what undoes its calls.
const (
	eventsOfCall = 9
	// eventsOfVerify are those of asking twice whether a call took effect: two admissions, two
	// calls, a timer, the end of the call, and the workflow tasks of each.
	eventsOfVerify = 36
	// eventsOfEntry is the marker of the journal which says that a call is made again.
	eventsOfEntry    = 1
	bytesOfCall      = 4 << 10
	bytesOfAgent     = 256 << 10
	defaultMaxResult = 32 << 10
)

// History counts what the running calls may add to the history of the run.
type History struct {
	running smallmap.Map[int]
	bytes   int
	// results are the most bytes of a result, by the digest of the tool.
	results smallmap.Map[int]
	// Undoing is set where the run undoes what it has done.
	Undoing bool
}

func (r *History) Enter(id string, bytes int) {
	r.bytes += bytes - r.running.Get(id)
	r.running.Set(id, bytes)
}

func (r *History) Leave(id string) {
	r.bytes -= r.running.Get(id)
	r.running.Delete(id)
}

// Need returns how many bytes a call with an input of that size may add to the history.
func (r *History) Need(t api.Tool, input int) int {
	bytes := bytesOfCall + input + r.MaxResult(t)
	if t.Dispatch == api.DispatchChildWorkflow {
		bytes += bytesOfAgent
	}
	return bytes
}

// MaxResult returns how many bytes of history a result of a tool takes at most, by the bound in its
// pinned toolspec.
func (r *History) MaxResult(t api.Tool) int {
	if known, ok := r.results.Find(t.Digest); ok {
		return known
	}
	var spec struct {
		Execution struct {
			MaxResult int `json:"max_result"`
		} `json:"execution"`
	}
	most := api.ResultBytes(defaultMaxResult)
	if json.Unmarshal(t.Spec, &spec) == nil && spec.Execution.MaxResult > 0 {
		most = api.ResultBytes(spec.Execution.MaxResult)
	}
	if t.Lane == api.LaneInline {
		most = min(most, api.MaxInlineRecord)
	}
	r.results.Set(t.Digest, most)
	return most
}

// FitAgain reports whether a running call may be made once more in a history of that size: what it
// has added so far is part of that size, and it may add as much again. verify is set if its outcome
// is determined first.
func (r *History) FitAgain(events, bytes int, verify bool) bool {
	mostEvents, mostBytes := r.most()
	events += r.running.Len()*eventsOfCall + eventsOfEntry
	if verify {
		events += eventsOfVerify
	}
	return events <= mostEvents && bytes+r.bytes <= mostBytes
}

// most returns the bounds of the history.
func (r *History) most() (events, bytes int) {
	if r.Undoing {
		return maxEvents + moreToUndo, maxBytes + moreToUndoMiB
	}
	return maxEvents, maxBytes
}

// Fit returns how many of n calls, from the first on, may begin beside those that run in a history
// of that size. need returns how many bytes call i may add.
func (r *History) Fit(events, bytes, n int, need func(i int) int) int {
	mostEvents, mostBytes := r.most()
	events, bytes = events+r.running.Len()*eventsOfCall, bytes+r.bytes
	for i := range n {
		events, bytes = events+eventsOfCall, bytes+need(i)
		if events > mostEvents || bytes > mostBytes {
			return i
		}
	}
	return n
}
