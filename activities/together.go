package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxBatched bounds the results of a batch in total, in bytes, because they are one result in
// history.
const maxBatched = 1 << 20

// maxMerged bounds the merged arguments of a batch, in bytes.
const maxMerged = 512 << 10

// batching decides which admitted calls of an agent's turn are merged into one: calls of one
// batching tool with otherwise equal arguments and the same route. Calls that need approval or have
// bounds in their execution plan are not batched. The order of conflicting calls does not change.
func batching(r api.AdmissionRequest, decisions []api.AdmissionDecision) []api.AdmissionDecision {
	if r.Caller.Type != api.CallerAgent {
		return decisions
	}
	var open []*batchOf
	for i, v := range decisions {
		if v.Error != nil || v.Result != nil {
			continue
		}
		tool, _ := toolOf(r, r.Calls[i].Tool)
		mine := candidate(tool, r.Calls[i], v)
		if b := join(open, mine, tool, v.Route.Key); b != nil {
			decisions[b.first].Batch, decisions[i].Batch = decisions[b.first].ID,
				decisions[b.first].ID
		} else if mine != nil {
			mine.first = i
			open = append(open, mine)
		}
	}
	return decisions
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
	list, others, err := tool.Batch.Elements(arguments)
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

// apart splits the answer to a batch and runs the phase post_execution for each call's part. It
// returns an error for the whole batch if the answer is not a list with one element for each.
func (a *Activities) apart(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, t attempt, took time.Duration) (api.Result, *api.Error) {
	var answers []json.RawMessage
	want := 0
	for _, p := range t.Parts {
		want += p.Elements
	}
	if err := json.Unmarshal(answer.Output, &answers); err != nil || len(answers) != want {
		e := api.Errorf(api.ErrInvalidOutput,
			"%d calls of %s were made together, and the answer is no list with one element for each of their %d elements",
			len(t.Parts), compiled.Spec.Name, want)
		e.Phase = api.PhasePostExecution
		return api.Result{}, e
	}
	smaller := *compiled
	smaller.Spec.Execution.MaxResult = min(compiled.Spec.Execution.MaxResult,
		maxBatched/len(t.Parts))
	// the run has built the batch from such lists
	elements, _, _ := compiled.Spec.Batch.Elements(t.Arguments)
	whole, at := api.Result{}, 0
	for _, p := range t.Parts {
		mine := t
		mine.id = p.ID
		if arguments, err := compiled.Spec.Batch.With(t.Arguments,
			elements[at:at+p.Elements]); err == nil {
			mine.Arguments = arguments
		}
		output, _ := api.EncodeJSON(answers[at : at+p.Elements]) // they were decoded from JSON
		at += p.Elements
		whole.Parts = append(whole.Parts, a.partOf(ctx, &smaller, executor.Answer{Output: output,
			Notes: answer.Notes}, mine, took))
	}
	return whole, nil
}

// partOf makes the result of one call of the batch.
func (a *Activities) partOf(ctx context.Context, compiled *toolspecs.Compiled,
	answer executor.Answer, t attempt, took time.Duration) api.CallOutcome {
	began := time.Now()
	part := api.CallOutcome{ID: t.id, Tool: t.tool}
	result, failure := a.postExecute(ctx, compiled, answer, t.hooked(ctx, &compiled.Spec))
	if part.Error = executor.RedactorOf(ctx).Error(failure); failure == nil {
		result.Slow = took > compiled.Spec.Execution.SlowAfter.Std()
		result.ExecutionMicros, result.PostMicros = took.Microseconds(),
			time.Since(began).Microseconds()
		part.Result = &result
	}
	return part
}

// outcomes returns the outcome of the attempt's call, or of each call of its batch.
func (t attempt) outcomes(whole api.CallOutcome) []api.CallOutcome {
	if len(t.Parts) == 0 {
		return []api.CallOutcome{whole}
	}
	var all []api.CallOutcome
	for _, p := range t.Parts {
		all = append(all, whole.PartOf(p.ID))
	}
	return all
}
