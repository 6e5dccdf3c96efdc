package api

import (
	"cmp"
	"encoding/json"
	"time"
)

// Undo declares the call that undoes calls of a tool: a tool, and its arguments with placeholders
// in their strings.
type Undo struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object. A string that is one placeholder becomes the value itself, of any
	// type. Placeholders are {{args.name}}, {{result}}, {{result.path.0.name}} and {{call.key}}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// UndoWhen says after which ends of a run its calls are undone.
type UndoWhen string

// The ends after which calls are undone. A run with an answer, a result or at a limit undoes
// nothing.
const (
	// UndoBoth, the default, undoes after a failure and after a cancellation.
	UndoBoth      UndoWhen = "both"
	UndoOnFailure UndoWhen = "on_failure"
	UndoOnCancel  UndoWhen = "on_cancel"
	UndoNever     UndoWhen = "never"
)

// Undone is the outcome of the attempt to undo one call.
type Undone struct {
	// CallID and Tool are the ID and the tool of the call that undoes the target call.
	CallID string `json:"call_id"`
	Tool   string `json:"tool"`
	// TargetCallID is the ID of the call to undo, or its path if the run of a sub-agent made it.
	TargetCallID string `json:"target_call_id"`
	TargetTool   string `json:"target_tool"`
	// Error is nil if the target call is undone.
	Error *Error `json:"error,omitempty"`
}

// MaxUndo bounds the arguments of all undoing calls of a run, in bytes.
const MaxUndo = 512 << 10

// Verify declares how to resolve an unknown outcome: a tool that reads, its arguments with the
// placeholders of an Undo except the result, and where its answer says whether the call took
// effect.
type Verify struct {
	// Tool looks for the effect of the call.
	Tool string `json:"tool"`
	// Arguments are its arguments, with {{args.name}} and {{call.key}}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Done is the path in the tool's result of a boolean: whether the call has taken effect.
	Done string `json:"done"`
	// Result is the path in the tool's result of the call's own result; default the whole result.
	Result string `json:"result,omitempty"`
	// AbsentAfter is the wait between the tool's first answer that the call had no effect and the
	// second one, which counts, at most 24h. The target must finish or drop the call within this
	// time. Default timeout and answer_within plus 5 s.
	AbsentAfter Duration `json:"settle_after,omitzero"`
	// OnAbsent says what follows if the call had no effect: report that it was not done, the
	// default, or repeat it once with the same key. With repeat, AbsentAfter cannot be shorter than
	// its default.
	OnAbsent OnAbsent `json:"on_absent,omitempty"`
}

// OnAbsent says what follows if a verified call had no effect.
type OnAbsent string

// What follows if a verified call had no effect.
const (
	// AbsentReport, the default, ends the call with an error that says so.
	AbsentReport OnAbsent = "report"
	// AbsentRepeat makes the call once more with the same idempotency key.
	AbsentRepeat OnAbsent = "repeat"
)

// AttemptGrace is added to a tool's timeout for the server's timeout of an attempt. The executor
// enforces the tool's own timeout, so that it can stop the tool and report what happened; the
// server's timeout catches executors that hang.
const AttemptGrace = Duration(5 * time.Second)

// LongestAttempt returns how long one attempt of a call of the tool can run.
func (t Tool) LongestAttempt() Duration { return t.Timeout + t.AnswerWithin + AttemptGrace }

// AbsentAfter returns the wait before a second answer that a call had no effect counts.
func (t Tool) AbsentAfter() Duration { return cmp.Or(t.Verify.AbsentAfter, t.LongestAttempt()) }

// Call returns tool and arguments as an Undo.
func (v Verify) Call() Undo { return Undo{Tool: v.Tool, Arguments: v.Arguments} }

// Purpose says why a run itself makes a call. It is empty for a call that the run's model, plan or
// caller asked for.
type Purpose string

// The purposes of calls.
const (
	// PurposeUndo is that of a call that undoes its target call.
	PurposeUndo Purpose = "undo"
	// PurposeVerify is that of a call that determines whether its target call took effect.
	PurposeVerify Purpose = "verify"
	// PurposeCheck is that of a call that evaluates the run's answer. It has no target call.
	PurposeCheck Purpose = "check"
)

// CallPurpose is the purpose of a call, with the call that it is about.
type CallPurpose struct {
	Purpose Purpose `json:"purpose,omitempty"`
	// TargetCallID is the ID of the call that is undone or verified, or its path if the run of a
	// sub-agent made it.
	TargetCallID string `json:"target_call_id,omitempty"`
	// TargetTool is the tool of a call that is undone.
	TargetTool string `json:"target_tool,omitempty"`
}

// OfRun reports whether the run itself makes the call.
func (p CallPurpose) OfRun() bool { return p.Purpose != "" }

// IsGoverned reports whether policies and approvals apply to the call. They do not apply to calls
// that undo or verify another one.
func (p CallPurpose) IsGoverned() bool {
	return p.Purpose != PurposeUndo && p.Purpose != PurposeVerify
}
