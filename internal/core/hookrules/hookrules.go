// Package hookrules decides which hooks apply where, and how long they may take.
package hookrules

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
)

// defaultTimeout bounds one hook by default.
const defaultTimeout = api.Duration(10 * time.Second)

// Blocks reports whether a failure of the hook at a point blocks.
func Blocks(h api.Hook, at api.HookPoint) bool {
	switch h.OnError {
	case api.HookBlocks:
		return true
	case api.HookIgnored:
		return false
	}
	return at == api.HookBeforeRun || at == api.HookMemoryRetrieve || at == api.HookBeforeCall
}

// Timeout returns the timeout of the hook.
func Timeout(h api.Hook) time.Duration {
	if h.Timeout > 0 {
		return h.Timeout.Std()
	}
	return defaultTimeout.Std()
}

// TotalTimeout returns the time bound of hooks that run one after the other.
func TotalTimeout(hooks []api.Hook) (total time.Duration) {
	for _, h := range hooks {
		total += Timeout(h)
	}
	return total
}

// For returns the hooks that apply to calls of a tool.
func For(hooks []api.Hook, tool string) []api.Hook {
	var list []api.Hook
	for _, h := range hooks {
		if len(h.Tools) == 0 || slices.Contains(h.Tools, tool) {
			list = append(list, h)
		}
	}
	return list
}

// LacksRunHooks reports whether there are no hooks of the whole run; hooks of calls do not count.
func LacksRunHooks(h api.Hooks) bool {
	return len(h.BeforeRun)+len(h.MemoryRetrieve)+len(h.MemoryWrite)+len(h.AfterRun) == 0
}

// PointHooks are the hooks of one point.
type PointHooks struct {
	Point api.HookPoint
	Hooks []api.Hook
}

// Points returns the hooks point by point, in the order of a run.
func Points(h api.Hooks) []PointHooks {
	return []PointHooks{
		{api.HookBeforeRun, h.BeforeRun}, {api.HookMemoryRetrieve, h.MemoryRetrieve},
		{api.HookBeforeCall, h.BeforeCall}, {api.HookAfterCall, h.AfterCall},
		{api.HookMemoryWrite, h.MemoryWrite}, {api.HookAfterRun, h.AfterRun},
	}
}
