package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/bm25"
	"github.com/switchyard/switchyard/internal/toolwords"
	"github.com/switchyard/switchyard/toolspecs"
)

const (
	// pageSize is the number of tools of one page of the list.
	pageSize = 500
	// listTTL is how long clients may keep the list, in milliseconds.
	listTTL = 60_000
)

// offers caches what clients see of tools, by digest, and the index of the newest selection.
type offers struct {
	mu     sync.Mutex
	tools  map[string]*mcp.Tool
	names  string
	search *bm25.Index
}

// selection returns the tools that a caller may use, sorted by name.
func (r *request) selection() ([]*toolspecs.Compiled, error) {
	all := slices.DeleteFunc(r.config.Catalog().All(), func(t *toolspecs.Compiled) bool {
		return t.Spec.Status == api.StatusDisabled || builtin(t.Spec.Name)
	})
	if r.config.Select != nil {
		var err error
		if all, err = r.config.Select(r.http.server, r.caller, all); err != nil {
			return nil, invalid(err.Error())
		}
	}
	slices.SortFunc(all, func(a, b *toolspecs.Compiled) int {
		return strings.Compare(a.Spec.Name, b.Spec.Name)
	})
	return all, nil
}

// listed is the result of tools/list.
type listed struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string      `json:"resultType,omitempty"`
	NextCursor string      `json:"nextCursor,omitempty"`
	Tools      []*mcp.Tool `json:"tools"`
}

// listTools returns a page of the tools, or the tools to search with if there are too many.
func (r *request) listTools(p *mcp.ListToolsParams) (mcp.Result, error) {
	all, err := r.selection()
	if err != nil {
		return nil, err
	}
	res := &listed{Cacheable: mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"},
		Tools: []*mcp.Tool{}}
	if r.modern() {
		res.ResultType = resultComplete
	}
	if len(all) > r.config.MaxListed {
		res.Tools = searchTools()
		return res, nil
	}
	after, err := decodeCursor(p.Cursor)
	if err != nil {
		return nil, err
	}
	for _, t := range all {
		switch {
		case t.Spec.Name <= after && after != "":
		case len(res.Tools) == pageSize:
			res.NextCursor = base64.RawURLEncoding.EncodeToString(
				[]byte(res.Tools[pageSize-1].Name))
			return res, nil
		default:
			res.Tools = append(res.Tools, r.tools.of(t))
		}
	}
	res.Tools = append(res.Tools, resultTool())
	return res, nil
}

func decodeCursor(text string) (after string, err error) {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || text != "" && len(data) == 0 {
		return "", invalid("the cursor is not one of this server")
	}
	return string(data), nil
}

// of returns what clients see of a tool.
func (o *offers) of(t *toolspecs.Compiled) *mcp.Tool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if tool := o.tools[t.Digest]; tool != nil {
		return tool
	}
	if o.tools == nil || len(o.tools) > 4*pageSize {
		o.tools = map[string]*mcp.Tool{}
	}
	tool := toTool(t)
	o.tools[t.Digest] = tool
	return tool
}

func toTool(t *toolspecs.Compiled) *mcp.Tool {
	effect := t.Tool().Effect
	notes := &mcp.ToolAnnotations{ReadOnlyHint: effect == api.EffectRead,
		IdempotentHint: effect != api.EffectOnce}
	if effect == api.EffectRead {
		destructive := false
		notes.DestructiveHint = &destructive
	}
	tool := &mcp.Tool{Name: t.Spec.Name, Description: t.Spec.Description,
		InputSchema: t.InputSchema(), Annotations: notes}
	if schema := outputSchema(t.OutputSchema()); schema != nil {
		tool.OutputSchema = schema
	}
	return tool
}

// outputSchema returns the schema of a tool's structured result: that of its output, or a call that
// is pending. It returns nil for a result that is no object, which older revisions do not allow,
// and for schemas with references, which would no longer resolve.
func outputSchema(schema json.RawMessage) json.RawMessage {
	if !isObjectSchema(schema) || bytes.Contains(schema, []byte(`"$`)) {
		return nil
	}
	return slices.Concat([]byte(`{"type":"object","anyOf":[`), schema, []byte(`,`), pendingSchema,
		[]byte(`]}`))
}

func isObjectSchema(schema json.RawMessage) bool {
	var s struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &s) == nil && s.Type == "object"
}

// index returns the search index of a selection.
func (o *offers) index(all []*toolspecs.Compiled) *bm25.Index {
	var digests strings.Builder
	documents := make([][]bm25.Field, len(all))
	for _, t := range all {
		digests.WriteString(t.Digest)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.search != nil && o.names == digests.String() {
		return o.search
	}
	for i, t := range all {
		documents[i] = toolwords.Fields(t.Spec.Name, t.Spec.Description, t.InputSchema())
	}
	o.names, o.search = digests.String(), bm25.New(documents)
	return o.search
}
