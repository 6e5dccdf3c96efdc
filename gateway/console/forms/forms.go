// Package forms makes form fields from JSON Schemas, and JSON from what people enter. Members of an
// object that are texts, numbers or choices have inputs; all others are edited as JSON.
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
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// whole is the name of the one field of a form for a whole value.
const whole = "value"

// Form is a form for a JSON value.
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
	root := readSchema(schema)
	var present map[string]json.RawMessage
	isObject := json.Unmarshal(value, &present) == nil && present != nil
	if len(members(root).Names()) == 0 || !isObject && len(value) > 0 {
		return Form{}, false
	}
	f = newForm(schema, root, present)
	for i := range f.Fields {
		f.Fields[i].edits = true
	}
	return f, true
}

// Answer returns a form for a new value of the schema; an empty schema accepts any value. It
// proposes the defaults of the schema.
func Answer(schema json.RawMessage) Form {
	root := readSchema(schema)
	if typeName(root) == "object" && len(members(root).Names()) > 0 {
		f := newForm(schema, root, nil)
		for i := range f.Fields {
			f.Fields[i].propose(jsontext.Member[*jsontext.Object](members(root), f.Fields[i].Name))
		}
		return f
	}
	field := newField(whole, root, nil)
	field.Required = true
	if root == nil {
		field.Kind = Area
	}
	field.propose(root)
	if root != nil && isSecret(root, root) {
		field.hide()
	}
	return Form{Fields: []Field{field}, ID: hashSchema(schema), whole: true}
}

func newForm(schema json.RawMessage, root *jsontext.Object,
	present map[string]json.RawMessage) Form {
	f := Form{ID: hashSchema(schema)}
	required := jsontext.Member[[]any](root, "required")
	for _, name := range members(root).Names() {
		member := members(root).Get(name)
		node, _ := member.(*jsontext.Object)
		field := newField(name, node, present[name])
		field.Required = slices.Contains(required, any(name))
		if isSecret(root, member) {
			field.hide()
		}
		f.Fields = append(f.Fields, field)
	}
	return f
}

// readSchema returns a schema; nil if it is empty or no object.
func readSchema(schema json.RawMessage) *jsontext.Object {
	parsed, _ := jsontext.ParseOrdered(schema)
	root, _ := parsed.(*jsontext.Object)
	return root
}

// members returns the schemas of an object's members, in their order.
func members(root *jsontext.Object) *jsontext.Object {
	return jsontext.Member[*jsontext.Object](root, "properties")
}

// isSecret reports whether the schema of a member says that its values, or parts of them, are
// sensitive. One that refers to definitions may do so.
func isSecret(root *jsontext.Object, member any) bool {
	text := string(jsontext.Encode(member, nil))
	refs := strings.Count(text, `"$ref":`)
	for _, name := range []string{"$defs", "definitions"} {
		if to := strings.Count(text, `"$ref":"#/`+name+`/`); to > 0 {
			text, refs = text+string(jsontext.Encode(root.Get(name), nil)), refs-to
		}
	}
	if refs > 0 { // to another part of the schema
		text = string(jsontext.Encode(root, nil))
	}
	return strings.Contains(text, `"writeOnly":true`)
}

func hashSchema(schema json.RawMessage) string {
	sum := sha256.Sum256(schema)
	return hex.EncodeToString(sum[:8])
}

// propose fills the field of a new value with the default of its schema.
func (f *Field) propose(schema *jsontext.Object) {
	if initial := schema.Get("default"); initial != nil {
		f.show(jsontext.Encode(initial, nil))
	}
}

// Hide marks the fields of sensitive values. redact replaces those of an object by redaction.Word.
func (f *Form) Hide(redact func(json.RawMessage) json.RawMessage) {
	for i := range f.Fields {
		one := &f.Fields[i]
		data, err := json.Marshal(map[string]string{one.Name: "?"})
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
		if !one.Secret || one.Value == "" || one.kept() {
			continue
		}
		one.Value, one.Forgotten = "", true
		if one.Fault != "" {
			one.Fault += "; "
		}
		one.Fault += enterAgain
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
	object map[string]json.RawMessage, ok bool) {
	object, f.Stale = map[string]json.RawMessage{}, f.Stale || f.isStale(entered)
	ok = !f.Stale
	for i := range f.Fields {
		one := &f.Fields[i]
		value, set := one.take(entered)
		if set && !one.Omitted {
			value = of(one, value)
		}
		if set {
			object[one.Name] = value
		}
		ok = ok && one.Fault == ""
	}
	return object, ok
}

// isStale reports whether the form of another schema was sent, or an input that is none of this.
func (f *Form) isStale(entered url.Values) bool {
	if id, sent := entered[idInput]; sent && (len(id) != 1 || id[0] != f.ID) {
		return true
	}
	known := map[string]bool{}
	for _, one := range f.Fields {
		known[one.Input()], known[one.Omit()], known[one.Again()] = true, true, true
	}
	for name := range entered {
		if isInput(name) && !known[name] {
			return true
		}
	}
	return false
}

// Value reads a new value. ok is false if a field has a fault, or the form is stale.
func (f *Form) Value(entered url.Values) (value json.RawMessage, ok bool) {
	object, ok := f.take(entered,
		func(_ *Field, value json.RawMessage) json.RawMessage { return value })
	if f.whole {
		if value = object[whole]; len(value) == 0 && f.Fields[0].Fault == "" {
			f.Fields[0].Fault = "enter a value"
		}
		return value, ok && f.Fields[0].Fault == ""
	}
	data, err := json.Marshal(object)
	return data, ok && err == nil
}

// Blame puts the problems of a refused value at their fields, and returns those without a field.
func (f *Form) Blame(problems []api.Problem) (left []api.Problem) {
	for _, p := range problems {
		i := slices.IndexFunc(f.Fields, func(one Field) bool {
			rest, leads := strings.CutPrefix(p.Path, jsonvalue.KeyPath("$", one.Name))
			return f.whole || leads && (rest == "" || rest[0] == '.' || rest[0] == '[')
		})
		if i < 0 {
			left = append(left, p)
			continue
		}
		f.Fields[i].Fault = strings.TrimPrefix(f.Fields[i].Fault+"; "+p.Message, "; ")
	}
	return left
}
