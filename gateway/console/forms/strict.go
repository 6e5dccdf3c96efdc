package forms

import (
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Strict returns a text as a JSON value, or what is wrong with it. Like admission it refuses
// objects with a member twice.
func Strict(text string) (json.RawMessage, string) {
	if strings.TrimSpace(text) == "" {
		return nil, "enter a JSON value"
	}
	if _, fault := jsontext.ParseOrdered([]byte(text)); fault != nil {
		return nil, "not valid JSON: " + fault.Error()
	}
	return json.RawMessage(compact(json.RawMessage(text))), ""
}
