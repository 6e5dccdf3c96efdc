package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// call is a request that is being described: the tool's arguments, and where they go.
type call struct {
	doc *document
	op  operation
	converter
	notes noted

	taken          argumentNames
	properties     *jsontext.Object
	required       []any
	path           string
	query, headers *jsontext.Object
	body           any
	encoding       string
	auth           *outbound.Auth
}

// tool creates the tool of an operation. The error is the reason if it cannot.
func (d *document) tool(op operation, name string) (Tool, error) {
	c := &call{doc: d, op: op, converter: converter{definitions: d.schemas},
		taken: argumentNames{}, properties: object(), path: op.path, query: object(),
		headers: object()}
	if err := c.fill(); err != nil {
		return Tool{}, err
	}
	base, err := c.baseURL()
	if err != nil {
		return Tool{}, err
	}
	entry := toolspecs.RESTEntry{BaseURL: base, Method: c.op.method, Path: c.path,
		Query: encodedMembers(c.query), Headers: encodedMembers(c.headers), Encoding: c.encoding,
		Auth: c.auth, Allow: d.options.Allow}
	if c.body != nil {
		entry.Body = encoded(c.body)
	}
	s := toolspecs.Spec{Name: name, Version: d.version, Description: c.description(),
		Category: "http", Tags: usableTags(op.tags()), InputSchema: c.inputSchema(),
		Entry:     toolspecs.Entry{Kind: entry},
		Execution: toolspecs.ExecutionSpec{Effect: methodEffect(op.method)},
	}
	if flagAt(op.op, "deprecated") {
		s.Status = api.StatusDeprecated
	}
	return Tool{Spec: s, Notes: c.notes.notes}, nil
}

// fill reads the operation's parameters and body.
func (c *call) fill() error {
	err := c.supported()
	if err != nil {
		return err
	}
	if c.auth, err = c.findAuth(); err != nil {
		return err
	}
	parameters, err := c.parameters()
	if err != nil {
		return err
	}
	for _, p := range parameters {
		if err := c.parameter(p); err != nil {
			return fmt.Errorf("parameter %s: %w", p.name, err)
		}
	}
	c.declareSlots()
	c.path = escape(c.path)
	return c.readBody()
}

// supported returns what a toolspec cannot express of the operation.
func (c *call) supported() error {
	if c.op.method == http.MethodTrace || c.op.method == "QUERY" {
		return fmt.Errorf("the method %s is not supported", c.op.method)
	}
	if strings.ContainsAny(c.op.path, "?#") || !strings.HasPrefix(c.op.path, "/") {
		return fmt.Errorf("%q is not a path: it begins with / and has neither ? nor #", c.op.path)
	}
	return nil
}

// argument declares an argument and returns the placeholder for it.
func (c *call) argument(wanted, where string, schema any, required bool) string {
	name := c.taken.name(wanted, where)
	c.properties.Set(name, schema)
	if required {
		c.required = append(c.required, name)
	}
	return "{{args." + name + "}}"
}

func (c *call) inputSchema() json.RawMessage {
	s := object(keyType, typeObject, keyProperties, c.properties)
	if len(c.required) > 0 {
		s.Set(keyRequired, c.required)
	}
	s.Set(keyAdditional, false)
	c.complete(s)
	return encoded(s)
}

// encodedMembers writes an object; nothing if it is empty.
func encodedMembers(o *jsontext.Object) json.RawMessage {
	if len(o.Keys) == 0 {
		return nil
	}
	return encoded(o)
}

// methodEffect is what HTTP promises of a method. Of POST and PATCH it promises nothing.
func methodEffect(method string) api.Effect {
	switch {
	case outbound.Safe(method):
		return api.EffectRead
	case method == http.MethodPut || method == http.MethodDelete:
		return api.EffectIdempotent
	}
	return api.EffectOnce
}

// description is the text for models: the summary and what the description adds to it.
func (c *call) description() string {
	summary := strings.TrimSpace(textAt(c.op.op, "summary"))
	text := strings.TrimSpace(strings.ReplaceAll(textAt(c.op.op, keyDescription), "\r\n", "\n"))
	if strings.HasPrefix(strings.ToLower(text), strings.ToLower(strings.TrimRight(summary, "."))) {
		summary = ""
	}
	return cmp.Or(cut(strings.TrimSpace(sentences(summary)+"\n\n"+text), maxToolText),
		c.op.source())
}

func usableTags(given []string) []string {
	var tags []string
	for _, tag := range given {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}
