package workflows

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
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
