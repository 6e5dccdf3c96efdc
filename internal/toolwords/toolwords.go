// Package toolwords returns the words by which a search finds a tool.
package toolwords

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/bm25"
)

// Fields returns a tool as a document of an index: its name, description and parameters. schema is
// the JSON Schema of its arguments.
func Fields(name, description string, schema json.RawMessage) []bm25.Field {
	var p parameters
	p.add(schema)
	return []bm25.Field{{Text: name, Weight: 3}, {Text: description, Weight: 1},
		{Text: strings.Join(p.names, " "), Weight: 1},
		{Text: strings.Join(p.descriptions, " "), Weight: 0.5}}
}

// parameters are the names of the parameters in a schema, and their descriptions and enumerated
// texts, at any depth.
type parameters struct{ names, descriptions []string }

// add adds the parameters of a schema.
func (p *parameters) add(schema json.RawMessage) {
	var s struct {
		Description string                     `json:"description"`
		Enum        []any                      `json:"enum"`
		Properties  map[string]json.RawMessage `json:"properties"`
		Items       json.RawMessage            `json:"items"`
	}
	if json.Unmarshal(schema, &s) != nil { // true, or another schema without parameters
		return
	}
	p.descriptions = append(p.descriptions, s.Description)
	for _, value := range s.Enum {
		if text, ok := value.(string); ok {
			p.descriptions = append(p.descriptions, text)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.names = append(p.names, name)
		p.add(s.Properties[name])
	}
	p.add(s.Items)
}
