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

const (
	// maxDepth bounds how deep the schemas of a tool's arguments or result may nest.
	maxDepth = 12
	// maxSchemas bounds the number of schemas that make up a tool's arguments before they are
	// shortened.
	maxSchemas = 1500
	// maxWords bounds the description of one argument, in characters.
	maxWords = 240
	// maxFitted bounds a schema that cannot be shortened further, in bytes.
	maxFitted = 256 << 10
)

// deepest translates at increasing depths and stops when nothing more is found or the result is too
// large; it then returns the previous depth's result. try translates at one depth and reports
// whether something was cut and whether it was too much.
func deepest(try func(depth int) (cut, over bool, err error)) error {
	for depth := 2; ; depth++ {
		cut, over, err := try(depth)
		if err != nil || !cut || over || depth == maxDepth {
			return err
		}
	}
}

// call is a request that is being described: the tool's arguments, and where they go.
type call struct {
	doc   *document
	op    operation
	t     *translator
	notes noted

	taken          argumentNames
	properties     *jsontext.Object
	required       []any
	path           string
	query, headers *jsontext.Object
	cookies        []string
	body           any
	encoding       string
	auth           *outbound.Auth
}

// tool creates the tool of an operation. The error is the reason if it cannot.
func (d *document) tool(op operation) (Tool, error) {
	var c *call
	err := deepest(func(depth int) (bool, bool, error) {
		next := d.call(op, depth)
		if err := next.fill(); err != nil {
			return false, false, err
		}
		over := next.t.left <= 0 && c != nil
		if !over {
			c = next
		}
		return next.t.cut, over, nil
	})
	if err != nil {
		return Tool{}, err
	}
	if c.t.cut {
		c.notes.add("", "arguments nested more than %d deep accept any value", c.t.most)
	}
	if shortened := fit(c.properties, d.options.MaxSchema); len(shortened) > 0 {
		c.notes.add("", "the schema of its arguments is shortened to %d bytes: in %s deeper levels accept any value or descriptions are cut",
			d.options.MaxSchema, listed(shortened))
	}
	schema := c.inputSchema()
	if len(schema) > maxFitted {
		return Tool{}, fmt.Errorf(
			"the schema of its arguments has %d bytes, too many to show to a model",
			len(schema))
	}
	return c.tool(schema)
}

func (d *document) call(op operation, depth int) *call {
	c := &call{doc: d, op: op, taken: argumentNames{}, properties: jsontext.NewObject(),
		path: op.path, query: jsontext.NewObject(), headers: jsontext.NewObject()}
	c.t = &translator{root: d.root, most: depth, left: maxSchemas, keep: d.keep, notes: &c.notes,
		known: d.known}
	return c
}

// fill reads the operation's parameters and body.
func (c *call) fill() error {
	err := c.supported()
	if err != nil {
		return err
	}
	if c.auth, err = c.authOf(); err != nil {
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
	c.undeclared()
	c.path = escaped(c.path)
	if len(c.cookies) > 0 {
		c.headers.Set("Cookie", strings.Join(c.cookies, "; "))
	}
	return bodyPlacer{c}.readBody()
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
func (c *call) argument(wanted, where string, schema *jsontext.Object, required bool) string {
	name := c.taken.name(wanted, where)
	c.properties.Set(name, schema)
	if required {
		c.required = append(c.required, name)
	}
	return "{{args." + name + "}}"
}

func (c *call) inputSchema() json.RawMessage {
	s := jsontext.NewObject()
	s.Set(keyType, typeObject)
	s.Set(keyProperties, c.properties)
	if len(c.required) > 0 {
		s.Set(keyRequired, c.required)
	}
	s.Set(keyAdditional, false)
	return encoded(s)
}

func (c *call) tool(schema json.RawMessage) (Tool, error) {
	base, err := c.baseURL()
	if err != nil {
		return Tool{}, err
	}
	entry := toolspecs.RESTEntry{BaseURL: base, Method: c.op.method, Path: c.path,
		Query: members(c.query), Headers: members(c.headers), Encoding: c.encoding,
		Auth: c.auth, Allow: c.doc.options.Allow}
	if c.body != nil {
		entry.Body = encoded(c.body)
	}
	s := toolspecs.Spec{
		Name: c.op.name, Version: c.doc.version, Description: c.description(), Category: "http",
		Tags:        c.tags(),
		InputSchema: schema,
		Entry:       toolspecs.Entry{Kind: entry},
		Execution:   toolspecs.ExecutionSpec{Effect: effectOf(c.op.method)},
	}
	if jsontext.Member[bool](c.op.op, "deprecated") {
		s.Status = api.StatusDeprecated
	}
	if c.doc.options.Output {
		c.output(&s)
	}
	return Tool{Spec: s, Source: c.op.source(), Notes: c.notes.notes}, nil
}

func members(o *jsontext.Object) json.RawMessage {
	if len(o.Keys) == 0 {
		return nil
	}
	return encoded(o)
}

// effectOf is what HTTP promises of a method. Of POST and PATCH it promises nothing.
func effectOf(method string) api.Effect {
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
	summary, text := plain(jsontext.Member[string](c.op.op, "summary"), maxToolText),
		plain(jsontext.Member[string](c.op.op, keyDescription), maxToolText)
	if strings.HasPrefix(strings.ToLower(text), strings.ToLower(strings.TrimRight(summary, "."))) {
		summary = ""
	}
	return cmp.Or(cut(sentences(summary, text), maxToolText), c.op.source())
}

func (c *call) tags() []string {
	var tags []string
	for _, tag := range texts(c.op.op.Get("tags")) {
		if tag = strings.TrimSpace(tag); tag != "" {
			tags = append(tags, tag)
		}
	}
	return tags
}

// output declares the result by the first successful response that is JSON.
func (c *call) output(s *toolspecs.Spec) {
	responses := jsontext.Member[*jsontext.Object](c.op.op, "responses")
	for _, status := range responses.Names() {
		if !strings.HasPrefix(status, "2") {
			continue
		}
		response, err := chased(c.doc.root, responses.Members[status])
		if err != nil {
			c.notes.add("", "the response %s accepts any value: %v", status, err)
			continue
		}
		media, _ := pickMedia(jsontext.Member[*jsontext.Object](response, "content"))
		if media.encoding != encodingJSON || !media.content.Has("schema") {
			continue
		}
		c.outputSchema(s, media.content.Get("schema"))
		return
	}
}

func (c *call) outputSchema(s *toolspecs.Spec, schema any) {
	const where = "the result"
	result := jsontext.NewObject()
	var notes noted
	_ = deepest(func(depth int) (bool, bool, error) {
		var n noted
		t := translator{root: c.doc.root, most: depth, left: maxSchemas, notes: &n, response: true,
			known: c.doc.known}
		translated := t.schema(schema, where, 1)
		over := t.left <= 0 && result.Has(where)
		if !over {
			result.Set(where, translated)
			notes = n
		}
		return t.cut, over, nil
	})
	if n := len(notes.notes); n > 0 {
		c.notes.add("", "the declaration of the result is less strict than the document in %d place(s), such as %s",
			n, notes.notes[0])
	}
	if len(fit(result, c.doc.options.MaxSchema)) > 0 {
		c.notes.add("", "the schema of its result is shortened to %d bytes",
			c.doc.options.MaxSchema)
	}
	s.OutputSchema, s.Execution.OnInvalidOutput = encoded(result.Get(where)), "warn"
}
