package gateway

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// headerNote is what the schema of a tool has whose clients repeat arguments in headers.
var headerNote = []byte(`"x-mcp-header"`)

// declareHeaders has the SDK compare the headers Mcp-Param-* of calls with their arguments: it does
// so for the tools that a server has, which are otherwise none.
func (g *Gateway) declareHeaders() {
	g.headers.Lock()
	defer g.headers.Unlock()
	var names []string
	for _, t := range g.config.Catalog().All() {
		schema := t.InputSchema()
		if t.Spec.Status == api.StatusDisabled || !bytes.Contains(schema, headerNote) {
			continue
		}
		if err := declareHeader(g.mcp.shared, t.Spec.Name, schema); err != nil {
			g.config.Logger.Warn("the headers of a tool's calls are not compared with its "+
				"arguments", "tool", t.Spec.Name, "error", err)
			continue
		}
		names = append(names, t.Spec.Name)
	}
	gone := slices.DeleteFunc(g.withHeaders, func(name string) bool {
		return slices.Contains(names, name)
	})
	g.mcp.shared.RemoveTools(gone...)
	g.withHeaders = names
}

// declareHeader adds a tool to a server. The error says that the names of its headers are invalid,
// for which the SDK panics.
func declareHeader(s *mcp.Server, name string, schema any) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%v", cause)
		}
	}()
	s.AddTool(&mcp.Tool{Name: name, InputSchema: schema}, nil)
	return nil
}
