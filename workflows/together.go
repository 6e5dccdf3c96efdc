package workflows

import (
	"github.com/switchyard/switchyard/api"
)

// turn are the calls of a turn as they are made: those that admission has put together are one, at the place of the first.
type turn struct {
	calls     []api.Call
	decisions []api.AdmissionDecision
	// members has for each of them the indices of the turn's own calls.
	members [][]int
}

// together puts the calls of a turn together as their verdicts say.
func (p *pipeline) batching(calls []api.Call, decisions []api.AdmissionDecision) turn {
	t := turn{}
	first := map[string]int{}
	for i, v := range decisions {
		if at, ok := first[v.Batch]; ok && v.Batch != "" {
			t.members[at] = append(t.members[at], i)
			continue
		}
		if v.Batch != "" {
			first[v.Batch] = len(t.calls)
		}
		t.calls, t.decisions, t.members = append(t.calls, calls[i]), append(t.decisions, v), append(t.members, []int{i})
	}
	for at, members := range t.members {
		if len(members) > 1 {
			p.merge(&t, at, calls, decisions)
		}
	}
	return t
}

// merge gives the call at that place the elements of all its members.
func (p *pipeline) merge(t *turn, at int, calls []api.Call, decisions []api.AdmissionDecision) {
	how := p.tools[t.calls[at].Tool].Batch
	var all []any
	var parts []part
	for _, i := range t.members[at] {
		list, _, err := how.Elements(validated(calls[i], decisions[i]))
		if err != nil {
			continue // admission found a list there
		}
		all = append(all, list...)
		parts = append(parts, part{Part: api.Part{ID: calls[i].ID, Elements: len(list)}, call: calls[i], decision: decisions[i]})
	}
	arguments, err := how.With(validated(t.calls[at], t.decisions[at]), all)
	if err != nil {
		return
	}
	t.decisions[at].Arguments = arguments
	p.parts[t.calls[at].ID] = parts
}

// part is one of the calls that are made together.
type part struct {
	api.Part
	call     api.Call
	decision api.AdmissionDecision
}

// partsOf returns what an activity is told of the calls that it makes together; nil for one that makes a single call.
func (p *pipeline) partsOf(id string) []api.Part {
	var parts []api.Part
	for _, part := range p.parts[id] {
		parts = append(parts, part.Part)
	}
	return parts
}

// apart returns the outcomes of all calls of a turn, from those of the calls as they were made, and counts those that were made
// together with another one.
func (p *pipeline) apart(t turn, outcomes []api.CallOutcome) []api.CallOutcome {
	n := 0
	for _, members := range t.members {
		n += len(members)
	}
	all := make([]api.CallOutcome, n)
	for at, members := range t.members {
		whole, id := outcomes[at], t.calls[at].ID
		if len(members) == 1 {
			all[members[0]] = whole
			continue
		}
		parts := p.parts[id]
		delete(p.parts, id)
		for n, i := range members {
			if whole.ID == "" {
				continue // the turn has failed before the call was made
			}
			all[i] = whole.PartOf(parts[n].ID)
			p.countPart(whole, all[i], n)
		}
	}
	return all
}

// countPart counts the nth of the calls that were made together; the whole has been counted as one.
func (p *pipeline) countPart(whole, own api.CallOutcome, n int) {
	if n > 0 {
		p.usage.Calls++
		p.runFacts.ended(own, p.tools[own.Tool])
	}
	if own.Error != nil && (n > 0 || whole.Error == nil) {
		p.usage.Failed++
	}
}

// noteAll keeps what undoes a call, or each of those that were made together as one.
func (p *pipeline) noteAll(c api.Call, v api.AdmissionDecision, out api.CallOutcome, err error) {
	parts := p.parts[c.ID]
	if len(parts) == 0 {
		p.note(c, v, out, err)
	}
	for _, part := range parts {
		p.note(part.call, part.decision, out.PartOf(part.ID), err)
	}
}
