package workflows

import (
	"github.com/switchyard/switchyard/api"
)

// part is one of the calls that a batched call replaces; place is its index in the turn.
type part struct {
	api.Part
	call     api.Call
	decision api.AdmissionDecision
	place    int
}

// newCalls returns the admitted calls of a turn, batched as their decisions say: a batched call
// stands in the place of its first part.
func (p *pipeline) newCalls(calls []api.Call, decisions []api.AdmissionDecision) []*callRun {
	share := p.divide(p.usage, decisions)
	runs := make([]*callRun, 0, len(calls))
	batches := map[string]*callRun{}
	for i, v := range decisions {
		if c := batches[v.Batch]; v.Batch != "" && c != nil {
			c.parts = append(c.parts, part{call: calls[i], decision: v, place: i})
			continue
		}
		c := p.newCall(calls[i], v)
		c.place, c.share = i, share
		if v.Batch != "" {
			batches[v.Batch] = c
			c.parts = []part{{call: calls[i], decision: v, place: i}}
		}
		runs = append(runs, c)
	}
	for _, c := range runs {
		c.merge()
	}
	return runs
}

// merge gives a batched call the elements of all its parts.
func (c *callRun) merge() {
	if len(c.parts) < 2 {
		c.parts = nil
		return
	}
	var all []any
	for i := range c.parts {
		part := &c.parts[i]
		// Admission batches a call only if there are elements.
		list, _, _ := c.tool.Batch.Elements(validated(part.call, part.decision))
		all = append(all, list...)
		part.Part = api.Part{ID: part.call.ID, Elements: len(list)}
	}
	if arguments, err := c.tool.Batch.With(c.arguments(), all); err == nil {
		c.decision.Arguments = arguments
	}
}

// unbatch returns the outcomes of the n calls of a turn from those of the calls that were made.
func (p *pipeline) unbatch(n int, runs []*callRun, outcomes []api.CallOutcome) []api.CallOutcome {
	all := make([]api.CallOutcome, n)
	for i, c := range runs {
		whole := outcomes[i]
		if len(c.parts) == 0 {
			all[c.place] = whole
			continue
		}
		for nth, part := range c.parts {
			if whole.ID == "" {
				continue // the turn failed before the call was made
			}
			all[part.place] = whole.PartOf(part.ID)
			p.countPart(whole, all[part.place], nth)
		}
	}
	return all
}

// countPart counts the nth part of a batched call; the whole has been counted as one call.
func (p *pipeline) countPart(whole, own api.CallOutcome, n int) {
	if n > 0 {
		p.usage.Calls++
		p.runFacts.ended(own, p.tools[own.Tool])
	}
	if own.Error != nil && (n > 0 || whole.Error == nil) {
		p.usage.Failed++
	}
}
