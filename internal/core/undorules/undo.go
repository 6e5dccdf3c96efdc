// Package undorules decides when a call is undone or verified, and with which arguments.
package undorules

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Applies reports whether calls are undone after a failure, or after a cancellation.
func Applies(w api.UndoWhen, cancelled bool) bool {
	switch w {
	case api.UndoOnFailure:
		return !cancelled
	case api.UndoOnCancel:
		return cancelled
	}
	return w != api.UndoNever
}

// maxArguments bounds the arguments of one undoing call, in bytes.
const maxArguments = 32 << 10

// CallID returns the id of the call that undoes the call of that id.
func CallID(callID string) string { return "undo-" + callID }

// VisitStrings calls visit for every string of the arguments with its path, which starts with path.
// Invalid JSON is an error.
func VisitStrings(u api.Undo, path string, visit func(path, s string)) error {
	if len(u.Arguments) == 0 {
		return nil
	}
	value, err := jsonvalue.Decode(u.Arguments)
	if err == nil {
		jsonvalue.WalkStrings(value, path, visit)
	}
	return err
}

// Arguments returns the arguments of the undoing call. It fails if a placeholder of the result does
// not exist, the result is unknown or cut, or the arguments are too long.
func Arguments(u api.Undo, s placeholders.Source) (json.RawMessage, error) {
	if len(u.Arguments) == 0 {
		return json.RawMessage("{}"), nil
	}
	template, err := jsonvalue.Decode(u.Arguments)
	if err != nil {
		return nil, err
	}
	filled, _, err := s.Fill(template)
	if err != nil {
		return nil, err
	}
	data, err := jsonvalue.Encode(filled)
	if err == nil && len(data) > maxArguments {
		return nil, fmt.Errorf("the arguments would have %d bytes; the maximum is %d",
			len(data), maxArguments)
	}
	return data, err
}
