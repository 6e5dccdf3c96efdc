package api

import (
	"cmp"
	"slices"
)

// MaxCallStatsTools bounds the tools that CallStats lists.
const MaxCallStatsTools = 50

// CallStats summarises the calls of a run and of its sub-agents.
type CallStats struct {
	Calls int `json:"calls"`
	// SuccessRate is the share of calls that neither failed nor were refused, from 0 to 1.
	SuccessRate float64 `json:"success_rate"`
	// Tools are the tools that were called, the most used first, at most MaxCallStatsTools.
	Tools []PastCalls `json:"tools,omitempty"`
	// Others counts the calls of tools that are not listed: further tools, unknown tools, and those
	// of sub-agents whose calls are not known.
	Others int `json:"others,omitempty"`
}

// NewCallStats summarises usage and the calls by tool, each tool once. It returns nil if there were
// no calls.
func NewCallStats(used Usage, tools []PastCalls) *CallStats {
	if used.Calls == 0 {
		return nil
	}
	b := &CallStats{Calls: used.Calls, SuccessRate: float64(max(used.Calls-used.Failed, 0)) / float64(used.Calls), Tools: slices.Clone(tools)}
	slices.SortFunc(b.Tools, func(x, y PastCalls) int { return cmp.Or(y.All()-x.All(), cmp.Compare(x.Tool, y.Tool)) })
	b.Tools = b.Tools[:min(len(b.Tools), MaxCallStatsTools)]
	b.Others = b.Calls
	for _, t := range b.Tools {
		b.Others -= t.All()
	}
	b.Others = max(b.Others, 0)
	return b
}

// All returns the number of calls with any outcome.
func (p PastCalls) All() int { return p.Completed + p.Failed + p.Refused + p.Running }

// Plus returns the sum of the calls of one tool.
func (p PastCalls) Plus(other PastCalls) PastCalls {
	p.Completed += other.Completed
	p.Failed += other.Failed
	p.Refused += other.Refused
	p.Running += other.Running
	return p
}
