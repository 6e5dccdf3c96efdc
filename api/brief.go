package api

import (
	"cmp"
	"slices"
)

// MaxBriefTools bounds the tools that a Brief lists.
const MaxCallStatsTools = 50

// Brief tells in a few words of the calls of a run, those of its sub-agents among them.
type CallStats struct {
	Calls int `json:"calls"`
	// SuccessRate is the part of the calls that did not fail and were not refused.
	SuccessRate float64 `json:"success_rate"`
	// Tools are those that were called, the most often called one first, at most MaxBriefTools.
	Tools []PastCalls `json:"tools,omitempty"`
	// Others counts the calls of tools that are not listed: further ones, ones that there are not, and those of sub-agents that
	// could not tell.
	Others int `json:"others,omitempty"`
}

// NewBrief makes a Brief of what was used and of the calls by tool, each tool once. It is nil where there were no calls.
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

// All counts the calls, however they went.
func (p PastCalls) All() int { return p.Completed + p.Failed + p.Refused + p.Running }

// Plus returns the calls of both, which are of one tool.
func (p PastCalls) Plus(other PastCalls) PastCalls {
	p.Completed += other.Completed
	p.Failed += other.Failed
	p.Refused += other.Refused
	p.Running += other.Running
	return p
}
