package api

import (
	"fmt"
	"testing"
)

// The calls of all other tools are counted. Without calls there are no statistics.
func TestCallStats_ListTheMostUsedTools(t *testing.T) {
	if b := NewCallStats(Usage{Turns: 3}, []PastCalls{{Tool: "a"}}); b != nil {
		t.Errorf("a run without calls has the brief %+v", b)
	}
	tools := []PastCalls{{Tool: "b", Completed: 1}, {Tool: "c", Failed: 1, Refused: 1},
		{Tool: "a", Running: 1}}
	b := NewCallStats(Usage{Calls: 6, Failed: 3}, tools)
	if got := fmt.Sprint(*b); got != "{6 0.5 [{c 0 1 1 0} {a 0 0 0 1} {b 1 0 0 0}] 2}" {
		t.Errorf("got %s", got)
	}
	if tools[0].Tool != "b" {
		t.Error("the list that was given is changed")
	}
	tools = nil
	for i := range MaxCallStatsTools + 10 {
		tools = append(tools, PastCalls{Tool: fmt.Sprintf("t%03d", i), Completed: 2})
	}
	b = NewCallStats(Usage{Calls: 2 * len(tools)}, tools)
	if len(b.Tools) != MaxCallStatsTools || b.Others != 20 || b.SuccessRate != 1 ||
		b.Tools[0].Tool != "t000" {
		t.Errorf("of many tools: %d listed, %+v", len(b.Tools), b)
	}
	sum := PastCalls{Tool: "a", Completed: 1, Failed: 2}.Plus(PastCalls{Completed: 1, Refused: 3,
		Running: 4})
	if sum != (PastCalls{Tool: "a", Completed: 2, Failed: 2, Refused: 3, Running: 4}) ||
		sum.All() != 11 {
		t.Errorf("the sum is %+v", sum)
	}
}
