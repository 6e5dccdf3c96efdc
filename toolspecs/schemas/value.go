package schemas

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// CheckValue returns what is wrong with a JSON value by a JSON Schema, as an argument of that
// schema would be checked, undeclared properties included. The error says why the schema is none.
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
