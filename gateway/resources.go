package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/internal/value/display"
)

// short bounds a text of a client in a message.
func short(text string) string { return display.Shorten(text, 100) }

// page returns the part of a list after a cursor, as clients see it.
func page[T, S any](all []T, cursor string, key func(T) string, shown func(T) S) (part []S,
	next string, err error) {
	after, err := decodeCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	part = []S{}
	found := after == ""
	for i, item := range all {
		switch {
		case !found:
			found = key(item) == after
		case len(part) == pageSize:
			return part, base64.RawURLEncoding.EncodeToString([]byte(key(all[i-1]))), nil
		default:
			part = append(part, shown(item))
		}
	}
	if !found {
		return nil, "", invalid("the list has changed; begin with its first page")
	}
	return part, "", nil
}

// listResources serves resources/list.
func (r *contentRequest) listResources(p *mcp.ListResourcesParams) (mcp.Result, error) {
	res := r.newList()
	var err error
	res.Resources, res.NextCursor, err = page(r.view.Resources(), p.Cursor,
		func(l content.Listed) string { return l.URI }, func(l content.Listed) *mcp.Resource {
			return &mcp.Resource{URI: l.URI, Name: l.Name, Title: l.Title,
				Description: l.Description, MIMEType: l.MIMEType, Size: l.Size}
		})
	return res, err
}

// listTemplates serves resources/templates/list.
func (r *contentRequest) listTemplates(p *mcp.ListResourceTemplatesParams) (mcp.Result, error) {
	res := r.newList()
	var err error
	res.Templates, res.NextCursor, err = page(r.view.Templates(), p.Cursor,
		func(c *content.Resource) string { return c.URI },
		func(c *content.Resource) *mcp.ResourceTemplate {
			return &mcp.ResourceTemplate{URITemplate: c.URI, Name: c.Label(), Title: c.Title,
				Description: c.Description, MIMEType: c.MIMEType}
		})
	return res, err
}

// readResult is the result of resources/read.
type readResult struct {
	mcp.ResultBase
	mcp.Cacheable
	ResultType string                  `json:"resultType,omitempty"`
	Contents   []*mcp.ResourceContents `json:"contents"`
}

// readResource serves resources/read.
func (r *contentRequest) readResource(p *mcp.ReadResourceParams) (mcp.Result, error) {
	res := &readResult{Cacheable: mcp.Cacheable{CacheScope: "private"}}
	if r.modern() {
		res.ResultType = resultComplete
	}
	var err error
	res.Contents, err = r.read(p.URI)
	return res, err
}

// codeNoResource is that of older revisions.
const codeNoResource = -32002

// noResource returns the protocol error for a resource that the caller does not get.
func (r *contentRequest) noResource(uri string) error {
	data, err := json.Marshal(map[string]string{"uri": uri})
	if err != nil { // texts can be encoded
		panic(err)
	}
	e := &jsonrpc.Error{Code: codeNoResource, Message: "there is no such resource", Data: data}
	if r.modern() {
		e.Code = jsonrpc.CodeInvalidParams
	}
	return e
}

// read returns the contents of a resource.
func (r *contentRequest) read(uri string) ([]*mcp.ResourceContents, error) {
	c, err := r.view.Read(uri)
	switch {
	case errors.Is(err, content.ErrNotFound):
		return nil, r.noResource(uri)
	case err != nil:
		return nil, r.unreadable(uri, err)
	}
	read := &mcp.ResourceContents{URI: uri, MIMEType: c.MIMEType}
	if read.Blob = c.Data; c.Text {
		read.Text, read.Blob = string(c.Data), nil
	}
	return []*mcp.ResourceContents{read}, nil
}
