package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
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

// At reports whether calls are undone after a failure, or after a cancellation.
func (w UndoWhen) At(cancelled bool) bool {
	switch w {
	case UndoOnFailure:
		return !cancelled
	case UndoOnCancel:
		return cancelled
	}
	return w != UndoNever
}

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

// maxUndoArguments bounds the arguments of one undoing call and MaxUndo those of all undoing calls
// of a run, both in bytes.
const (
	maxUndoArguments = 32 << 10
	MaxUndo          = 512 << 10
)

// UndoCallID returns the id of the call that undoes the call of that id.
func UndoCallID(callID string) string { return "undo-" + callID }

// UndoSource has the values of the placeholders of an Undo.
type UndoSource struct {
	// Arguments are the validated arguments of the call to undo.
	Arguments json.RawMessage
	// Result is nil if it is unknown: the call may have acted without returning.
	Result *Result
	// Key is the call's idempotency key.
	Key string
	// decoded are the arguments if they are decoded already.
	decoded any
}

var undoPlaceholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// The sources of an UndoPlaceholder: the arguments, the result, and the call itself.
const (
	UndoArguments = "args"
	UndoResult    = "result"
	undoCall      = "call"
)

// UndoPlaceholder is one placeholder: {{result.items.0}} has the Source result and the Path items,
// 0.
type UndoPlaceholder struct {
	// Text is the placeholder as written.
	Text, Source string
	Path         []string
}

// PlaceholdersIn returns the placeholders in a string in order, invalid ones included.
func PlaceholdersIn(s string) []UndoPlaceholder {
	var found []UndoPlaceholder
	for _, m := range undoPlaceholder.FindAllStringSubmatch(s, -1) {
		found = append(found, parsePlaceholder(m[0], m[1]))
	}
	return found
}

func parsePlaceholder(text, inside string) UndoPlaceholder {
	parts := strings.Split(inside, ".")
	return UndoPlaceholder{Text: text, Source: parts[0], Path: parts[1:]}
}

// Legal reports whether a placeholder is well formed and has a known source.
func (p UndoPlaceholder) Legal() bool {
	switch {
	case slices.Contains(p.Path, ""):
		return false
	case p.Source == undoCall:
		return len(p.Path) == 1 && p.Path[0] == "key"
	}
	return p.Source == UndoResult || p.Source == UndoArguments && len(p.Path) > 0
}

// Stray reports whether a string has double braces that belong to no placeholder.
func Stray(s string) bool {
	rest := undoPlaceholder.ReplaceAllString(s, "…")
	return strings.Contains(rest, "{{") || strings.Contains(rest, "}}")
}

// Strings calls visit for every string of the arguments with its path, which starts with path.
// Invalid JSON is an error.
func (u Undo) Strings(path string, visit func(path, s string)) error {
	if len(u.Arguments) == 0 {
		return nil
	}
	value, err := DecodeJSON(u.Arguments)
	if err == nil {
		walkStrings(value, path, visit)
	}
	return err
}

// For returns the arguments of the undoing call. It fails if a placeholder of the result does not
// exist, the result is unknown or cut, or the arguments are too long.
func (u Undo) For(s UndoSource) (json.RawMessage, error) {
	if len(u.Arguments) == 0 {
		return json.RawMessage("{}"), nil
	}
	template, err := DecodeJSON(u.Arguments)
	if err != nil {
		return nil, err
	}
	filled, _, err := s.fill(template)
	if err != nil {
		return nil, err
	}
	data, err := EncodeJSON(filled)
	if err == nil && len(data) > maxUndoArguments {
		return nil, fmt.Errorf("the arguments would have %d bytes; the maximum is %d",
			len(data), maxUndoArguments)
	}
	return data, err
}

// fill fills a template. keep is false for the placeholder of an argument that the call does not
// have, which is left out.
func (s UndoSource) fill(template any) (value any, keep bool, err error) {
	switch template := template.(type) {
	case string:
		return s.text(template)
	case []any:
		list := make([]any, 0, len(template))
		for _, e := range template {
			item, keep, err := s.fill(e)
			if err != nil {
				return nil, false, err
			}
			if keep {
				list = append(list, item)
			}
		}
		return list, true, nil
	case map[string]any:
		return s.object(template)
	}
	return template, true, nil
}

func (s UndoSource) object(template map[string]any) (value any, keep bool, err error) {
	object := make(map[string]any, len(template))
	for _, k := range sortedKeys(template) {
		member, keep, err := s.fill(template[k])
		if err != nil {
			return nil, false, err
		}
		if keep {
			object[k] = member
		}
	}
	return object, true, nil
}

func (s UndoSource) text(template string) (value any, keep bool, err error) {
	var text strings.Builder
	end := 0
	for _, m := range undoPlaceholder.FindAllStringSubmatchIndex(template, -1) {
		p := parsePlaceholder(template[m[0]:m[1]], template[m[2]:m[3]])
		value, there, err := s.lookup(p)
		if err != nil {
			return nil, false, err
		}
		if p.Text == template {
			return value, there, nil
		}
		text.WriteString(template[end:m[0]])
		if there {
			text.WriteString(TextOf(value))
		}
		end = m[1]
	}
	return text.String() + template[end:], true, nil
}

// lookup returns the value of a placeholder; there is false for an argument that the call does not
// have.
func (s UndoSource) lookup(p UndoPlaceholder) (value any, there bool, err error) {
	switch {
	case !p.Legal():
		return nil, false, fmt.Errorf("%s is not a placeholder", p.Text)
	case p.Source == undoCall:
		return s.Key, true, nil
	case p.Source == UndoArguments:
		return s.argument(p)
	case s.Result == nil:
		return nil, false, fmt.Errorf(
			"%s: the result of the call is unknown; it may have taken effect", p.Text)
	case s.Result.Cut > 0:
		return nil, false, fmt.Errorf(
			"%s: %d bytes of the result were cut; raise the tool's max_result", p.Text,
			s.Result.Cut)
	}
	if value, err = DecodeJSON(s.Result.Output); err != nil {
		return nil, false, fmt.Errorf("%s: the result is not JSON: %w", p.Text, err)
	}
	value, depth, there := walk(value, p.Path)
	if !there {
		return nil, false, fmt.Errorf("%s: the result has no %q", p.Text,
			strings.Join(p.Path[:depth+1], "."))
	}
	return value, true, nil
}

// argument returns the value of a placeholder of an argument.
func (s UndoSource) argument(p UndoPlaceholder) (value any, there bool, err error) {
	if value = s.decoded; value == nil {
		if value, err = DecodeJSON(s.Arguments); err != nil {
			return nil, false, fmt.Errorf("%s: the call's arguments are not JSON: %w", p.Text, err)
		}
	}
	value, _, there = walk(value, p.Path)
	return value, there, nil
}

// MayHaveActed reports whether a failed call may have taken effect: it started and did not clearly
// report that it failed. A call that failed after its execution has taken effect.
func (e *Error) MayHaveActed() bool {
	switch {
	case e.BeforeStart():
		return false
	case e.Unclear || e.Phase == PhasePostExecution:
		return true
	}
	switch e.Type {
	case ErrTimeout, ErrWorkerLost, ErrOutcomeUnknown, ErrInvalidOutput:
		return true
	}
	return false
}

// MayActBefore reports whether an attempt that failed with e, waiting for task, leaves open what a
// later attempt that says that it failed did not do. A later attempt that waits for the same task
// says what became of it.
func (t Tool) MayActBefore(e *Error, task *RemoteTask) bool {
	return t.Effect == EffectIdempotent && task == nil && e.MayHaveActed()
}

// Verify declares how to resolve an unknown outcome: a tool that reads, its arguments with the
// placeholders of an Undo except the result, and where its answer says whether the call took
// effect.
type Verify struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Done is the path in the tool's result of a boolean: whether the call has taken effect.
	Done string `json:"done"`
	// Result is the path in the tool's result of the call's own result; empty is the whole result.
	Result string `json:"result,omitempty"`
	// AbsentAfter is the wait between the tool's first answer that the call had no effect and the
	// second one, which counts. The default is the longest time that an attempt can run.
	AbsentAfter Duration `json:"settle_after,omitzero"`
	// OnAbsent says what follows if the call had no effect; empty is AbsentReport.
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

// VerifyCallID returns the id of the nth call, from 1, that verifies the call of that id.
func VerifyCallID(callID string, n int) string {
	if n > 1 {
		return fmt.Sprintf("verify-%s-%d", callID, n)
	}
	return "verify-" + callID
}

// Evaluate reads the answer of the verifying tool: whether the verified call has taken effect, and
// its result if so. The error says why the answer is unusable.
func (v Verify) Evaluate(r *Result) (done bool, output json.RawMessage, err error) {
	if r.Cut > 0 {
		return false, nil, fmt.Errorf("%d bytes of the answer of %s were cut", r.Cut, v.Tool)
	}
	value, err := DecodeJSON(r.Output)
	if err != nil {
		return false, nil, fmt.Errorf("the answer of %s is not JSON: %w", v.Tool, err)
	}
	told, _, _ := walk(value, strings.Split(v.Done, "."))
	done, ok := told.(bool)
	switch {
	case !ok:
		return false, nil, fmt.Errorf("the answer of %s has neither true nor false at %q", v.Tool,
			v.Done)
	case !done || v.Result == "":
		return done, r.Output, nil
	}
	own, _, ok := walk(value, strings.Split(v.Result, "."))
	if !ok {
		return false, nil, fmt.Errorf(
			"the answer of %s says that the call has taken effect but has no %q", v.Tool,
			v.Result)
	}
	output, err = EncodeJSON(own)
	return true, output, err
}

// Verifiable reports whether a failed call of the tool is verified: its outcome is unknown, and the
// tool declares Verify.
func (t Tool) Verifiable(e *Error) bool {
	return t.Verify != nil && t.Effect == EffectOnce && t.Dispatch.Schedules() &&
		e.Type == ErrOutcomeUnknown && e.MayHaveActed()
}

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

// Governed reports whether policies and approvals apply to the call. They do not apply to calls
// that undo or verify another one.
func (p CallPurpose) Governed() bool {
	return p.Purpose != PurposeUndo && p.Purpose != PurposeVerify
}
