package strictyaml

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"gopkg.in/yaml.v3"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/validator"
)

// report adds the faults of a violation. value is the document as validated.
func (d *Document) report(of *fileSchema, v validator.Violation, value any) {
	n, s := d.follow(steps(v.At, value)), of.subjects[v.Schema]
	switch k := v.Kind.(type) {
	case *kind.Required:
		for _, name := range k.Missing {
			d.fault(n, name+" is missing", s.remedy(name))
		}
	case *kind.AdditionalProperties:
		for _, name := range k.Properties {
			d.unknown(n, name, s.of)
		}
	case *kind.UniqueItems:
		second := deref(child(n, jsonpath.Step{Index: k.Duplicates[1]}))
		d.fault(second, fmt.Sprintf("%q is given twice", second.Value), "remove one")
	default:
		d.reportValue(n, s, v)
	}
}

// reportValue adds the fault of a value, unless there is one already.
func (d *Document) reportValue(n *yaml.Node, s subject, v validator.Violation) {
	if d.faulty[[2]int{n.Line, n.Column}] {
		return
	}
	if _, ok := v.Kind.(*kind.Type); ok {
		d.wrongType(n, s.of)
		return
	}
	message, hint := s.explain(v)
	d.fault(n, message, hint)
}

// follow returns the node that a path leads to, or what is written for it in a short form.
func (d *Document) follow(path []jsonpath.Step) *yaml.Node {
	n := d.root
	for _, s := range path {
		if next := child(n, s); next != nil {
			n = next
		}
	}
	return deref(n)
}

// unknown reports a field that a mapping does not have, unless a fault says where it belongs.
func (d *Document) unknown(n *yaml.Node, name string, t reflect.Type) {
	key := findKey(n, name)
	if d.faultAt(key) {
		return
	}
	message, hint := fmt.Sprintf("unknown field %q", name), ""
	if v := d.variants[n]; v != nil {
		message, hint = v.Refuse(name)
	} else {
		hint = spelling.Hint(name, loadFields(t).names)
	}
	if message != "" {
		d.fault(key, message, hint)
	}
}

// remedy returns the hint of a field of the struct; empty if it is about a pattern.
func (s subject) remedy(name string) string {
	if f := loadFields(s.of).byName[name]; f != nil && f.rule.pattern == "" {
		return f.remedy
	}
	return ""
}

// explain returns what is wrong with a value of the right type, and the remedy.
func (s subject) explain(v validator.Violation) (message, hint string) {
	name, r := s.field.name, s.field.rule
	if name == "" {
		name = v.At[len(v.At)-1]
	}
	hint = s.field.remedy
	switch k := v.Kind.(type) {
	case *kind.Pattern:
		return strings.Replace(r.complaint, "%q", fmt.Sprintf("%.80q", k.Got), 1), hint
	case *kind.Enum:
		given := fmt.Sprint(k.Got)
		if near := spelling.Near(given, r.enum, 1); len(near) > 0 {
			hint = spelling.Hint(given, r.enum)
		}
		message = fmt.Sprintf("is %q; it must be one of %s", given, strings.Join(r.enum, ", "))
	case *kind.MinLength:
		message, hint = "is empty", ""
	case *kind.UniqueItems:
		message = "has an element twice"
	default:
		message = s.explainBound(k)
	}
	return name + " " + message, hint
}

// explainBound says which bound a number or the length of a list violates.
func (s subject) explainBound(k jsonschema.ErrorKind) string {
	r := s.field.rule
	switch k := k.(type) {
	case *kind.MinItems:
		if k.Got == 0 {
			return "is empty"
		}
		return fmt.Sprintf("is %d long; the minimum is %s", k.Got, r.min.text)
	case *kind.MaxItems:
		return fmt.Sprintf("is %d long; the maximum is %s", k.Got, r.max.text)
	case *kind.Minimum:
		return fmt.Sprintf("is %s; the minimum is %s", s.show(k.Got), r.min.text)
	case *kind.Maximum:
		return fmt.Sprintf("is %s; the maximum is %s", s.show(k.Got), r.max.text)
	case *kind.ExclusiveMinimum:
		return fmt.Sprintf("is %s; it must be more than %s", s.show(k.Got), r.above.text)
	}
	return fmt.Sprintf("violates the rule %v", k.KeywordPath())
}

// show returns a number as people write it.
func (s subject) show(n *big.Rat) string {
	f, _ := n.Float64()
	if s.of == durationType {
		return api.Duration(f).String()
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// steps returns the steps of a path in a value.
func steps(at []string, value any) []jsonpath.Step {
	list := make([]jsonpath.Step, len(at))
	for i, token := range at {
		list[i] = jsonpath.Step{Key: token, Index: -1}
		switch v := value.(type) {
		case map[string]any:
			value = v[token]
		case []any:
			list[i].Index, _ = strconv.Atoi(token)
			value = v[list[i].Index]
		}
	}
	return list
}

// Check holds a struct that was not decoded from YAML to the same rules. A field that is zero
// counts as not given.
func Check(value any) []Finding {
	of := loadSchema(reflect.TypeOf(value))
	plain := plainValue(reflect.ValueOf(value))
	var found Findings
	for _, v := range of.compiled.Violations(plain) {
		path := jsonpath.Join(steps(v.At, plain))
		if k, ok := v.Kind.(*kind.Required); ok {
			for _, name := range k.Missing {
				found.Add(jsonpath.Key(path, name), of.subjects[v.Schema].remedy(name),
					"%s is missing", name)
			}
		} else {
			message, hint := of.subjects[v.Schema].explain(v)
			found.Add(path, hint, "%s", message)
		}
	}
	slices.SortFunc(found.All, func(a, b Finding) int { return cmp.Compare(a.Path, b.Path) })
	return found.All
}

// plainValue returns a value in the form that Document.value returns.
func plainValue(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Pointer:
		return plainValue(v.Elem())
	case reflect.Struct:
		return plainFields(v)
	case reflect.Slice:
		return plainList(v)
	case reflect.Map:
		values := map[string]any{}
		for _, key := range v.MapKeys() {
			values[key.String()] = plainValue(v.MapIndex(key))
		}
		return values
	case reflect.Int, reflect.Int64:
		return json.Number(strconv.FormatInt(v.Int(), 10))
	case reflect.String:
		return plainText(v)
	}
	return v.Interface()
}

func plainText(v reflect.Value) any {
	if v.Type() == numberType {
		return v.Interface()
	}
	return v.String()
}

func plainList(v reflect.Value) any {
	if v.Type() == rawType {
		return true
	}
	list := make([]any, v.Len())
	for i := range list {
		list[i] = plainValue(v.Index(i))
	}
	return list
}

func plainFields(v reflect.Value) map[string]any {
	values := map[string]any{}
	if c, ok := v.Interface().(Chosen); ok {
		name, fields := c.Chosen()
		if fields != nil {
			values = plainFields(reflect.ValueOf(fields))
		}
		values[variantKey] = name
		return values
	}
	for name, f := range loadFields(v.Type()).byName {
		if value := v.FieldByIndex(f.index); !value.IsZero() {
			values[name] = plainValue(value)
		}
	}
	return values
}
