package imports

import (
	"cmp"
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
	// schema has the parameter's description.
	schema *jsontext.Object
	// forms are the alternatives of the schema.
	forms []*jsontext.Object
}

// Where parameters go.
const (
	inPath   = "path"
	inQuery  = "query"
	inHeader = "header"
	inCookie = "cookie"
)

// styleBrackets writes members of a value as name[key]=value.
const styleBrackets = "deepObject"

// parameters returns the parameters of path and operation; the operation's win. Those in the path
// come first.
func (c *call) parameters() ([]parameter, error) {
	var all []parameter
	place := map[[2]string]int{}
	for _, holder := range []*jsontext.Object{c.op.item, c.op.op} {
		for _, value := range listAt(holder, "parameters") {
			o, err := follow(c.doc.root, value)
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
	rank := map[string]int{inPath: -1}
	slices.SortStableFunc(all, func(a, b parameter) int { return rank[a.in] - rank[b.in] })
	return all, nil
}

// read takes a parameter apart.
func (c *call) read(o *jsontext.Object) parameter {
	in := textAt(o, "in")
	usual := "simple"
	if in == inQuery {
		usual = "form"
	}
	p := parameter{o: o, name: textAt(o, "name"), in: in, required: flagAt(o, keyRequired),
		style: cmp.Or(textAt(o, "style"), usual)}
	p.required = p.required || in == inPath
	p.explode = p.style == "form"
	if explode, given := o.Get("explode").(bool); given {
		p.explode = explode
	}
	schema := objectAt(o, "schema")
	if content := objectAt(o, "content"); schema == nil && len(content.Names()) > 0 {
		m, _ := pickMedia(content)
		p.json = m.encoding == encodingJSON
		if schema = objectAt(m.content, "schema"); !p.json {
			schema = textSchema("A text in the format " + content.Keys[0])
		}
	}
	p.forms = c.forms(schema)
	p.schema = schema.Copy()
	if text := textAt(o, keyDescription); text != "" {
		p.schema.Set(keyDescription, text)
	}
	return p
}

func textSchema(description string) *jsontext.Object {
	return object(keyType, typeString, keyDescription, description)
}

// parameter declares the arguments of a parameter and their locations. A parameter that a toolspec
// cannot express is omitted with a note; if it is required, that is the error.
func (c *call) parameter(p parameter) error {
	err := c.place(p)
	switch {
	case err == nil && flagAt(p.o, "allowReserved"):
		c.notes.add(p.name,
			"reserved characters such as / are percent-encoded, though the document has allowReserved")
	case err != nil && !p.required:
		c.notes.add(p.name, "the optional parameter is omitted: %v", err)
		return nil
	}
	return err
}

func (c *call) place(p parameter) error {
	switch {
	case p.name == "":
		return errors.New("it has no name")
	case flagAt(p.o, "deprecated") && !p.required:
		return errors.New("it is deprecated")
	case sets(c.auth, p.in, p.name):
		return nil // the secret replaces it
	}
	switch p.in {
	case inPath:
		return c.inPath(p)
	case inQuery:
		return c.inQuery(p)
	case inHeader:
		return c.inHeader(p)
	case inCookie:
		return errors.New("cookies are not supported")
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
	c.path = strings.ReplaceAll(c.path, slot, c.argument(p.name, inPath, c.single(p), true))
	return nil
}

var slots = regexp.MustCompile(`\{([^{}]+)\}`)

// declareSlots declares {name} placeholders of the path that are not parameters. Declared ones are
// {{args.name}} at this point.
func (c *call) declareSlots() {
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

// escape percent-encodes the text of a path between its parameters.
func escape(path string) string { return unescaped.ReplaceAllStringFunc(path, url.PathEscape) }

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

// writtenWith are what goes between several values in one text, by style.
var writtenWith = map[string]string{"spaceDelimited": "spaces", "pipeDelimited": "|"}

// single returns the schema of a parameter that is written as one value. Lists and objects are
// written by the caller.
func (c *call) single(p parameter) any {
	description := textAt(p.schema, keyDescription)
	switch {
	case !holds(p.forms, typeArray) && (p.json || !holds(p.forms, typeObject)):
		return c.schema(p.schema)
	case p.json:
		return textSchema(sentences(description, "Written as JSON"))
	}
	c.notes.add(p.name, "lists and objects are written as one text, as the style %s requires",
		p.style)
	between, special := writtenWith[p.style]
	if !special {
		between = "commas"
	}
	return textSchema(sentences(description,
		"Several values are written with "+between+" between them"))
}

// inQuery places a query parameter. A list gives it several times; an object gives one parameter
// for each property.
func (c *call) inQuery(p parameter) error {
	several := p.isSeveral()
	switch {
	case !p.json && c.holdsObjects(p.forms):
		return errors.New("a list of objects cannot be written into a query")
	case several && holds(p.forms, typeObject):
		return c.queryObject(p)
	case several && holds(p.forms, typeArray):
		key := p.name
		if p.style == styleBrackets {
			key += "[]"
		}
		c.query.Set(key, c.argument(p.name, inQuery, c.schema(p.schema), p.required))
	default:
		c.query.Set(p.name, c.argument(p.name, inQuery, c.single(p), p.required))
	}
	return nil
}

// isSeveral reports whether lists and objects are written as several parameters.
func (p parameter) isSeveral() bool {
	return !p.json && (p.style == styleBrackets || p.style == "form" && p.explode)
}

// holdsObjects reports whether a value can be a list with objects in it.
func (c *call) holdsObjects(forms []*jsontext.Object) bool {
	return slices.ContainsFunc(forms, func(form *jsontext.Object) bool {
		return holds(c.forms(form.Get(keyItems)), typeObject)
	})
}

// queryObject creates an argument and a query parameter for each property of an object. If the
// value may also be a scalar, it gets an argument as well.
func (c *call) queryObject(p parameter) error {
	var objects []*jsontext.Object
	var plain []any
	for _, form := range p.forms {
		if holds([]*jsontext.Object{form}, typeObject) {
			objects = append(objects, form)
			continue
		}
		plain = append(plain, form)
	}
	if len(plain) > 0 {
		scalar := object(keyAnyOf, plain)
		if len(plain) == 1 {
			scalar = plain[0].(*jsontext.Object).Copy()
		}
		if text := textAt(p.schema, keyDescription); text != "" {
			scalar.Set(keyDescription, text)
		}
		c.query.Set(p.name, c.argument(p.name, inQuery, c.schema(scalar), false))
	}
	for _, form := range objects {
		required := p.required && len(p.forms) == 1
		if err := c.queryProperties(p, form, required); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) queryProperties(p parameter, form *jsontext.Object, required bool) error {
	properties := objectAt(form, keyProperties)
	if objectAt(form, keyAdditional) != nil || len(properties.Names()) == 0 {
		return errors.New("an object whose properties are not named cannot be written into a query")
	}
	for _, name := range properties.Names() {
		property := properties.Members[name]
		forms := c.forms(property)
		if c.readOnly(property) {
			continue
		}
		if holds(forms, typeObject) {
			c.notes.add(p.name+"."+name,
				"it is omitted: nested objects cannot be written into a query")
			continue
		}
		key, argument := name, name
		if p.style == styleBrackets {
			key, argument = p.name+"["+name+"]", p.name+"_"+name
			if holds(forms, typeArray) {
				key += "[]"
			}
		}
		needed := required && slices.Contains(texts(form.Get(keyRequired)), name)
		c.query.Set(key, c.argument(argument, inQuery, c.schema(property), needed))
	}
	return nil
}
