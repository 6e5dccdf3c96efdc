package toolspecs

import (
	"encoding/json"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// Form is what a person's answer must fit, or a tool's result.
type Form struct {
	schema *jsonschema.Schema
	shape  *shape
}

// NewForm compiles a JSON Schema, by default of draft 2020-12, that refers only to itself. No schema makes a form that
// every JSON value fits.
func NewForm(schema json.RawMessage) (*Form, error) {
	if len(schema) == 0 {
		return &Form{}, nil
	}
	compiled, err := compileSchema(schema)
	if err != nil {
		return nil, fmt.Errorf("this is not a usable JSON Schema: %w", err)
	}
	return &Form{schema: compiled.root}, nil
}

// Check returns everything that is wrong with a value.
func (f *Form) Check(value json.RawMessage) []api.Problem {
	v, err := jsontext.Parse(string(value))
	if err != nil {
		return []api.Problem{{Path: err.Path(), Rule: err.Rule, Message: "the result is not usable JSON: " + err.Error()}}
	}
	if f.schema == nil {
		return nil
	}
	return sorted(validate(v, f.schema, f.shape))
}
