// Package toolsearch finds tools by what they do, for models with too many tools to see them all.
package toolsearch

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/internal/bm25"
)

// Index returns an index of tools by name, description and parameters.
func Index(offers []models.Offer) *bm25.Index {
	documents := make([][]bm25.Field, len(offers))
	for i, offer := range offers {
		var p parameters
		p.add(offer.Schema)
		documents[i] = []bm25.Field{{Text: offer.Name, Weight: 3},
			{Text: offer.Description, Weight: 1}, {Text: strings.Join(p.names, " "), Weight: 1},
			{Text: strings.Join(p.descriptions, " "), Weight: 0.5}}
	}
	return bm25.New(documents)
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
