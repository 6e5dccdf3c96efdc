package forms

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

const (
	typeObject  = "object"
	typeString  = "string"
	typeBoolean = "boolean"
)

// outline is a JSON Schema as far as it decides about fields.
type outline struct {
	root any
	// node is the schema that has the type: behind references, and without the alternative null.
	node *jsontext.Object
	// typ is the type of the values, null aside; empty if there are several. list is how an array
	// is shown, Lines or Checkboxes; empty for others.
	typ                string
	list               Kind
	title, description string
	// secret says that values are sensitive.
	secret bool
	// initial is the default; nil for none.
	initial any
}

// maxSteps bounds the references and alternatives that are followed.
const maxSteps = 8

// newOutline returns the outline of a schema in the document root.
func newOutline(root, schema any) outline {
	o := resolve(root, schema)
	if o.typ == "array" {
		switch item := o.item(); {
		case item.typ != typeBoolean && item.choices() != nil:
			o.list = Checkboxes
		case item.typ == typeString:
			o.list = Lines
		}
	}
	return o
}

// item returns the outline of an array's elements, except for what their elements are: schemas can
// contain themselves.
func (o outline) item() outline { return resolve(o.root, o.node.Get("items")) }

// resolve returns the outline of a schema. An array is one, whatever is in it.
func resolve(root, schema any) outline {
	o := outline{root: root}
	for range maxSteps {
		node, _ := schema.(*jsontext.Object)
		if node.Has("$id") && schema != root { // its references lead elsewhere
			node = nil
		}
		o.node = node
		if o.title == "" {
			o.title = jsontext.Member[string](node, "title")
		}
		if o.description == "" {
			o.description = jsontext.Member[string](node, "description")
		}
		if o.initial == nil {
			o.initial = node.Get("default")
		}
		o.secret = o.secret || hasSecrets(node)
		next, ok := o.behind()
		if !ok {
			break
		}
		schema = next
	}
	o.typ = o.typeName()
	return o
}

// hasSecrets reports whether a schema is write-only, or one of its parts, references aside.
func hasSecrets(schema any) bool {
	switch s := schema.(type) {
	case []any:
		return slices.ContainsFunc(s, hasSecrets)
	case *jsontext.Object:
		return jsontext.Member[bool](s, "writeOnly") || slices.ContainsFunc(s.Names(),
			func(name string) bool { return hasSecrets(s.Get(name)) })
	}
	return false
}

// behind returns the schema that a node stands for: the target of a reference, or the only
// alternative that is not null, as Python's Optional becomes one.
func (o outline) behind() (schema any, ok bool) {
	for _, own := range []string{"type", "properties", "enum", "const"} {
		if o.node.Has(own) {
			return nil, false
		}
	}
	if pointer, local := strings.CutPrefix(jsontext.Member[string](o.node, "$ref"), "#"); local &&
		strings.HasPrefix(pointer, "/") {
		return jsontext.At(o.root, pointer)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		if list := notNull(jsontext.Member[[]any](o.node, keyword)); len(list) == 1 {
			return list[0], true
		}
	}
	return nil, false
}

// notNull returns the alternatives that are not null.
func notNull(list []any) []any {
	return slices.DeleteFunc(slices.Clone(list),
		func(one any) bool { return jsontext.Member[string](one, "type") == "null" })
}

func (o outline) typeName() string {
	switch t := o.node.Get("type").(type) {
	case string:
		return t
	case []any:
		t = slices.DeleteFunc(slices.Clone(t), func(one any) bool { return one == "null" })
		if len(t) == 1 {
			name, _ := t[0].(string)
			return name
		}
	}
	return ""
}

// hint describes a value. A title that repeats its name is left out.
func (o outline) hint(name string) string {
	title := o.title
	if strings.EqualFold(strings.ReplaceAll(title, " ", "_"), name) {
		title = ""
	}
	return strings.Trim(title+". "+o.description, ". ")
}

// members returns the names of an object's members, in the order of the schema.
func (o outline) members() []string {
	return jsontext.Member[*jsontext.Object](o.node, "properties").Names()
}

func (o outline) member(name string) outline {
	return newOutline(o.root, jsontext.Member[*jsontext.Object](o.node, "properties").Get(name))
}

func (o outline) requires(name string) bool {
	return slices.Contains(jsontext.Member[[]any](o.node, "required"), any(name))
}

// choices returns the values to choose from, or to choose the elements of an array from; nil if
// others are possible. Each of an enum is one, and so is each alternative that is a constant.
func (o outline) choices() []Option {
	if o.list == Checkboxes {
		return o.item().choices()
	}
	if o.typ == typeBoolean {
		return []Option{{"true", "true"}, {"false", "false"}}
	}
	if o.node.Has("const") {
		return newOptions([]any{o.node.Get("const")}, nil)
	}
	if values := jsontext.Member[[]any](o.node, "enum"); len(values) > 0 {
		return newOptions(values, nil)
	}
	if list := constants(jsontext.Member[[]any](o.node, "oneOf")); list != nil {
		return list
	}
	return constants(jsontext.Member[[]any](o.node, "anyOf"))
}

// constants returns the alternatives as choices if each of them is a constant.
func constants(alternatives []any) []Option {
	list := notNull(alternatives)
	var values []any
	var titles []string
	for _, one := range list {
		c, _ := one.(*jsontext.Object)
		if !c.Has("const") {
			return nil
		}
		values = append(values, c.Get("const"))
		titles = append(titles, jsontext.Member[string](c, "title"))
	}
	if len(values) == 0 {
		return nil
	}
	return newOptions(values, titles)
}

// newOptions returns choices with their titles. Without titles, texts among texts are shown without
// quotes.
func newOptions(values []any, titles []string) []Option {
	quoted := slices.ContainsFunc(values, func(v any) bool {
		_, text := v.(string)
		return !text
	})
	list := make([]Option, len(values))
	for i, v := range values {
		list[i].Value = string(jsontext.Encode(v, nil))
		list[i].Label = list[i].Value
		if text, ok := v.(string); ok && !quoted && text != "" {
			list[i].Label = text
		}
		if titles != nil && titles[i] != "" {
			list[i].Label = titles[i]
		}
	}
	return list
}
