package api

import (
	"slices"
	"time"
)

// HookPoint says when a hook runs (requirement A8).
type HookPoint string

// The points at which hooks run, in the order in which a run reaches them.
const (
	// HookBeforeRun: before the first model step. It may refuse the run.
	HookBeforeRun HookPoint = "before_run"
	// HookMemoryRetrieve: after that. What it gives stands in the conversation.
	HookMemoryRetrieve HookPoint = "memory_retrieve"
	// HookBeforeCall: within admission, when the arguments are valid and the budget allows the call.
	HookBeforeCall HookPoint = "before_call"
	// HookAfterCall: where the call was executed, before its result is recorded.
	HookAfterCall HookPoint = "after_call"
	// HookMemoryWrite: when a run that began is over, however it ended.
	HookMemoryWrite HookPoint = "memory_write"
	// HookAfterRun: after that.
	HookAfterRun HookPoint = "after_run"
)

// HookFailure says what comes of a hook that fails, or that hangs for longer than it may.
type HookFailure string

const (
	// HookBlocks stops what the hook stands before, or fails what it stands after. It is the default of the hooks before a run
	// and before calls.
	HookBlocks HookFailure = "block"
	// HookIgnored goes on as if there were no such hook. It is the default of the hooks after calls and after a run.
	HookIgnored HookFailure = "ignore"
)

// defaultHookTimeout bounds one hook where the agent names no timeout.
const defaultHookTimeout = Duration(10 * time.Second)

// Hook names a hook that the worker has registered.
type Hook struct {
	Name string `json:"name"`
	// OnError is what comes of its failure; empty for the default of the point at which it runs.
	OnError HookFailure `json:"on_error,omitempty"`
	// Tools are those whose calls the hook is for; empty for all. Only hooks of calls have some.
	Tools []string `json:"tools,omitempty"`
	// Timeout bounds it; default 10s.
	Timeout Duration `json:"timeout,omitzero"`
}

// Blocks reports whether the hook's failure at a point blocks.
func (h Hook) Blocks(at HookPoint) bool {
	switch h.OnError {
	case HookBlocks:
		return true
	case HookIgnored:
		return false
	}
	return at == HookBeforeRun || at == HookMemoryRetrieve || at == HookBeforeCall
}

// Within is how long the hook may take.
func (h Hook) Within() time.Duration {
	if h.Timeout > 0 {
		return h.Timeout.Std()
	}
	return defaultHookTimeout.Std()
}

// HooksWithin is how long hooks that run one after the other may take.
func HooksWithin(hooks []Hook) (total time.Duration) {
	for _, h := range hooks {
		total += h.Within()
	}
	return total
}

// HooksFor returns those of the hooks that are for the calls of a tool.
func HooksFor(hooks []Hook, tool string) []Hook {
	var list []Hook
	for _, h := range hooks {
		if len(h.Tools) == 0 || slices.Contains(h.Tools, tool) {
			list = append(list, h)
		}
	}
	return list
}

// Hooks are the hooks that an agent names, by the point at which they run. Those of one point run in order.
type Hooks struct {
	BeforeRun      []Hook `json:"before_run,omitempty"`
	MemoryRetrieve []Hook `json:"memory_retrieve,omitempty"`
	BeforeCall     []Hook `json:"before_call,omitempty"`
	AfterCall      []Hook `json:"after_call,omitempty"`
	MemoryWrite    []Hook `json:"memory_write,omitempty"`
	AfterRun       []Hook `json:"after_run,omitempty"`
}

// NoneOfRun reports whether there are no hooks of the whole run; those of calls do not count.
func (h Hooks) NoneOfRun() bool {
	return len(h.BeforeRun)+len(h.MemoryRetrieve)+len(h.MemoryWrite)+len(h.AfterRun) == 0
}

// PointHooks are the hooks of one point.
type PointHooks struct {
	Point HookPoint
	Hooks []Hook
}

// Points returns the hooks point by point, in the order in which a run reaches them.
func (h Hooks) Points() []PointHooks {
	return []PointHooks{{HookBeforeRun, h.BeforeRun}, {HookMemoryRetrieve, h.MemoryRetrieve}, {HookBeforeCall, h.BeforeCall},
		{HookAfterCall, h.AfterCall}, {HookMemoryWrite, h.MemoryWrite}, {HookAfterRun, h.AfterRun}}
}

// HookDeed names what a hook did.
type HookOutcome string

// What a hook can do that is worth a record. One that lets a call proceed leaves no trace.
const (
	// HookDone: a hook of the run ran to its end.
	HookDone HookOutcome = "done"
	// HookRefused: it refused the run.
	HookRefused HookOutcome = "refused"
	// HookBlocked: it stopped the call.
	HookBlocked HookOutcome = "blocked"
	// HookModified: it changed the call's arguments, or after the call its result.
	HookModified HookOutcome = "modified"
	// HookOverrode: it answered the call in the tool's place.
	HookOverrode HookOutcome = "overrode"
	// HookFailed: it failed, or hung.
	HookFailed HookOutcome = "failed"
)

// HookAction is what one hook did to a call or a run.
type HookAction struct {
	Hook    string      `json:"hook"`
	Point   HookPoint   `json:"point"`
	Outcome HookOutcome `json:"outcome"`
	// Reason is why it blocked or refused, or how it failed.
	Reason string `json:"reason,omitempty"`
}

// HookRequest is the input of HookActivity: one hook of a run.
type HookRequest struct {
	Point  HookPoint `json:"point"`
	Hook   Hook      `json:"hook"`
	Agent  string    `json:"agent"`
	Prompt string    `json:"prompt,omitempty"`
	Origin Origin    `json:"origin"`
	// Parent is the path of the call that the run works for.
	Parent string `json:"parent,omitempty"`
	// Conversation says which conversation the run has had so far, as to a model step.
	Conversation ModelRequest `json:"conversation"`
	// End is set when the run is over.
	End *RunEnd `json:"end,omitempty"`
}

// HookAnswer is what a run's hook gave.
type HookAnswer struct {
	// Refused is why the run must not begin; empty where it may.
	Refused string `json:"refused,omitempty"`
	// Text is what is remembered; empty for nothing.
	Text string `json:"text,omitempty"`
}

// RunEnd is how a run ended, as hooks after it are told. Outcome is failed or cancelled for a run without a result; the
// usage is always there.
type RunEnd struct {
	RunResult
	// Failure and FailureType say why it failed. FailureType is empty where no RunErrorType is the reason.
	Failure     string       `json:"failure,omitempty"`
	FailureType RunErrorType `json:"failure_type,omitempty"`
}
