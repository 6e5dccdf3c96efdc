package api

// HookPoint says when a hook runs (requirement A8).
type HookPoint string

// The points at which hooks run, in the order of a run.
const (
	// HookBeforeRun runs before the first model step and may refuse the run.
	HookBeforeRun HookPoint = "before_run"
	// HookMemoryRetrieve runs next and adds text to the conversation.
	HookMemoryRetrieve HookPoint = "memory_retrieve"
	// HookBeforeCall runs during admission, after validation and the budget check.
	HookBeforeCall HookPoint = "before_call"
	// HookAfterCall runs after the tool, before the result is recorded.
	HookAfterCall HookPoint = "after_call"
	// HookMemoryWrite runs after a run that started, whatever its outcome.
	HookMemoryWrite HookPoint = "memory_write"
	// HookAfterRun runs last.
	HookAfterRun HookPoint = "after_run"
)

// HookFailure says what happens when a hook fails or times out.
type HookFailure string

const (
	// HookBlocks stops the run or call that the hook precedes, or fails the one it follows. It is
	// the default before runs and calls.
	HookBlocks HookFailure = "block"
	// HookIgnored ignores the hook. It is the default after calls and runs.
	HookIgnored HookFailure = "ignore"
)

// Hook names a hook that the worker registers.
type Hook struct {
	Name string `json:"name"`
	// OnError is what happens if it fails; empty is the default of its point.
	OnError HookFailure `json:"on_error,omitempty"`
	// Tools are the tools whose calls it applies to; empty for all. Only hooks of calls have tools.
	Tools []string `json:"tools,omitempty"`
	// Timeout bounds the hook; default 10s.
	Timeout Duration `json:"timeout,omitzero"`
}

// Hooks are the hooks of an agent by the point at which they run. Those of one point run in order.
type Hooks struct {
	BeforeRun      []Hook `json:"before_run,omitempty"`
	MemoryRetrieve []Hook `json:"memory_retrieve,omitempty"`
	BeforeCall     []Hook `json:"before_call,omitempty"`
	AfterCall      []Hook `json:"after_call,omitempty"`
	MemoryWrite    []Hook `json:"memory_write,omitempty"`
	AfterRun       []Hook `json:"after_run,omitempty"`
}

// HookOutcome is what a hook did.
type HookOutcome string

// Outcomes of hooks. A hook that lets a call proceed leaves no record.
const (
	// HookDone: a hook of the run completed.
	HookDone HookOutcome = "done"
	// HookRefused: it refused the run.
	HookRefused HookOutcome = "refused"
	// HookBlocked: it stopped the call.
	HookBlocked HookOutcome = "blocked"
	// HookModified: it changed the arguments or the result of the call.
	HookModified HookOutcome = "modified"
	// HookOverrode: it answered the call instead of the tool.
	HookOverrode HookOutcome = "overrode"
	// HookFailed: it failed or timed out.
	HookFailed HookOutcome = "failed"
)

// HookAction is the effect of one hook on a call or a run.
type HookAction struct {
	Hook    string      `json:"hook"`
	Point   HookPoint   `json:"point"`
	Outcome HookOutcome `json:"outcome"`
	// Reason is why it blocked, refused or failed.
	Reason string `json:"reason,omitempty"`
}
