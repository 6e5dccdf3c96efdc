package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Undo declares the call that undoes a tool's calls: a tool, and its arguments with placeholders in their strings.
type Undo struct {
	Tool string `json:"tool"`
	// Arguments is a JSON object. A string in it that is nothing but one placeholder becomes the value itself, of whatever
	// type. There are {{args.name}}, {{result}} and {{result.path.0.name}}, and {{call.key}}.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// UndoWhen says at which ends of a run its calls are undone.
type UndoWhen string

// The ends at which calls are undone. A run that ends with an answer, a result or at a limit undoes nothing.
const (
	// UndoBoth is the default: when the run fails, and when it is cancelled.
	UndoBoth      UndoWhen = "both"
	UndoOnFailure UndoWhen = "on_failure"
	UndoOnCancel  UndoWhen = "on_cancel"
	UndoNever     UndoWhen = "never"
)

// At reports whether calls are undone when a run has failed, or was cancelled.
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

// MaxUndoArguments bounds the arguments of one call that undoes another, in bytes; MaxUndo bounds those of all that a run
// keeps ready.
const (
	MaxUndoArguments = 32 << 10
	MaxUndo          = 512 << 10
)

// UndoCallID returns the id of the call that undoes the call of that id.
func UndoCallID(callID string) string { return "undo-" + callID }

// UndoSource is what the placeholders of an Undo stand for.
type UndoSource struct {
	// Arguments are the validated ones of the call that is to be undone.
	Arguments json.RawMessage
	// Result is nil where nobody knows it: the call may have taken effect, but it did not report.
	Result *Result
	// Key is the call's idempotency key.
	Key string
}

var undoPlaceholder = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// The sources of an UndoPlaceholder: what the call was given, what it gave, and the call itself.
const (
	UndoArguments = "args"
	UndoResult    = "result"
	UndoCall      = "call"
)

// UndoPlaceholder is one placeholder: {{result.items.0}} has the Source result and the Path items, 0.
type UndoPlaceholder struct {
	// Text is the whole of it, as written.
	Text, Source string
	Path         []string
}

// PlaceholdersIn returns the placeholders in one string, and in order; those that there are not, too.
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

// Legal reports whether a placeholder has the form of one that there is.
func (p UndoPlaceholder) Legal() bool {
	switch {
	case slices.Contains(p.Path, ""):
		return false
	case p.Source == UndoCall:
		return len(p.Path) == 1 && p.Path[0] == "key"
	}
	return p.Source == UndoResult || p.Source == UndoArguments && len(p.Path) > 0
}

// Stray reports whether a string has double braces that are part of no placeholder.
func Stray(s string) bool {
	rest := undoPlaceholder.ReplaceAllString(s, "…")
	return strings.Contains(rest, "{{") || strings.Contains(rest, "}}")
}

// Strings calls visit for every string of the arguments, with its path from path on. Arguments that are no JSON are an
// error.
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

// For returns the arguments of the call that undoes the one of the source. The error says why there is none: a
// placeholder of the result leads nowhere, the result is unknown or was cut, or the arguments are too long.
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
	if err == nil && len(data) > MaxUndoArguments {
		return nil, fmt.Errorf("the arguments would have %d bytes; at most %d are kept ready", len(data), MaxUndoArguments)
	}
	return data, err
}

// fill fills a template. keep is false for one that is nothing but the placeholder of an argument that the call does not
// have: it is left out.
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

// lookup returns what a placeholder stands for; there is false for an argument that the call does not have.
func (s UndoSource) lookup(p UndoPlaceholder) (value any, there bool, err error) {
	switch {
	case !p.Legal():
		return nil, false, fmt.Errorf("%s is not a placeholder", p.Text)
	case p.Source == UndoCall:
		return s.Key, true, nil
	case p.Source == UndoArguments:
		value, err = DecodeJSON(s.Arguments)
		if err != nil {
			return nil, false, fmt.Errorf("%s: the call's arguments are no JSON: %w", p.Text, err)
		}
		value, _, there = walk(value, p.Path)
		return value, there, nil
	case s.Result == nil:
		return nil, false, fmt.Errorf("%s: nobody knows the result of the call; it may have taken effect", p.Text)
	case s.Result.Cut > 0:
		return nil, false, fmt.Errorf("%s: %d bytes of the result were cut; raise the tool's max_result", p.Text, s.Result.Cut)
	}
	if value, err = DecodeJSON(s.Result.Output); err != nil {
		return nil, false, fmt.Errorf("%s: the result is no JSON: %w", p.Text, err)
	}
	value, depth, there := walk(value, p.Path)
	if !there {
		return nil, false, fmt.Errorf("%s: the result has no %q", p.Text, strings.Join(p.Path[:depth+1], "."))
	}
	return value, true, nil
}

// MayHaveActed reports whether a call that failed so may have taken effect all the same: it began, and did not say itself
// that it failed.
func (e *Error) MayHaveActed() bool {
	if e.NotStarted || e.Phase == PhasePreValidation || e.Phase == PhasePreExecution {
		return false
	}
	switch e.Type {
	case ErrTimeout, ErrWorkerLost, ErrOutcomeUnknown, ErrInvalidOutput, ErrCancelled:
		return true
	}
	return false
}
