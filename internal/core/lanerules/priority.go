package lanerules

import (
	"cmp"
	"slices"

	"github.com/switchyard/switchyard/api"
)

// PriorityLevel returns Temporal's priority key, from 1, the most urgent; unknown and empty
// priorities are normal.
func PriorityLevel(p api.Priority) int {
	if i := slices.Index(api.Priorities, p); i >= 0 {
		return i + 1
	}
	return PriorityLevel(api.PriorityNormal)
}

// maxFairnessKey is the longest fairness key that Temporal accepts, in bytes.
const maxFairnessKey = 64

// FairnessKey returns text as a fairness key: the text if it is short enough, else its digest.
// Different texts have different keys.
func FairnessKey(text string) string {
	if len(text) <= maxFairnessKey {
		return text
	}
	return api.Digest([]byte(text))
}

// PriorityAt is the inverse of PriorityLevel. Levels that Switchyard does not use are low; zero is
// normal, as in Temporal.
func PriorityAt(level int) api.Priority {
	switch {
	case level <= 0:
		return api.PriorityNormal
	case level > len(api.Priorities):
		return api.PriorityLow
	}
	return api.Priorities[level-1]
}

// RunPriority returns the priority of a run: that of its input, else that of its workflow, whose
// level is zero without one. Empty leaves it to the tools.
func RunPriority(input api.Priority, level int) api.Priority {
	if input == "" && level > 0 {
		return PriorityAt(level)
	}
	return input
}

// CallPriority returns the priority of a call: that of its plan, else of its run, else of its tool,
// else normal.
func CallPriority(c api.Call, run api.Priority, t api.Tool) api.Priority {
	return cmp.Or(c.Priority, run, t.Priority, api.PriorityNormal)
}
