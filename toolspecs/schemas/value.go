package schemas

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// CheckValue returns the problems of a JSON value under a JSON Schema, as for an argument with that
// schema, including undeclared properties. The error explains why the schema is invalid.
func CheckValue(schema, value json.RawMessage) ([]api.Problem, error) {
	compiled, err := compileSchema(schema)
	if err != nil {
		return nil, err
	}
	v, jsonErr := jsontext.Parse(string(value))
	if jsonErr != nil {
		return []api.Problem{{Path: jsonErr.Path(), Rule: jsonErr.Rule, Message: jsonErr.Error()}},
			nil
	}
	return checkShaped(v, compiled.root, ShapeOf(Decoded(schema), "")), nil
}
