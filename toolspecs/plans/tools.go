package plans

import (
	"slices"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

func CheckToolName(doc *strictyaml.Document, path, name string, known []string, complaint string) {
	if known != nil && name != "" && !slices.Contains(known, name) {
		doc.Report(path, complaint+" "+jsontext.Shorten(name), spelling.Hint(name, known))
	}
}
