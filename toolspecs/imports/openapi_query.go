package imports

import (
	"errors"
	"slices"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// inQuery places a query parameter. A list gives it several times; an object gives one parameter
// for each property.
func (c *call) inQuery(p parameter) error {
	s := c.t.schema(p.raw, p.name, 1)
	several := p.several()
	switch {
	case !p.json && holdsObjects(s):
		return errors.New("a list of objects cannot be written into a query")
	case several && holds(s, typeObject):
		return c.queryObject(p, s)
	case several && holds(s, typeArray):
	default:
		s = c.single(p)
	}
	c.query.Set(p.key(s), c.argument(p.name, inQuery, s, p.required))
	return nil
}

// several reports whether lists and objects are written as several parameters.
func (p parameter) several() bool {
	return !p.json && (p.style == styleBrackets || p.style == "form" && p.explode)
}

// key is the name under which a query parameter is sent.
func (p parameter) key(s *jsontext.Object) string {
	if p.style == styleBrackets && holds(s, typeArray) {
		return p.name + "[]"
	}
	return p.name
}

// styleBrackets writes members of a value as name[key]=value.
const styleBrackets = "deepObject"

// holdsObjects reports whether a value can be a list with objects in it.
func holdsObjects(s *jsontext.Object) bool {
	return slices.ContainsFunc(forms(s), func(form *jsontext.Object) bool {
		items, _ := form.Get(keyItems).(*jsontext.Object)
		return items != nil && holds(items, typeObject)
	})
}

// queryObject creates an argument and a query parameter for each property of an object. If the
// value may also be a scalar, it gets an argument as well.
func (c *call) queryObject(p parameter, s *jsontext.Object) error {
	var objects, plain []*jsontext.Object
	for _, form := range forms(s) {
		if slices.Contains(typesIn(form), typeObject) {
			objects = append(objects, form)
			continue
		}
		plain = append(plain, form)
	}
	if len(plain) > 0 {
		own := oneOf(plain)
		if text := jsontext.Member[string](s, keyDescription); text != "" {
			own.Set(keyDescription, text)
		}
		c.query.Set(p.name, c.argument(p.name, inQuery, own, false))
	}
	for _, form := range objects {
		if err := c.queryProperties(p, form, p.required && len(plain) == 0 &&
			len(objects) == 1); err != nil {
			return err
		}
	}
	return nil
}

// oneOf returns a schema of values that have one of the forms.
func oneOf(forms []*jsontext.Object) *jsontext.Object {
	if len(forms) == 1 {
		return forms[0].Copy()
	}
	list := make([]any, len(forms))
	for i, form := range forms {
		list[i] = form
	}
	s := jsontext.NewObject()
	s.Set(keyAnyOf, list)
	return s
}

func (c *call) queryProperties(p parameter, form *jsontext.Object, required bool) error {
	properties := jsontext.Member[*jsontext.Object](form, keyProperties)
	if _, open := form.Get(keyAdditional).(*jsontext.Object); open || len(properties.Names()) == 0 {
		return errors.New("an object whose properties are not named cannot be written into a query")
	}
	for _, name := range properties.Names() {
		property, _ := properties.Members[name].(*jsontext.Object)
		if holds(property, typeObject) {
			c.notes.add(within(p.name, name),
				"it is omitted: nested objects cannot be written into a query")
			continue
		}
		key, arg := name, name
		if p.style == styleBrackets {
			key, arg = p.name+"["+name+"]", p.name+"_"+name
		}
		if holds(property, typeArray) && p.style == styleBrackets {
			key += "[]"
		}
		needed := required && slices.Contains(jsontext.Member[[]any](form, keyRequired), any(name))
		c.query.Set(key, c.argument(arg, inQuery, property, needed))
	}
	return nil
}
