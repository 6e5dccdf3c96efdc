package admission

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/batches"
)

// maxMerged bounds the merged arguments of a batch, in bytes.
const maxMerged = 512 << 10

// batch decides which admitted calls of an agent's turn are merged into one: calls of one
// batching tool with otherwise equal arguments and the same route. Calls that need approval or have
// bounds in their execution plan are not batched. The order of conflicting calls does not change.
func (a *Admitter) batch(_ context.Context, all *turnAdmission) error {
	r, decisions := all.AdmissionRequest, all.decisions
	if r.Caller.Type != api.CallerAgent {
		return nil
	}
	var open []*batchOf
	for i, v := range decisions {
		if v.Error != nil || v.Result != nil {
			continue
		}
		tool, _ := findTool(r, r.Calls[i].Tool)
		mine := candidate(tool, r.Calls[i], v)
		if b := join(open, mine, tool, v.Route.Key); b != nil {
			decisions[b.first].Batch, decisions[i].Batch = decisions[b.first].ID,
				decisions[b.first].ID
		} else if mine != nil {
			mine.first = i
			open = append(open, mine)
		}
	}
	return nil
}

// join returns the batch that a call of the tool joins, nil for none. All other open batches record
// that the call passed.
func join(open []*batchOf, mine *batchOf, tool api.Tool, key string) (joined *batchOf) {
	for _, b := range open {
		if joined == nil && mine != nil && b.takes(mine) {
			joined = b
			continue
		}
		b.pass(tool, key)
	}
	return joined
}

// batchOf is a batch of calls, or a single call that others may join.
type batchOf struct {
	tool     api.Tool
	others   string
	route    api.Route
	elements int
	size     int
	// first is the index of the first call.
	first int
	// closed means that a call passed that later calls must not overtake.
	closed bool
}

// candidate returns a call as a batch that others may join; nil if the call is not batched.
func candidate(tool api.Tool, c api.Call, v api.AdmissionDecision) *batchOf {
	bounded := v.Plan != nil && v.Plan.Limits != api.PlanLimits{}
	if tool.Batch == nil || c.OfRun() || v.Approval != nil || bounded {
		return nil
	}
	arguments := v.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage(c.Arguments)
	}
	list, others, err := batches.Elements(*tool.Batch, arguments)
	if err != nil || len(list) == 0 {
		return nil
	}
	return &batchOf{tool: tool, others: others, route: v.Route, elements: len(list),
		size: len(arguments)}
}

// takes adds a call if it fits.
func (b *batchOf) takes(c *batchOf) bool {
	if b.closed || b.tool.Name != c.tool.Name || b.others != c.others || b.route != c.route ||
		b.elements+c.elements > b.tool.Batch.Max || b.size+c.size > maxMerged {
		return false
	}
	b.elements += c.elements
	b.size += c.size
	return true
}

// pass records a call outside the batch: if the two conflict, the batch is closed for later calls.
func (b *batchOf) pass(tool api.Tool, key string) {
	alone := tool.Access == api.AccessExclusive || b.tool.Access == api.AccessExclusive
	b.closed = b.closed || alone && tool.Lane == b.tool.Lane && key == b.route.Key
}
