package strictyaml

import (
	"reflect"
	"slices"

	"gopkg.in/yaml.v3"
)

// Variant is implemented by pointers to values that are written as a mapping whose field type
// decides which other fields it has.
type Variant interface {
	// Types returns the values of the field type.
	Types() []string
	// Choose returns a pointer to the struct of the other fields; nil if there is no such type,
	// which a later check reports.
	Choose(name string) any
	// Take stores that struct. It is called before the struct is filled, too, so that Refuse knows
	// the type.
	Take(fields any)
	// Refuse says what is wrong with a field that the struct does not have, and the remedy. Without
	// a message, the field is no fault.
	Refuse(field string) (message, hint string)
}

// Chosen is implemented by values whose pointer is a Variant.
type Chosen interface {
	// Chosen returns the type, and the struct of the fields besides type; nil for none.
	Chosen() (name string, fields any)
}

// variantKey is the field that decides which other fields a variant has.
const variantKey = "type"

// FieldNames returns the names of the fields that a struct has in YAML.
func FieldNames(of any) []string { return loadFields(reflect.TypeOf(of)).names }

func (d *Document) variant(n *yaml.Node, list []entry, v Variant) any {
	d.variants[n] = v
	name, values := "", map[string]any{}
	i := slices.IndexFunc(list, func(e entry) bool { return deref(e.key).Value == variantKey })
	if i >= 0 {
		values[variantKey] = d.value(list[i].value, reflect.ValueOf(&name).Elem(), &field{})
		list = slices.Delete(list, i, i+1)
	}
	fields := v.Choose(name)
	if fields == nil {
		fields = &struct{}{}
	} else {
		v.Take(fields)
		defer v.Take(fields)
	}
	for name, value := range d.fields(list, reflect.ValueOf(fields).Elem()) {
		values[name] = value
	}
	return values
}
