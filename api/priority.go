package api

import "cmp"

// FairnessAll is the fairness key of calls between whom no slots are shared out fairly. It is a key like any other, because
// an activity without one has its workflow's.
const FairnessAll = "all"

// PriorityAt is the inverse of Priority.Level. Levels that Switchyard does not give are low ones; zero is normal, as Temporal
// has it.
func PriorityAt(level int) Priority {
	switch {
	case level <= 0:
		return PriorityNormal
	case level > len(Priorities):
		return PriorityLow
	}
	return Priorities[level-1]
}

// RunPriority returns the priority of a run: that which its input names, else that of its workflow, whose level is zero where
// it has none; empty leaves calls to their tools.
func RunPriority(input Priority, level int) Priority {
	if input == "" && level > 0 {
		return PriorityAt(level)
	}
	return input
}

// PriorityOf returns the priority of a call: that which its plan gives it, else its run's, else its tool's, else normal.
func PriorityOf(c Call, run Priority, t Tool) Priority {
	return cmp.Or(c.Priority, run, t.Priority, PriorityNormal)
}
