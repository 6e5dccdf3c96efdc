package api

import "testing"

// The plan precedes the run, which precedes the tool.
func TestPriority_IsThatOfPlanRunOrTool(t *testing.T) {
	for _, test := range []struct {
		call, run, tool, want Priority
	}{
		{"", "", "", PriorityNormal},
		{"", "", PriorityLow, PriorityLow},
		{"", PriorityHigh, PriorityLow, PriorityHigh},
		{PriorityUrgent, PriorityHigh, PriorityLow, PriorityUrgent},
		{PriorityNormal, PriorityHigh, PriorityLow, PriorityNormal},
	} {
		if got := PriorityOf(Call{Priority: test.call}, test.run,
			Tool{Priority: test.tool}); got != test.want {
			t.Errorf("call %q, run %q, tool %q: got %q, want %q", test.call, test.run, test.tool,
				got, test.want)
		}
	}
}

// A priority in the input precedes it.
func TestRunPriority_IsThatOfTheWorkflow(t *testing.T) {
	for _, test := range []struct {
		input Priority
		level int
		want  Priority
	}{{"", 0, ""}, {"", 1, PriorityUrgent}, {PriorityLow, 1, PriorityLow},
		{PriorityHigh, 0, PriorityHigh}} {
		if got := RunPriority(test.input, test.level); got != test.want {
			t.Errorf("input %q at level %d: got %q, want %q", test.input, test.level, got,
				test.want)
		}
	}
}

// Levels that Switchyard does not use are rounded.
func TestPriorityAt_ConvertsLevels(t *testing.T) {
	for i, p := range Priorities {
		if PriorityAt(i+1) != p || p.Level() != i+1 {
			t.Errorf("level %d is %q, %q has the level %d", i+1, PriorityAt(i+1), p, p.Level())
		}
	}
	for level, want := range map[int]Priority{-1: PriorityNormal, 0: PriorityNormal, 5: PriorityLow,
		99: PriorityLow} {
		if got := PriorityAt(level); got != want {
			t.Errorf("level %d is %q, want %q", level, got, want)
		}
	}
}
