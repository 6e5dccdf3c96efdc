package imports

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
)

// parameter is a parameter of an operation at any location.
type parameter struct {
	o               *jsontext.Object
	name, in, style string
	required        bool
	// explode is set if lists and objects become several parameters.
	explode bool
	// json is set if the value is written as JSON.
	json bool
	// raw is the schema in the document, with the parameter's description.
	raw *jsontext.Object
}

// Where parameters go.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
)

// parameters returns the parameters of path and operation; the operation's win. Those in the path
// come first.
func (c *call) parameters() ([]parameter, error) {
	var all []parameter
	place := map[[2]string]int{}
	for _, holder := range []*jsontext.Object{c.op.item, c.op.op} {
		for _, value := range jsontext.Member[[]any](holder, "parameters") {
			o, err := chased(c.doc.root, value)
			if err != nil {
				return nil, fmt.Errorf("a parameter cannot be read: %w", err)
			}
			p := c.read(o)
			key := [2]string{p.in, p.name}
			if i, again := place[key]; again {
				all[i] = p
				continue
			}
			place[key] = len(all)
			all = append(all, p)
		}
	}
	inside := func(p parameter) bool { return p.in == inPath }
	outside := func(p parameter) bool { return p.in != inPath }
	return append(slices.DeleteFunc(slices.Clone(all), outside), slices.DeleteFunc(all, inside)...),
		nil
}

// read takes a parameter apart.
func (c *call) read(o *jsontext.Object) parameter {
	p := parameter{o: o, name: jsontext.Member[string](o, "name"), in: jsontext.Member[string](o,
		"in"), style: jsontext.Member[string](o, "style"), required: jsontext.Member[bool](o,
		keyRequired)}
	if p.style == "" {
		p.style = "simple"
		if p.in == inQuery || p.in == inCookie {
			p.style = "form"
		}
	}
	p.explode = p.style == "form"
	if explode, given := o.Get("explode").(bool); given {
		p.explode = explode
	}
	schema, _ := o.Get("schema").(*jsontext.Object)
	if content := jsontext.Member[*jsontext.Object](o, "content"); schema == nil &&
		len(content.Names()) > 0 {
		m, _ := pickMedia(content)
		p.json = m.encoding == encodingJSON
		if schema = jsontext.Member[*jsontext.Object](m.content, "schema"); !p.json {
			schema = textSchema("A text in the format " + content.Keys[0])
		}
	}
	p.raw = schema.Copy()
	if text := jsontext.Member[string](o, keyDescription); text != "" {
		p.raw.Set(keyDescription, text)
	}
	return p
}

func textSchema(description string) *jsontext.Object {
	s := jsontext.NewObject()
	s.Set(keyType, typeString)
	s.Set(keyDescription, description)
	return s
}

// parameter declares the arguments of a parameter and their locations. A parameter that a toolspec
// cannot express is omitted with a note; if it is required, that is the error.
func (c *call) parameter(p parameter) error {
	err := c.place(p)
	if err == nil || p.required || p.in == inPath {
		return err
	}
	c.notes.add(p.name, "the optional parameter is omitted: %v", err)
	return nil
}

func (c *call) place(p parameter) error {
	switch needed := p.required || p.in == inPath; {
	case p.name == "":
		return errors.New("it has no name")
	case jsontext.Member[bool](p.o, "deprecated") && !needed:
		return errors.New("it is deprecated")
	case sets(c.auth, p.in, p.name):
		return nil // the secret replaces it
	}
	return c.placeIn(p)
}

func (c *call) placeIn(p parameter) error {
	switch p.in {
	case inPath:
		return c.inPath(p)
	case inQuery:
		return c.inQuery(p)
	case inHeader:
		return c.inHeader(p)
	case inCookie:
		return c.inCookie(p)
	}
	return fmt.Errorf("it is in %q, which is not a location of parameters", p.in)
}

func (c *call) inPath(p parameter) error {
	if p.style != "simple" {
		return fmt.Errorf("the style %s is not supported", p.style)
	}
	slot := "{" + p.name + "}"
	if !strings.Contains(c.path, slot) {
		c.notes.add(p.name, "the parameter is omitted: the path has no %s", slot)
		return nil
	}
	placeholder := c.argument(p.name, inPath, c.single(p), true)
	c.path = strings.ReplaceAll(c.path, slot, placeholder)
	return nil
}

var slots = regexp.MustCompile(`\{([^{}]+)\}`)

// undeclared declares {name} placeholders of the path that are not parameters. Declared ones are
// {{args.name}} at this point.
func (c *call) undeclared() {
	c.path = slots.ReplaceAllStringFunc(c.path, func(slot string) string {
		name := slot[1 : len(slot)-1]
		if strings.HasPrefix(name, "args.") {
			return slot
		}
		c.notes.add(name, "the path has this parameter but the document does not declare it; it is treated as text")
		return c.argument(name, inPath, textSchema("A part of the path"), true)
	})
}

// unescaped matches characters that a path must escape.
var unescaped = regexp.MustCompile(`[^A-Za-z0-9\-._~!$&'()*+,;=:@/%{}]`)

// escaped percent-encodes the text of a path between its parameters.
func escaped(path string) string { return unescaped.ReplaceAllStringFunc(path, url.PathEscape) }

func (c *call) inHeader(p parameter) error {
	switch name := http.CanonicalHeaderKey(p.name); {
	case name == "Accept" || name == "Content-Type" || name == "Authorization":
		return nil // not parameters, by the standard
	case name == "Idempotency-Key" || name == "Accept-Encoding":
		return nil // every request has its own
	case !outbound.CanSet(p.name):
		return errors.New("callers cannot set this header")
	}
	c.headers.Set(p.name, c.argument(p.name, inHeader, c.single(p), p.required))
	return nil
}

func (c *call) inCookie(p parameter) error {
	if !p.required {
		return errors.New("optional cookies are not supported")
	}
	c.cookies = append(c.cookies, p.name+"="+c.argument(p.name, inCookie, c.single(p), true))
	return nil
}

// single returns the schema of a parameter that is written as one value. Lists and objects are
// written by the caller.
func (c *call) single(p parameter) *jsontext.Object {
	s := c.t.schema(p.raw, p.name, 1)
	if !holds(s, typeArray) && (p.json || !holds(s, typeObject)) {
		return s
	}
	if p.json {
		return textSchema(sentences(jsontext.Member[string](s, keyDescription), "Written as JSON"))
	}
	c.notes.add(p.name, "lists and objects are written as one text, as the style %s requires",
		p.style)
	how := "Several values are written with commas between them"
	switch p.style {
	case "spaceDelimited":
		how = "Several values are written with spaces between them"
	case "pipeDelimited":
		how = "Several values are written with | between them"
	}
	return textSchema(sentences(jsontext.Member[string](s, keyDescription), how))
}

// holds reports whether a value of a translated schema can be of that type; one that is left open
// can be anything, and is taken for a plain value.
func holds(s *jsontext.Object, typ string) bool {
	for _, form := range forms(s) {
		if slices.Contains(typesIn(form), typ) {
			return true
		}
	}
	return false
}

// forms returns the alternative schemas of a value.
func forms(s *jsontext.Object) []*jsontext.Object {
	list := jsontext.Member[[]any](s, keyAnyOf)
	if len(list) == 0 {
		return []*jsontext.Object{s}
	}
	all := make([]*jsontext.Object, 0, len(list))
	for _, form := range list {
		if o, ok := form.(*jsontext.Object); ok {
			all = append(all, forms(o)...)
		}
	}
	return all
}
