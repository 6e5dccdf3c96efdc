package api

import (
	"encoding/json"
	"fmt"
)

// Batch says how calls of one turn to a tool are made together (requirement G3): those whose other arguments are equal become one,
// whose list has the elements of all of them. The output is a list too, with one element for each.
type Batch struct {
	// Argument is the parameter that holds the list.
	Argument string `json:"argument"`
	// Max is how many elements are made together at most; default 50.
	Max int `json:"max"`
}

// DefaultBatch is how many elements are made together where a toolspec does not say.
const DefaultBatch = 50

// Part is one of the calls that are made together.
type Part struct {
	// ID is the call's.
	ID string `json:"call_id"`
	// Elements is how many of the list's elements are the call's, behind those of the parts before it.
	Elements int `json:"elements"`
}

// Elements returns the list in a call's arguments, and the other arguments in a form that is the same for equal ones. The error
// says that there is no such list.
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

// PartOf returns what became of one of the calls that were made together; o is what became of all of them.
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
