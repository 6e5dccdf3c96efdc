package imports

import (
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// How bodies are sent.
const (
	encodingJSON = "json"
	encodingForm = "form"
	encodingText = "text"
)

// media is one of the formats of a body.
type media struct {
	content *jsontext.Object
	// name is its media type, sent where the encoding's own is another.
	name, encoding string
}

// pickMedia returns the form that a toolspec can send best: JSON, else a form, else text. others
// are the names of all.
func pickMedia(content *jsontext.Object) (m media, others []string) {
	for _, encoding := range []string{encodingJSON, encodingForm, encodingText} {
		for _, name := range content.Names() {
			if encodingOf(name) == encoding {
				o, _ := content.Members[name].(*jsontext.Object)
				return media{content: o, name: name, encoding: encoding}, content.Keys
			}
		}
	}
	return media{}, content.Names()
}

func encodingOf(name string) string {
	typ, _, err := mime.ParseMediaType(name)
	switch {
	case err != nil:
	case typ == "application/json", strings.HasSuffix(typ, "+json"), typ == "text/json",
		typ == "*/*", typ == "application/*":
		return encodingJSON
	case typ == "application/x-www-form-urlencoded":
		return encodingForm
	case strings.HasPrefix(typ, "text/"):
		return encodingText
	}
	return ""
}

// usualTypes are the default content types of the encodings.
var usualTypes = []string{"application/json", "application/x-www-form-urlencoded", "text/plain",
	"*/*", "application/*", "text/*"}

// bodyPlacer places the parts of a request body.
type bodyPlacer struct{ *call }

// readBody declares the arguments of the request's body.
func (c bodyPlacer) readBody() error {
	if !c.op.op.Has("requestBody") {
		return nil
	}
	o, err := chased(c.doc.root, c.op.op.Get("requestBody"))
	if err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	content := jsontext.Member[*jsontext.Object](o, "content")
	m, others := pickMedia(content)
	if len(others) == 0 || empty(m.content.Get("schema")) {
		return nil
	}
	if m.encoding == "" {
		return fmt.Errorf("a body of %s cannot be sent; toolspecs send JSON, forms and text",
			strings.Join(others, " or "))
	}
	required := jsontext.Member[bool](o, keyRequired)
	if c.op.method == http.MethodGet || c.op.method == http.MethodHead {
		return c.bodiless(required)
	}
	c.encode(m)
	c.placeBody(m, jsontext.Member[string](o, keyDescription), required)
	return nil
}

// encode sets how the body is sent if it differs from the default.
func (c bodyPlacer) encode(m media) {
	if m.encoding != encodingJSON {
		c.encoding = m.encoding
	}
	if !slices.Contains(usualTypes, m.name) {
		c.headers.Set("Content-Type", m.name)
	}
}

// bodiless leaves out the body of a request that has none by its method.
func (c bodyPlacer) bodiless(required bool) error {
	if required {
		return fmt.Errorf("a body cannot be sent with %s", c.op.method)
	}
	c.notes.add("", "the optional body is omitted: a %s request has no body", c.op.method)
	return nil
}

// empty reports whether a schema is an object that declares to have no properties, as generated
// documents have them.
func empty(value any) bool {
	schema, _ := value.(*jsontext.Object)
	return schema.Has(keyProperties) && len(jsontext.Member[*jsontext.Object](schema,
		keyProperties).Names()) == 0 && !schema.Has(keyRef) &&
		(!schema.Has(keyAdditional) || schema.Get(keyAdditional) == false)
}

// placeBody creates an argument for each property of the body, or one argument for a body that is
// not a plain object.
func (c bodyPlacer) placeBody(m media, description string, required bool) {
	text := plain(description, maxWords)
	if m.encoding == encodingText {
		c.body = c.argument("body", "request", textSchema(text), required)
		return
	}
	s := c.t.schema(m.content.Get("schema"), "", 0)
	if flat(s) && !c.whole(m, s, required) {
		c.placeMembers(m, s)
		return
	}
	if text != "" && !s.Has(keyDescription) {
		s.Set(keyDescription, text)
	}
	c.body = c.argument("body", "request", s, required)
}

// whole reports whether a body is given or left out as a whole: an optional one with required
// members, and with DELETE, where it matters whether there is one.
func (c bodyPlacer) whole(m media, s *jsontext.Object, required bool) bool {
	return !required && (s.Has(keyRequired) || c.op.method == http.MethodDelete &&
		m.encoding == encodingJSON)
}

func (c bodyPlacer) placeMembers(m media, s *jsontext.Object) {
	body := jsontext.NewObject()
	needed := jsontext.Member[[]any](s, keyRequired)
	properties := jsontext.Member[*jsontext.Object](s, keyProperties)
	for _, name := range properties.Names() {
		property, _ := properties.Members[name].(*jsontext.Object)
		body.Set(field(m, name, property), c.argument(name, inBody, property,
			slices.Contains(needed, any(name))))
	}
	c.body = body
}

// field is the name under which a property is sent. In a form, a list is written as
// name[]=a&name[]=b where the document asks for brackets, else as name=a&name=b.
func field(m media, name string, property *jsontext.Object) string {
	how := jsontext.Member[*jsontext.Object](jsontext.Member[*jsontext.Object](m.content,
		"encoding"), name)
	if m.encoding == encodingForm && jsontext.Member[string](how, "style") == styleBrackets &&
		holds(property, typeArray) {
		return name + "[]"
	}
	return name
}

// flat reports whether a translated schema is an object of named properties and nothing else.
func flat(s *jsontext.Object) bool {
	for _, key := range s.Names() {
		switch key {
		case keyType, keyDescription, keyProperties, keyRequired:
		case keyAdditional:
			if s.Members[key] != false {
				return false
			}
		default:
			return false
		}
	}
	return s.Get(keyType) == typeObject && s.Has(keyProperties)
}
