package strictyaml

import (
	"fmt"
	"reflect"
	"strconv"

	"github.com/switchyard/switchyard/internal/value/display"
	"gopkg.in/yaml.v3"
)

// decodeSize decodes a number of bytes with a unit, and reports whether n was text where a size
// belongs.
func decodeSize(d *Document, n *yaml.Node, v reflect.Value, f *field) bool {
	if f == nil || !f.rule.size || n.Kind != yaml.ScalarNode || n.ShortTag() != tagString {
		return false
	}
	bytes, ok := parseSize(n.Value)
	if !ok {
		d.fault(n, fmt.Sprintf("%s is not a size", strconv.Quote(display.Shorten(n.Value, 40))),
			"write bytes, or a whole number and a unit such as 512KiB or 4MiB")
	}
	v.SetInt(int64(bytes))
	return true
}

// decodeKeyed decodes a mapping into a list of structs, whose field rule.keyed gets the key.
func (d *Document) decodeKeyed(n *yaml.Node, v reflect.Value, f *field) {
	list, misplaced := entries(n)
	d.reportMisplaced(misplaced)
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	name := loadFields(v.Type().Elem()).byName[f.rule.keyed]
	for i, e := range list {
		if twice := findKey(e.value, name.name); twice != nil {
			d.fault(twice, fmt.Sprintf("%s is given twice: %q is the key of this mapping", name.name,
				deref(e.key).Value), "remove it")
		}
		d.value(e.value, v.Index(i), f.element())
		v.Index(i).FieldByIndex(name.index).SetString(deref(e.key).Value)
	}
}
