package api

import "cmp"

// FairnessAll is the fairness key of calls without fairness. An activity without a key would
// inherit its workflow's.
const FairnessAll = "all"

// PriorityAt is the inverse of Priority.Level. Levels that Switchyard does not use are low; zero is
// normal, as in Temporal.
func PriorityAt(level int) Priority {
	switch {
	case level <= 0:
		return PriorityNormal
	case level > len(Priorities):
		return PriorityLow
	}
	return Priorities[level-1]
}

// RunPriority returns the priority of a run: that of its input, else that of its workflow, whose
// level is zero without one. Empty leaves it to the tools.
func RunPriority(input Priority, level int) Priority {
	if input == "" && level > 0 {
		return PriorityAt(level)
	}
	return input
}

// PriorityOf returns the priority of a call: that of its plan, else of its run, else of its tool,
// else normal.
func PriorityOf(c Call, run Priority, t Tool) Priority {
	return cmp.Or(c.Priority, run, t.Priority, PriorityNormal)
}
