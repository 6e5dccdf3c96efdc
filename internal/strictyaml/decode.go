package strictyaml

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/value/display"
	"gopkg.in/yaml.v3"
)

// Decode fills the struct that into points to. A field's name is its yaml tag, else its json tag. A
// rule tag sets its rules (see rule), and a hint tag the remedy for violations. Everything else in
// the document is a fault: unknown fields, wrong types, violated rules. Valid parts are decoded
// even if others have faults, so that further checks can report more.
func (d *Document) Decode(into any) {
	d.value(d.root, reflect.ValueOf(into).Elem(), nil)
}

// Faults returns the faults so far: at most 1000, and a last one that counts the rest.
func (d *Document) Faults() Faults {
	if d.more == 0 {
		return d.faults
	}
	last := d.faults[len(d.faults)-1]
	return append(slices.Clone(d.faults), Fault{File: d.file, Line: last.Line, Column: last.Column,
		Message: fmt.Sprintf("there are %d more faults", d.more)})
}

// Full reports whether no more faults are recorded, so that further checks are useless.
func (d *Document) Full() bool { return len(d.faults) == maxFaults }

// IsList reports whether the document is a list.
func (d *Document) IsList() bool { return d.root.Kind == yaml.SequenceNode }

// Report adds a fault at a path, or at the nearest existing ancestor. A position takes one fault.
func (d *Document) Report(path, message, hint string) {
	if n := d.at(path); !d.faultAt(n) {
		d.fault(n, message, hint)
	}
}

// ReportKey is Report at the key of the path's last step.
func (d *Document) ReportKey(path, message, hint string) {
	steps := jsonpath.Split(path)
	n := d.root
	for i, s := range steps {
		if i == len(steps)-1 {
			if key := findKey(n, s.Key); key != nil {
				d.fault(key, message, hint)
				return
			}
		}
		n = child(n, s)
		if n == nil {
			break
		}
	}
	d.Report(path, message, hint)
}

// Keys returns the keys of the mapping at path in the order of the document; none if it is not a
// mapping.
func (d *Document) Keys(path string) []string {
	n, found := d.find(path)
	if n = deref(n); !found || n.Kind != yaml.MappingNode {
		return nil
	}
	list, _ := entries(n)
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = deref(e.key).Value
	}
	return names
}

// Position returns line and column of the node at path, or of the nearest ancestor.
func (d *Document) Position(path string) (line, column int) {
	n := d.at(path)
	return n.Line, n.Column
}

// Has reports whether there is something at path.
func (d *Document) Has(path string) bool {
	_, found := d.find(path)
	return found
}

func (d *Document) at(path string) *yaml.Node {
	n, _ := d.find(path)
	return n
}

// find returns the node at path; found is false for the nearest ancestor.
func (d *Document) find(path string) (n *yaml.Node, found bool) {
	n = d.root
	for _, s := range jsonpath.Split(path) {
		next := child(n, s)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

func child(n *yaml.Node, s jsonpath.Step) *yaml.Node {
	n = deref(n)
	if n.Kind == yaml.SequenceNode {
		if s.Index < 0 || s.Index >= len(n.Content) {
			return nil
		}
		return n.Content[s.Index]
	}
	if n.Kind == yaml.MappingNode {
		list, _ := entries(n)
		if s.Index >= 0 { // of a list that is written as a mapping
			if s.Index < len(list) {
				return list[s.Index].value
			}
			return nil
		}
		for _, e := range list {
			if deref(e.key).Value == s.Key {
				return e.value
			}
		}
	}
	return nil
}

func findKey(n *yaml.Node, name string) *yaml.Node {
	list, _ := entries(deref(n))
	for _, e := range list {
		if deref(e.key).Value == name {
			return e.key
		}
	}
	return nil
}

func (d *Document) fault(n *yaml.Node, message, hint string) {
	if len(d.faults) == maxFaults {
		d.more++
		return
	}
	d.faulty[[2]int{n.Line, n.Column}] = true
	d.faults = append(d.faults, Fault{File: d.file, Line: n.Line, Column: n.Column,
		Message: message, Hint: hint})
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
)

// value decodes n into v. f is the struct field that v belongs to, nil for the document itself.
func (d *Document) value(n *yaml.Node, v reflect.Value, f *field) {
	n = deref(n)
	d.secret[n] = f != nil && f.rule.secret
	if v.Type() == rawType {
		d.raw(n, v)
		return
	}
	if !slices.Contains(tags[n.Kind], n.ShortTag()) {
		// The tag has been reported.
		return
	}
	if n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull {
		d.fault(n, "a value is missing here; "+describeType(v.Type()),
			"remove the key, or give it a value")
		return
	}
	d.decodeTagged(n, v, f)
	if f != nil && !d.faultAt(n) {
		if message := f.rule.check(v); message != "" {
			d.fault(n, fmt.Sprintf("%s %s", f.name, message), cmp.Or(f.rule.hint(v), f.remedy))
		}
	}
}

func (d *Document) raw(n *yaml.Node, v reflect.Value) {
	var b bytes.Buffer
	d.writeJSON(&b, n)
	v.SetBytes(b.Bytes())
}

// decodeTagged decodes a node that is not null and has a tag that is supported.
func (d *Document) decodeTagged(n *yaml.Node, v reflect.Value, f *field) {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.text(n, u)
	} else if u, ok := v.Addr().Interface().(Variant); ok {
		d.variant(n, u)
	} else if !d.composite(n, v, f) && !decodeSize(d, n, v, f) {
		d.scalar(n, v)
	}
}

// faultAt reports whether n already has a fault, or the document is full.
func (d *Document) faultAt(n *yaml.Node) bool {
	return d.more > 0 || d.faulty[[2]int{n.Line, n.Column}]
}

// composite decodes pointers, structs, maps and slices, and reports whether v is one of them.
func (d *Document) composite(n *yaml.Node, v reflect.Value, f *field) bool {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, v.Elem(), f)
	case reflect.Struct:
		if f != nil && f.rule.short != "" && n.Kind == yaml.ScalarNode {
			short := loadFields(v.Type()).byName[f.rule.short]
			d.value(n, v.FieldByIndex(short.index), short)
			return true
		}
		d.object(n, v)
	case reflect.Map:
		d.mapping(n, v, f)
	case reflect.Slice:
		d.list(n, v, f)
	default:
		return false
	}
	return true
}

func (d *Document) object(n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, v.Type())
		return
	}
	list, misplaced := entries(n)
	d.reportMisplaced(misplaced)
	d.fields(n, list, v, func(name string) (message, hint string) {
		return fmt.Sprintf("unknown field %q", name),
			spelling.Hint(name, loadFields(v.Type()).names)
	})
}

// fields decodes the entries of the mapping n into a struct. refuse says what is wrong with an
// entry that the struct does not have.
func (d *Document) fields(n *yaml.Node, list []entry, v reflect.Value,
	refuse func(name string) (message, hint string)) {
	fields := loadFields(v.Type())
	given := map[string]bool{}
	for _, e := range list {
		name := deref(e.key).Value
		f, ok := fields.byName[name]
		if ok {
			given[name] = true
			d.value(e.value, v.FieldByIndex(f.index), f)
		} else if !d.faultAt(e.key) { // a fault that says where the field belongs
			if message, hint := refuse(name); message != "" {
				d.fault(e.key, message, hint)
			}
		}
	}
	for _, name := range fields.names {
		if fields.byName[name].rule.required && !given[name] {
			d.fault(n, fmt.Sprintf("%s is missing", name), "")
		}
	}
}

// mapping decodes a mapping with free keys. The rules of the field apply to each value.
func (d *Document) mapping(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind != yaml.MappingNode {
		d.wrongType(n, v.Type())
		return
	}
	list, misplaced := entries(n)
	d.reportMisplaced(misplaced)
	v.Set(reflect.MakeMap(v.Type()))
	rule := f.rule
	rule.required = false
	for _, e := range list {
		name := deref(e.key).Value
		value := reflect.New(v.Type().Elem()).Elem()
		d.value(e.value, value, &field{name: name, rule: rule, remedy: f.remedy})
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
}

func (d *Document) list(n *yaml.Node, v reflect.Value, f *field) {
	if n.Kind == yaml.MappingNode && f != nil && f.rule.keyed != "" {
		d.decodeKeyed(n, v, f)
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.wrongType(n, v.Type())
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	var element *field
	if f != nil {
		element = f.element()
	}
	for i, c := range n.Content {
		d.value(c, v.Index(i), element)
	}
}

func (d *Document) text(n *yaml.Node, u encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, reflect.TypeOf(u).Elem())
		return
	}
	if err := u.UnmarshalText([]byte(n.Value)); err != nil {
		d.fault(n, err.Error(), "")
	}
}

func (d *Document) scalar(n *yaml.Node, v reflect.Value) {
	if n.Kind != yaml.ScalarNode {
		d.wrongType(n, v.Type())
		return
	}
	tag := n.ShortTag()
	if v.Type() == numberType {
		d.number(n, v)
		return
	}
	switch kind := v.Kind(); {
	case kind == reflect.String && slices.Contains(textTags, tag):
		v.SetString(n.Value)
	case kind == reflect.Bool && tag == tagBool:
		v.SetBool(strings.EqualFold(n.Value, "true"))
	case v.CanInt() || kind == reflect.Float64:
		d.number(n, v)
	default:
		d.wrongType(n, v.Type())
	}
}

// textTags are the tags of scalars that are text; a date is text that looks like one.
var textTags = []string{tagString, tagTimestamp, tagMerge}

// numberTag is the tag of a scalar whose number is text. YAML reads a whole number with many digits
// as a fraction.
func numberTag(n *yaml.Node, text string) string {
	if tag := n.ShortTag(); tag != tagFloat || !wholeNumber.MatchString(text) {
		return tag
	}
	return tagInt
}

func (d *Document) number(n *yaml.Node, v reflect.Value) {
	text, hint := numberText(n.Value)
	if tag := numberTag(n, text); tag != tagInt && (tag != tagFloat || v.CanInt()) {
		d.wrongType(n, v.Type())
		return
	}
	if hint != "" {
		d.fault(n, fmt.Sprintf("%s is not a JSON number", n.Value), hint)
		return
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		var i int64
		i, err = strconv.ParseInt(text, 10, 64)
		v.SetInt(i)
	default:
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v.SetFloat(f)
	}
	if err != nil {
		d.fault(n, fmt.Sprintf("%s is too large", display.Shorten(n.Value, 40)), "")
	}
}
