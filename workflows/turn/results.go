package turn

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Results are the outcomes of a plan's calls, by the index of the call. A result is kept only as
// long as the arguments of another call or the run's output will have it: a plan of thousands of
// calls can return more than a worker can hold.
type Results struct {
	Outcomes []api.CallOutcome
	// Index has the index of each call by its ID.
	Index map[string]int
	// references has the indices that the arguments of each call refer to, uses counts for each
	// call the references to its result that are still to be resolved.
	references [][]int
	uses       []int
	// values are the decoded results that were referred to.
	values map[string]any
}

// NewResults returns the results of calls that have not ended. output is what the run's output is
// resolved from.
func NewResults(calls []api.PlanCall, output any) *Results {
	r := &Results{Outcomes: make([]api.CallOutcome, len(calls)),
		Index: make(map[string]int, len(calls)), references: make([][]int, len(calls)),
		uses: make([]int, len(calls)), values: map[string]any{}}
	for i, c := range calls {
		r.Index[c.ID] = i
	}
	for i, c := range calls {
		for _, ref := range planrules.References(c) {
			r.use(i, ref)
		}
	}
	planrules.ResolvedSize(output, func(ref planrules.Reference) int {
		r.uses[r.Index[ref.ID]]++
		return 0
	})
	return r
}

// use notes that the arguments of call i have a reference.
func (r *Results) use(i int, ref planrules.Reference) {
	used := r.Index[ref.ID]
	r.references[i] = append(r.references[i], used)
	r.uses[used]++
}

// End takes the outcome of call i.
func (r *Results) End(i int, out api.CallOutcome) {
	r.Outcomes[i] = out
	r.release(i)
}

// MarkResolved notes that the arguments of call i have the results that they refer to, or that the
// call
// is not made. It must be called once at most.
func (r *Results) MarkResolved(i int) {
	for _, used := range r.references[i] {
		r.uses[used]--
		r.release(used)
	}
}

// release drops the result of a call that no reference will need.
func (r *Results) release(i int) {
	if out := &r.Outcomes[i]; r.uses[i] == 0 && out.Result != nil {
		out.Result = nil
		delete(r.values, out.ID)
	}
}

// Of returns the result of the call with that ID; nil if it has none.
func (r *Results) Of(id string) *api.Result {
	if i, ok := r.Index[id]; ok {
		return r.Outcomes[i].Result
	}
	return nil
}

// Lookup returns the result of a call in the form that references resolve.
func (r *Results) Lookup(id string) (any, bool) {
	if v, ok := r.values[id]; ok {
		return v, true
	}
	result := r.Of(id)
	if result == nil {
		return nil, false
	}
	value, err := jsonvalue.Decode(result.Output)
	if err != nil {
		value = string(result.Output)
	}
	r.values[id] = value
	return value, true
}

// Size returns about how many bytes a value has once its references are resolved. It encodes parts
// of results only if the whole results would be too large.
func (r *Results) Size(value any) int {
	whole := planrules.ResolvedSize(value, func(ref planrules.Reference) int {
		if result := r.Of(ref.ID); result != nil {
			return len(result.Output)
		}
		return 0
	})
	if whole <= api.MaxArguments {
		return whole
	}
	sizes := map[string]int{}
	return planrules.ResolvedSize(value, func(ref planrules.Reference) int {
		size, known := sizes[ref.String()]
		if !known {
			part, _ := planrules.Resolve(ref.String(), r.Lookup)
			data, _ := jsonvalue.Encode(part)
			size = len(data)
			sizes[ref.String()] = size
		}
		return size
	})
}
