package workflows

import (
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The calls of all other tools are counted. Without calls there are no statistics.
func TestCallStats_ListTheMostUsedTools(t *testing.T) {
	if b := newCallStats(api.Usage{Turns: 3}, []api.PastCalls{{Tool: "a"}}); b != nil {
		t.Errorf("a run without calls has the brief %+v", b)
	}
	tools := []api.PastCalls{{Tool: "b", Completed: 1}, {Tool: "c", Failed: 1, Refused: 1},
		{Tool: "a", Running: 1}}
	b := newCallStats(api.Usage{Calls: 6, Failed: 3}, tools)
	if got := fmt.Sprint(*b); got != "{6 0.5 [{c 0 1 1 0} {a 0 0 0 1} {b 1 0 0 0}] 2}" {
		t.Errorf("got %s", got)
	}
	if tools[0].Tool != "b" {
		t.Error("the list that was given is changed")
	}
	tools = nil
	for i := range api.MaxCallStatsTools + 10 {
		tools = append(tools, api.PastCalls{Tool: fmt.Sprintf("t%03d", i), Completed: 2})
	}
	b = newCallStats(api.Usage{Calls: 2 * len(tools)}, tools)
	if len(b.Tools) != api.MaxCallStatsTools || b.Others != 20 || b.SuccessRate != 1 ||
		b.Tools[0].Tool != "t000" {
		t.Errorf("of many tools: %d listed, %+v", len(b.Tools), b)
	}
	sum := api.PastCalls{Tool: "a", Completed: 1, Failed: 2}.Plus(api.PastCalls{Completed: 1, Refused: 3,
		Running: 4})
	if sum != (api.PastCalls{Tool: "a", Completed: 2, Failed: 2, Refused: 3, Running: 4}) ||
		sum.All() != 11 {
		t.Errorf("the sum is %+v", sum)
	}
}
