package imports

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/tailscale/hujson"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/toolspecs"
)

// Kinds of sources.
const (
	KindOpenAPI   = "openapi"
	KindMCP       = "mcp"
	KindMCPConfig = "mcp-config"
	KindFunctions = "functions"
	KindRegistry  = "registry"
)

// registryTable begins a tool of a registry.
var registryTable = regexp.MustCompile(`(?m)^\s*\[\[\s*tool\s*\]\]`)

// DetectKind returns the kind of a document by its content; empty if it is unknown.
func DetectKind(file string, data []byte) string {
	if toolspecs.IsServersFile(file) {
		return KindMCPConfig
	}
	// Where this fails, the text is returned as it is: it is not JSON.
	plain, _ := hujson.Standardize(bytes.Clone(data))
	root, _, err := parse(file, plain)
	o, _ := root.(*jsontext.Object)
	_, isList := root.([]any)
	switch {
	case err != nil && registryTable.Match(data):
		return KindRegistry
	case o.Has("openapi"), o.Has("swagger"):
		return KindOpenAPI
	case serversIn(root) != nil:
		return KindMCPConfig
	case isList, o.Has("name"), slices.ContainsFunc(wrappers, o.Has):
		return KindFunctions
	}
	return ""
}
