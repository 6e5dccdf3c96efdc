package toolspecs

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
)

// CheckValue returns what is wrong with a JSON value by a JSON Schema, as an argument of that schema would be checked,
// undeclared properties included. The error says why the schema is none.
func CheckValue(schema, value json.RawMessage) ([]api.Problem, error) {
	compiled, err := compileSchema(schema)
	if err != nil {
		return nil, err
	}
	v, jsonErr := parseJSON(string(value))
	if jsonErr != nil {
		return []api.Problem{{Path: jsonErr.path(), Rule: jsonErr.rule, Message: jsonErr.Error()}}, nil
	}
	return checkValue(v, compiled.root, shapeOfSchema(decoded(schema), "")), nil
}
