// Package toolsearch finds tools by what they do, for models with too many tools to see them all.
package toolsearch

import (
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/internal/bm25"
	"github.com/switchyard/switchyard/internal/toolwords"
)

// Index returns an index of tools by name, description and parameters.
func Index(offers []models.Offer) *bm25.Index {
	documents := make([][]bm25.Field, len(offers))
	for i, offer := range offers {
		documents[i] = toolwords.Fields(offer.Name, offer.Description, offer.Schema)
	}
	return bm25.New(documents)
}
