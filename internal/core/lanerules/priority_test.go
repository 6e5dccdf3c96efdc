package lanerules

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

// The plan precedes the run, which precedes the tool.
func TestPriority_IsThatOfPlanRunOrTool(t *testing.T) {
	for _, test := range []struct {
		call, run, tool, want api.Priority
	}{
		{"", "", "", api.PriorityNormal},
		{"", "", api.PriorityLow, api.PriorityLow},
		{"", api.PriorityHigh, api.PriorityLow, api.PriorityHigh},
		{api.PriorityUrgent, api.PriorityHigh, api.PriorityLow, api.PriorityUrgent},
		{api.PriorityNormal, api.PriorityHigh, api.PriorityLow, api.PriorityNormal},
	} {
		if got := CallPriority(api.Call{Priority: test.call}, test.run,
			api.Tool{Priority: test.tool}); got != test.want {
			t.Errorf("call %q, run %q, tool %q: got %q, want %q", test.call, test.run, test.tool,
				got, test.want)
		}
	}
}

// A priority in the input precedes it.
func TestRunPriority_IsThatOfTheWorkflow(t *testing.T) {
	for _, test := range []struct {
		input api.Priority
		level int
		want  api.Priority
	}{{"", 0, ""}, {"", 1, api.PriorityUrgent}, {api.PriorityLow, 1, api.PriorityLow},
		{api.PriorityHigh, 0, api.PriorityHigh}} {
		if got := RunPriority(test.input, test.level); got != test.want {
			t.Errorf("input %q at level %d: got %q, want %q", test.input, test.level, got,
				test.want)
		}
	}
}

// Levels that Switchyard does not use are rounded.
func TestPriorityAt_ConvertsLevels(t *testing.T) {
	for i, p := range api.Priorities {
		if PriorityAt(i+1) != p || PriorityLevel(p) != i+1 {
			t.Errorf("level %d is %q, %q has the level %d", i+1, PriorityAt(i+1), p, PriorityLevel(p))
		}
	}
	for level, want := range map[int]api.Priority{-1: api.PriorityNormal, 0: api.PriorityNormal,
		5:  api.PriorityLow,
		99: api.PriorityLow} {
		if got := PriorityAt(level); got != want {
			t.Errorf("level %d is %q, want %q", level, got, want)
		}
	}
}
