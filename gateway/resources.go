package gateway

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// short bounds a text of a client in a message.
func short(text string) string { return display.Shorten(text, 100) }

// page returns the part of a list after a cursor, as clients see it.
func page[T, S any](all []T, cursor string, key func(T) string, shown func(T) S) (part []S,
	next string, err error) {
	after, err := cursorOf(cursor)
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

// read returns the contents of a resource, one or more.
func (r *contentRequest) read(uri string) ([]*mcp.ResourceContents, error) {
	c, err := r.view.Read(uri)
	switch {
	case errors.Is(err, content.ErrNotFound):
		return nil, r.noResource(uri)
	case err != nil:
		return nil, r.unreadable(uri, err)
	case c.Tool != "":
		return r.readByTool(uri, c)
	}
	read := &mcp.ResourceContents{URI: uri, MIMEType: c.MIMEType}
	if read.Blob = c.Data; c.Text {
		read.Text, read.Blob = string(c.Data), nil
	}
	return []*mcp.ResourceContents{read}, nil
}

// readByTool returns the contents of a resource that a tool returns: it makes a call in the
// caller's session, which is recorded as every other call. Only tools that read are called, because
// clients read resources without asking anybody.
func (r *contentRequest) readByTool(uri string, c content.Contents) ([]*mcp.ResourceContents,
	error) {
	tool, err := r.find(c.Tool)
	if err != nil || tool.Tool().Effect != api.EffectRead {
		r.config.Logger.Warn("a resource cannot be read: its tool is not offered here, or its "+
			"effect is not read", "resource", uri, "tool", c.Tool)
		return nil, r.noResource(uri)
	}
	args, err := jsonvalue.Encode(typed(tool.InputSchema(), c.Arguments))
	if err != nil {
		return nil, r.unreadable(uri, err)
	}
	call, refusal, err := r.start(tool, args, "")
	if err == nil && refusal != nil {
		err = notRead("the session has too many open calls; try again later")
	}
	if err == nil {
		err = call.await(r.config.Wait)
	}
	if err != nil {
		return nil, err
	}
	res, err := resultOf(call)
	if err != nil {
		return nil, err
	}
	return resourceOf(uri, c.MIMEType, res), nil
}

// resultOf returns the result of a call for a resource, or why there is none.
func resultOf(c *openCall) (*api.Result, error) {
	switch o := c.status.Outcome; {
	case c.status.State != api.SessionCallEnded || o == nil:
		return nil, notRead(fmt.Sprintf("the call of %s is pending; the tool %s returns its "+
			"result with {\"call_id\": %q}", c.tool.Spec.Name, getResult, c.handle()))
	case o.Error != nil:
		return nil, notRead(o.Error.ForModel())
	case o.Result == nil:
		return nil, notRead("the call ended without a result")
	default:
		return o.Result, nil
	}
}

func notRead(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: message}
}

// typed returns the arguments of a call with the types that the schema of the tool has for them:
// the variables of an address are texts.
func typed(schema json.RawMessage, texts map[string]string) map[string]any {
	s, _ := schemaOf(schema)
	args := map[string]any{}
	for name, text := range texts {
		args[name] = text
		property, _ := schemaOf(s.Properties[name])
		switch property.Type {
		case "integer", "number":
			if _, err := strconv.ParseFloat(text, 64); err == nil {
				args[name] = json.Number(text)
			}
		case "boolean":
			if b, err := strconv.ParseBool(text); err == nil {
				args[name] = b
			}
		}
	}
	return args
}

// resourceOf returns the result of a call as the contents of a resource.
func resourceOf(uri, mimeType string, res *api.Result) []*mcp.ResourceContents {
	var all []*mcp.ResourceContents
	for _, c := range contentOf(res) {
		read := &mcp.ResourceContents{URI: uri, MIMEType: mimeType}
		switch c := c.(type) {
		case *mcp.TextContent:
			read.Text = c.Text
			if mimeType == "" {
				read.MIMEType = typeOf(res.Output)
			}
		case *mcp.ImageContent:
			read.Blob, read.MIMEType = c.Data, c.MIMEType
		case *mcp.AudioContent:
			read.Blob, read.MIMEType = c.Data, c.MIMEType
		case *mcp.EmbeddedResource:
			read = c.Resource
		default:
			continue
		}
		all = append(all, read)
	}
	if len(all) == 0 {
		all = append(all, &mcp.ResourceContents{URI: uri, MIMEType: "text/plain",
			Text: res.ForModel()})
	}
	return all
}

// typeOf returns the type of a text that a model gets for an output.
func typeOf(output json.RawMessage) string {
	if len(output) > 0 && (output[0] == '{' || output[0] == '[') {
		return "application/json"
	}
	return "text/plain"
}
