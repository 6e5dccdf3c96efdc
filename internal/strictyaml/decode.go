package strictyaml

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/validator"
	"github.com/switchyard/switchyard/internal/value/display"
	"gopkg.in/yaml.v3"
)

// Decode fills the struct that into points to. A field's name is its yaml tag, else its json tag. A
// rule tag sets its rules (see rule), and a hint tag the remedy for violations. The tags make a
// JSON Schema, by which the document is validated: unknown fields, wrong types and violated rules
// are faults. Valid parts are decoded even if others have faults, so that further checks can report
// more.
func (d *Document) Decode(into any) {
	v := reflect.ValueOf(into).Elem()
	value := d.value(d.root, v, &field{})
	rules := loadSchema(v.Type())
	violations := rules.compiled.Violations(value)
	// A mapping is at the place of its first key, and the fault of that is the more precise one.
	slices.SortStableFunc(violations, func(a, b validator.Violation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), slices.Compare(a.At, b.At))
	})
	for _, violation := range violations {
		d.report(rules, violation, value)
	}
}

// rank orders violations: unknown fields come first.
func rank(v validator.Violation) int {
	if _, unknown := v.Kind.(*kind.AdditionalProperties); unknown {
		return 0
	}
	return 1
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
	rawType      = reflect.TypeFor[json.RawMessage]()
	numberType   = reflect.TypeFor[json.Number]()
	durationType = reflect.TypeFor[api.Duration]()
)

// value decodes n into v as far as it can, and returns what is validated: n as JSON, with durations
// in nanoseconds, sizes in bytes and short forms written out. f is the struct field that v belongs
// to.
func (d *Document) value(n *yaml.Node, v reflect.Value, f *field) any {
	n = deref(n)
	d.secret[n] = f.rule.secret
	switch {
	case v.Type() == rawType:
		var b bytes.Buffer
		d.writeJSON(&b, n)
		v.SetBytes(b.Bytes())
		return true
	case !slices.Contains(tags[n.Kind], n.ShortTag()): // which has been reported
		return nil
	case n.Kind == yaml.ScalarNode && n.ShortTag() == tagNull:
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(n, v.Elem(), f)
	case n.Kind == yaml.MappingNode:
		return d.mapping(n, v, f)
	case n.Kind == yaml.SequenceNode:
		return d.list(n, v, f)
	}
	return d.scalar(n, v, f)
}

// faultAt reports whether n already has a fault, or the document is full.
func (d *Document) faultAt(n *yaml.Node) bool {
	return d.more > 0 || d.faulty[[2]int{n.Line, n.Column}]
}

func (d *Document) mapping(n *yaml.Node, v reflect.Value, f *field) any {
	list, misplaced := entries(n)
	d.reportMisplaced(misplaced)
	if u, ok := v.Addr().Interface().(Variant); ok {
		return d.variant(n, list, u)
	}
	switch {
	case v.Kind() == reflect.Struct:
		return d.fields(list, v)
	case v.Kind() == reflect.Slice && f.rule.keyed != "":
		return d.keyed(list, v, f)
	case v.Kind() != reflect.Map:
		return map[string]any{}
	}
	values := map[string]any{}
	v.Set(reflect.MakeMap(v.Type()))
	for _, e := range list {
		name := deref(e.key).Value
		value := reflect.New(v.Type().Elem()).Elem()
		values[name] = d.value(e.value, value, f)
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
	return values
}

// fields decodes the entries of a mapping into a struct.
func (d *Document) fields(list []entry, v reflect.Value) map[string]any {
	values := map[string]any{}
	fields := loadFields(v.Type())
	for _, e := range list {
		name := deref(e.key).Value
		values[name] = true
		if f, ok := fields.byName[name]; ok {
			values[name] = d.value(e.value, v.FieldByIndex(f.index), f)
		}
	}
	return values
}

// keyed decodes a mapping into a list of structs, whose field rule.keyed gets the key.
func (d *Document) keyed(list []entry, v reflect.Value, f *field) any {
	values := make([]any, len(list))
	v.Set(reflect.MakeSlice(v.Type(), len(list), len(list)))
	name := loadFields(v.Type().Elem()).byName[f.rule.keyed]
	for i, e := range list {
		if twice := findKey(e.value, name.name); twice != nil {
			d.fault(twice, fmt.Sprintf("%s is given twice: %q is the key of this mapping", name.name,
				deref(e.key).Value), "remove it")
		}
		values[i] = d.value(e.value, v.Index(i), f.element())
		v.Index(i).FieldByIndex(name.index).SetString(deref(e.key).Value)
		if fields, ok := values[i].(map[string]any); ok {
			fields[name.name] = deref(e.key).Value
		}
	}
	return values
}

func (d *Document) list(n *yaml.Node, v reflect.Value, f *field) any {
	values := make([]any, len(n.Content))
	if v.Kind() != reflect.Slice {
		return values
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, c := range n.Content {
		values[i] = d.value(c, v.Index(i), f.element())
	}
	return values
}

func (d *Document) scalar(n *yaml.Node, v reflect.Value, f *field) any {
	tag := n.ShortTag()
	switch {
	case f.rule.short != "" && v.Kind() == reflect.Struct:
		short := loadFields(v.Type()).byName[f.rule.short]
		return map[string]any{short.name: d.value(n, v.FieldByIndex(short.index), short)}
	case v.Type() == durationType:
		return d.duration(n, v)
	case f.rule.size && tag == tagString:
		return d.size(n, v)
	case tag == tagInt || tag == tagFloat:
		return d.number(n, v)
	}
	return setText(n, v)
}

// setText sets v to a text or boolean, and returns that.
func setText(n *yaml.Node, v reflect.Value) any {
	var value any = n.Value
	if n.ShortTag() == tagBool {
		value = strings.EqualFold(n.Value, "true")
	}
	if scalar := reflect.ValueOf(value); scalar.Kind() == v.Kind() && v.Type() != numberType {
		v.Set(scalar.Convert(v.Type()))
	}
	return value
}

func (d *Document) duration(n *yaml.Node, v reflect.Value) any {
	var duration api.Duration
	if err := duration.UnmarshalText([]byte(n.Value)); err != nil {
		d.fault(n, err.Error(), "")
		return nil
	}
	v.SetInt(int64(duration))
	return json.Number(strconv.FormatInt(v.Int(), 10))
}

// size decodes a number of bytes with a unit.
func (d *Document) size(n *yaml.Node, v reflect.Value) any {
	bytes, ok := parseSize(n.Value)
	if !ok {
		d.fault(n, fmt.Sprintf("%s is not a size", strconv.Quote(display.Shorten(n.Value, 40))),
			"write bytes, or a whole number and a unit such as 512KiB or 4MiB")
		return nil
	}
	v.SetInt(int64(bytes))
	return json.Number(strconv.Itoa(bytes))
}

func (d *Document) number(n *yaml.Node, v reflect.Value) any {
	text, hint := numberText(n.Value)
	if hint != "" {
		d.fault(n, fmt.Sprintf("%s is not a JSON number", n.Value), hint)
		return nil
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case v.Type() == numberType:
		v.SetString(text)
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(text, 10, 64); errors.Is(err, strconv.ErrSyntax) {
			return text // 5.0, which is a whole number in JSON Schema, but not in Go
		}
		v.SetInt(i)
	case v.Kind() == reflect.Float64:
		v.SetFloat(f)
	}
	if err != nil {
		d.fault(n, fmt.Sprintf("%s is too large", display.Shorten(n.Value, 40)), "")
		return nil
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}
