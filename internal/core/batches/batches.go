// Package batches combines calls of one turn into one call, and divides its outcome.
package batches

import (
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Elements returns the list in a call's arguments, and the other arguments in a canonical form. The
// error says that there is no such list.
func Elements(b api.Batch, arguments json.RawMessage) (list []any, others string, err error) {
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return nil, "", err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("the arguments are not an object")
	}
	if list, ok = object[b.Argument].([]any); !ok {
		return nil, "", fmt.Errorf("the argument %s is not a list", b.Argument)
	}
	delete(object, b.Argument)
	data, err := jsonvalue.Encode(object)
	return list, string(data), err
}

// Arguments returns arguments with another list.
func Arguments(b api.Batch, arguments json.RawMessage, list []any) (json.RawMessage, error) {
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments are not an object")
	}
	object[b.Argument] = list
	return jsonvalue.Encode(object)
}

// Part returns the outcome of one batched call; o is the outcome of the batch.
func Part(o api.CallOutcome, id string) api.CallOutcome {
	own := api.CallOutcome{ID: id, Tool: o.Tool}
	if o.Error != nil {
		e := *o.Error
		own.Error = &e
		return own
	}
	for _, part := range o.Result.Parts {
		if part.ID == id {
			return part
		}
	}
	own.Error = api.Errorf(api.ErrInvalidOutput,
		"the call was batched with others, and the worker did not return its part of the result")
	own.Error.Phase = api.PhasePostExecution
	return own
}
