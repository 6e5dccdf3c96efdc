// Package forms makes form fields from JSON Schemas, and JSON from what people enter.
package forms

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// whole is the name of the one field of a form for a whole value.
const whole = "value"

const (
	// maxDepth bounds the objects within objects that have fields of their own.
	maxDepth = 5
	// maxFields is how many fields a form may have before an object that gets fields of its own.
	maxFields = 200
)

// Form is a form for a JSON value. The fields of an object follow the group that they belong to.
type Form struct {
	Fields []Field
	// ID is that of the schema. A page sends it as the input form.
	ID string
	// Stale says that the entered form is one of another schema.
	Stale bool

	whole bool
}

// idInput is the name of the input for the ID of a form.
const idInput = "form"

// Edit returns a form to change members of an object; ok is false if the schema names no members.
// value is the present object, with sensitive parts replaced by redaction.Word.
func Edit(schema, value json.RawMessage) (f Form, ok bool) {
	f.ID = hashSchema(schema)
	o, valid := read(schema)
	if !valid || len(o.members()) == 0 {
		return Form{}, false
	}
	present, isObject := decodeMembers(value)
	if !isObject && len(value) > 0 {
		return Form{}, false
	}
	f.add(nil, o, present, nil)
	for i := range f.Fields {
		f.Fields[i].edits = true
	}
	return f, true
}

// Answer returns a form for a new value of the schema; an empty schema accepts any value.
func Answer(schema json.RawMessage) Form {
	o, valid := read(schema)
	if valid && len(o.members()) > 0 && o.typ == typeObject {
		f := Form{ID: hashSchema(schema)}
		f.add(nil, o, nil, o.initial)
		f.propose()
		return f
	}
	field := newField([]string{whole}, o, nil)
	field.Required = true
	if !valid || len(schema) == 0 {
		field.Kind, field.typ = Area, typeString
	}
	f := Form{Fields: []Field{field}, ID: hashSchema(schema), whole: true}
	f.propose()
	return f
}

func hashSchema(schema json.RawMessage) string {
	sum := sha256.Sum256(schema)
	return hex.EncodeToString(sum[:8])
}

// Hide marks the fields of sensitive values. redact replaces those of an object by redaction.Word.
func (f *Form) Hide(redact func(json.RawMessage) json.RawMessage) {
	for i := range f.Fields {
		one := &f.Fields[i]
		probe := map[string]any{}
		last := len(one.Path) - 1
		reach(probe, one.Path[:last])[one.Path[last]] = "?"
		data, err := json.Marshal(probe)
		if one.Masked || err == nil && !bytes.Contains(redact(data), []byte(`"?"`)) {
			one.hide()
		}
	}
}

// enterAgain says what to do about a value that Forget has removed.
const enterAgain = "enter it again, it is not kept; or reload the page to discard the changes"

// Forget removes what was entered in the fields of sensitive values, before the form is shown
// again after a fault.
func (f *Form) Forget() {
	for i := range f.Fields {
		one := &f.Fields[i]
		if !one.Secret || one.Value == "" || one.Kind == Group || one.kept() {
			continue
		}
		one.Value, one.Forgotten = "", true
		if one.Fault != "" {
			one.Fault += "; "
		}
		one.Fault += enterAgain
	}
}

// read returns the outline of a schema; an empty one has no constraints.
func read(schema json.RawMessage) (o outline, ok bool) {
	if len(schema) == 0 {
		return outline{}, true
	}
	root, fault := jsontext.ParseOrdered(schema)
	return newOutline(root, root), fault == nil
}

// decodeMembers returns the members of an object.
func decodeMembers(value json.RawMessage) (members map[string]json.RawMessage, ok bool) {
	ok = json.Unmarshal(value, &members) == nil && members != nil
	return members, ok
}

// add adds the fields of an object's members, in the order of the schema. present are the members
// that there are; initial is the default of a new object.
func (f *Form) add(path []string, o outline, present map[string]json.RawMessage, initial any) {
	for _, name := range o.members() {
		at, member := append(slices.Clone(path), name), o.member(name)
		if outer, ok := initial.(*jsontext.Object); ok && outer.Has(name) {
			member.initial = outer.Get(name)
		}
		required := o.requires(name)
		inner, grouped := group(at, member, present[name], required)
		if grouped && len(f.Fields) < maxFields {
			f.Fields = append(f.Fields, Field{Path: at, Kind: Group, Hint: member.hint(name),
				Required: required, before: present[name]})
			f.add(at, member, inner, member.initial)
			continue
		}
		field := newField(at, member, present[name])
		field.Required = required
		f.Fields = append(f.Fields, field)
	}
}

// group returns the members of a value whose members get fields of their own: an object all of
// whose members the schema names, or one that a new value needs.
func group(path []string, o outline, value json.RawMessage, required bool) (
	members map[string]json.RawMessage, ok bool) {
	names := o.members()
	if len(names) == 0 || len(path) >= maxDepth || o.typ != typeObject && o.typ != "" {
		return nil, false
	}
	if value == nil {
		return nil, required
	}
	members, ok = decodeMembers(value)
	for name := range members {
		ok = ok && slices.Contains(names, name)
	}
	return members, ok
}

// propose fills the fields of a new value with the defaults of the schema.
func (f *Form) propose() {
	for i := range f.Fields {
		if one := &f.Fields[i]; one.initial != nil {
			one.show(jsontext.Encode(one.initial, nil))
		}
	}
}

// Changes reads an edit: a JSON merge patch (RFC 7396) with the members that changed, null for one
// to leave out. ok is false if a field has a fault, or the form is stale.
func (f *Form) Changes(entered url.Values) (changes json.RawMessage, ok bool) {
	patch, ok := f.take(entered, (*Field).change)
	data, err := json.Marshal(patch)
	return data, ok && err == nil
}

// take reads the fields into an object. of makes of a new value what the object has.
func (f *Form) take(entered url.Values, of func(*Field, json.RawMessage) json.RawMessage) (
	object map[string]any, ok bool) {
	object, f.Stale = map[string]any{}, f.Stale || f.isStale(entered)
	ok = !f.Stale
	var out []string // the group that is left out
	for i := range f.Fields {
		one := &f.Fields[i]
		if out == nil || !one.within(out) {
			out = one.addTo(object, entered, of)
		}
		ok = ok && one.Fault == ""
	}
	return object, ok
}

// addTo adds what was entered in a field to an object. It returns the path of a group that is left
// out with its members; nil for others.
func (f *Field) addTo(object map[string]any, entered url.Values,
	of func(*Field, json.RawMessage) json.RawMessage) (out []string) {
	value, set := f.take(entered)
	if !set {
		return nil
	}
	if f.Kind == Group {
		out = f.Path
	}
	if !f.Omitted {
		value = of(f, value)
	}
	last := len(f.Path) - 1
	reach(object, f.Path[:last])[f.Path[last]] = value
	return out
}

// isStale reports whether the form of another schema was sent, or an input that is none of this.
func (f *Form) isStale(entered url.Values) bool {
	if id, sent := entered[idInput]; sent && (len(id) != 1 || id[0] != f.ID) {
		return true
	}
	known := map[string]bool{}
	for _, one := range f.Fields {
		known[one.Input()], known[one.Omit()], known[one.Again()] = one.Kind != Group, true, true
	}
	for name := range entered {
		if isInput(name) && !known[name] {
			return true
		}
	}
	return false
}

// reach returns the object at a path of objects, and makes those that are missing.
func reach(object map[string]any, path []string) map[string]any {
	for _, name := range path {
		inner, ok := object[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[name] = inner
		}
		object = inner
	}
	return object
}

// Value reads a new value. ok is false if a field has a fault, or the form is stale.
func (f *Form) Value(entered url.Values) (value json.RawMessage, ok bool) {
	object, ok := f.take(entered,
		func(_ *Field, value json.RawMessage) json.RawMessage { return value })
	if f.whole {
		value, _ = object[whole].(json.RawMessage)
		if len(value) == 0 && f.Fields[0].Fault == "" {
			f.Fields[0].Fault = "enter a value"
		}
		return value, ok && f.Fields[0].Fault == ""
	}
	for _, one := range f.Fields {
		if one.Kind == Group { // also with no member
			reach(object, one.Path)
		}
	}
	data, err := json.Marshal(object)
	return data, ok && err == nil
}

// Blame puts the problems of a refused value at their fields, and returns those without a field.
func (f *Form) Blame(problems []api.Problem) (left []api.Problem) {
	for _, p := range problems {
		i := f.place(p.Path)
		if i < 0 {
			left = append(left, p)
			continue
		}
		f.Fields[i].Fault = strings.TrimPrefix(f.Fields[i].Fault+"; "+p.Message, "; ")
	}
	return left
}

// place returns the field of the innermost value that the path of a problem leads to or through; -1
// if there is none.
func (f *Form) place(path string) int {
	if f.whole {
		return 0
	}
	found := -1
	for i, one := range f.Fields {
		rest, leads := strings.CutPrefix(path, one.problemPath())
		if leads && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			found = i // those of a group come after it
		}
	}
	return found
}
