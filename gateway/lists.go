package gateway

import (
	"bytes"
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

// listTTL is how long clients may keep the list, in milliseconds.
const listTTL = 60_000

// searchIndex is the index of the newest selection that was searched.
type searchIndex struct {
	mu      sync.Mutex
	digests string
	index   *bm25.Index
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
	Tools      []*mcp.Tool `json:"tools"`
}

// listTools returns the tools, or the tools to search with if there are too many.
func (r *request) listTools(p *mcp.ListToolsParams) (mcp.Result, error) {
	if p.Cursor != "" {
		return nil, invalid("the cursor is not one of this server: the list has one page")
	}
	all, err := r.selection()
	if err != nil {
		return nil, err
	}
	res := &listed{Cacheable: mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}}
	if r.modern() {
		res.ResultType = resultComplete
	}
	if len(all) > r.config.MaxListed {
		res.Tools = searchTools()
		return res, nil
	}
	for _, t := range all {
		res.Tools = append(res.Tools, toTool(t))
	}
	res.Tools = append(res.Tools, resultTool())
	return res, nil
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

// of returns the index of a selection.
func (x *searchIndex) of(all []*toolspecs.Compiled) *bm25.Index {
	var digests strings.Builder
	for _, t := range all {
		digests.WriteString(t.Digest)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index != nil && x.digests == digests.String() {
		return x.index
	}
	documents := make([][]bm25.Field, len(all))
	for i, t := range all {
		documents[i] = toolwords.Fields(t.Spec.Name, t.Spec.Description, t.InputSchema())
	}
	x.digests, x.index = digests.String(), bm25.New(documents)
	return x.index
}
