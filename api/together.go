package api

import (
	"encoding/json"
	"fmt"
)

// Batch declares how calls of one turn to a tool are batched (requirement G3): calls whose other
// arguments are equal become one, whose list has the elements of all of them. The output is a list
// with one element for each.
type Batch struct {
	// Argument is the parameter that holds the list.
	Argument string `json:"argument"`
	// Max bounds the elements of one batch; default 50.
	Max int `json:"max"`
}

// DefaultBatch is the default bound of a batch.
const DefaultBatch = 50

// Part is one of the batched calls.
type Part struct {
	// ID is the id of the call.
	ID string `json:"call_id"`
	// Elements is how many elements of the list belong to the call, after those of the parts before
	// it.
	Elements int `json:"elements"`
}

// Elements returns the list in a call's arguments, and the other arguments in a canonical form. The
// error says that there is no such list.
func (b Batch) Elements(arguments json.RawMessage) (list []any, others string, err error) {
	value, err := DecodeJSON(arguments)
	if err != nil {
		return nil, "", err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, "", fmt.Errorf("the arguments are no object")
	}
	if list, ok = object[b.Argument].([]any); !ok {
		return nil, "", fmt.Errorf("the argument %s is no list", b.Argument)
	}
	delete(object, b.Argument)
	data, err := EncodeJSON(object)
	return list, string(data), err
}

// With returns arguments with another list.
func (b Batch) With(arguments json.RawMessage, list []any) (json.RawMessage, error) {
	value, err := DecodeJSON(arguments)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments are no object")
	}
	object[b.Argument] = list
	return EncodeJSON(object)
}

// PartOf returns the outcome of one batched call; o is the outcome of the batch.
func (o CallOutcome) PartOf(id string) CallOutcome {
	own := CallOutcome{ID: id, Tool: o.Tool}
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
	own.Error = Errorf(ErrInvalidOutput, "the call was made together with others, and the worker did not tell its part of the answer")
	own.Error.Phase = PhasePostExecution
	return own
}
