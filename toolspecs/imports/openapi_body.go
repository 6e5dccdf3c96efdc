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
			if bodyEncoding(name) == encoding {
				return media{content: objectAt(content, name), name: name, encoding: encoding},
					content.Keys
			}
		}
	}
	return media{}, content.Names()
}

func bodyEncoding(name string) string {
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

// readBody declares the arguments of the request's body.
func (c *call) readBody() error {
	if !c.op.op.Has("requestBody") {
		return nil
	}
	o, err := follow(c.doc.root, c.op.op.Get("requestBody"))
	if err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	m, others := pickMedia(objectAt(o, "content"))
	required := flagAt(o, keyRequired)
	switch {
	case len(others) == 0 || c.isEmpty(m.content.Get("schema")):
		return nil
	case m.encoding == "":
		return fmt.Errorf("a body of %s cannot be sent; toolspecs send JSON, forms and text",
			strings.Join(others, " or "))
	case c.op.method != http.MethodGet && c.op.method != http.MethodHead:
		c.placeBody(m, textAt(o, keyDescription), required)
	case required:
		return fmt.Errorf("a body cannot be sent with %s", c.op.method)
	default:
		c.notes.add("", "the optional body is omitted: a %s request has no body", c.op.method)
	}
	return nil
}

// isEmpty reports whether a schema is an object that declares to have no properties, as generated
// documents have them.
func (c *call) isEmpty(schema any) bool {
	o, err := follow(c.doc.root, schema)
	return err == nil && o.Has(keyProperties) && len(objectAt(o, keyProperties).Names()) == 0 &&
		(!o.Has(keyAdditional) || o.Get(keyAdditional) == false)
}

// placeBody creates an argument for each property of the body, or one argument for a body that is
// not a plain object, or is given or left out as a whole: an optional one with required members,
// and with DELETE, where it matters whether there is one.
func (c *call) placeBody(m media, description string, required bool) {
	c.encode(m)
	if m.encoding == encodingText {
		c.body = c.argument("body", "request", textSchema(description), required)
		return
	}
	schema := m.content.Get("schema")
	whole := c.op.method == http.MethodDelete && m.encoding == encodingJSON
	if members, named := c.members(schema); named && (required || !whole && !members.needed()) {
		c.placeMembers(m, members)
		return
	}
	c.body = c.argument("body", "request", withDescription(c.schema(schema), description), required)
}

// withDescription gives a schema a description unless it has one.
func withDescription(schema any, description string) any {
	if o, ok := schema.(*jsontext.Object); ok && description != "" && !o.Has(keyDescription) {
		o.Set(keyDescription, description)
	}
	return schema
}

// encode sets how the body is sent if it differs from the default.
func (c *call) encode(m media) {
	if m.encoding != encodingJSON {
		c.encoding = m.encoding
	}
	if !slices.Contains(usualTypes, m.name) {
		c.headers.Set("Content-Type", m.name)
	}
}

// bodyMembers are the properties of a body, as the document declares them.
type bodyMembers struct {
	properties *jsontext.Object
	required   []string
	// left are those that only responses have.
	left map[string]bool
}

// needed reports whether a body has required properties.
func (m bodyMembers) needed() bool { return len(m.required) > 0 }

// members returns the properties of a schema. It reports whether the schema is an object of named
// properties and nothing else.
func (c *call) members(schema any) (bodyMembers, bool) {
	m := bodyMembers{properties: object(), left: map[string]bool{}}
	named := c.addMembers(&m, schema, map[*jsontext.Object]bool{})
	m.required = slices.DeleteFunc(m.required, func(name string) bool {
		return m.left[name] && !m.properties.Has(name)
	})
	return m, named && len(m.properties.Keys) > 0
}

// addMembers adds the properties of a schema and of the parts of its allOf.
func (c *call) addMembers(into *bodyMembers, schema any, known map[*jsontext.Object]bool) bool {
	o, err := follow(c.doc.root, schema)
	if err != nil || known[o] || !saysPropertiesAlone(o) {
		return false
	}
	known[o] = true
	for _, part := range listAt(o, keyAllOf) {
		if !c.addMembers(into, part, known) {
			return false
		}
	}
	properties := objectAt(o, keyProperties)
	for _, name := range properties.Names() {
		property := properties.Members[name]
		if c.readOnly(property) {
			into.left[name] = true
			continue
		}
		if other, again := into.properties.Members[name]; again {
			property = object(keyAllOf, []any{other, property})
		}
		into.properties.Set(name, property)
	}
	into.required = append(into.required, requiredNames(o)...)
	return true
}

// saysPropertiesAlone reports whether a schema says nothing but which properties an object has.
func saysPropertiesAlone(o *jsontext.Object) bool {
	return !slices.ContainsFunc(o.Names(), func(key string) bool {
		value := o.Members[key]
		switch key {
		case keyType:
			return value != typeObject
		case keyAdditional, "nullable":
			return value != false
		case keyDescription, keyProperties, keyRequired, keyAllOf, "title", "deprecated":
			return false
		}
		return !isDropped(key)
	})
}

func (c *call) placeMembers(m media, members bodyMembers) {
	for _, name := range members.required {
		if !members.properties.Has(name) {
			members.properties.Set(name, object())
		}
	}
	body := object()
	for _, name := range members.properties.Keys {
		property := members.properties.Members[name]
		body.Set(c.field(m, name, property), c.argument(name, inBody, c.schema(property),
			slices.Contains(members.required, name)))
	}
	c.body = body
}

// field is the name under which a property is sent. In a form, a list is written as
// name[]=a&name[]=b where the document asks for brackets, else as name=a&name=b.
func (c *call) field(m media, name string, property any) string {
	how := objectAt(objectAt(m.content, "encoding"), name)
	if m.encoding == encodingForm && textAt(how, "style") == styleBrackets &&
		holds(c.forms(property), typeArray) {
		return name + "[]"
	}
	return name
}
