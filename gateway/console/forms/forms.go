// Package forms makes form fields from JSON Schemas, and JSON from what people enter.
package forms

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// Kind is how a field is shown.
type Kind string

// The kinds of a field.
const (
	Text   Kind = "text"
	Area   Kind = "area"
	Number Kind = "number"
	Choice Kind = "choice"
	JSON   Kind = "json"
)

// whole is the name of the one field of a form for a whole value.
const whole = "value"

// maxText is the length in bytes above which a text gets a field of several lines.
const maxText = 60

// Field is one field of a form.
type Field struct {
	// Name is that of the member of the object; "value" for a form of a whole value.
	Name string
	Kind Kind
	// Hint describes the field. Choices are the JSON texts to choose from.
	Hint    string
	Choices []string
	// Value is the text of the field.
	Value string
	// Required says that the member must not be left out, and Omitted that it is left out.
	Required, Omitted bool
	// Masked says that the present value is sensitive and not shown. An empty field keeps it.
	Masked bool
	// Fault is what is wrong with the value.
	Fault string

	typ string
	// before is the present value; nil for none.
	before json.RawMessage
}

// Form is a form for a JSON value.
type Form struct {
	Fields []Field
	whole  bool
}

// shape is a JSON Schema as far as it decides about fields.
type shape struct {
	Type        any                        `json:"type"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Enum        []json.RawMessage          `json:"enum"`
	Default     json.RawMessage            `json:"default"`
	MaxLength   *int                       `json:"maxLength"`
	Properties  map[string]json.RawMessage `json:"properties"`
	Required    []string                   `json:"required"`
}

// typeName returns the type of the schema's values, null aside; empty if there are several.
func (s shape) typeName() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		t = slices.DeleteFunc(slices.Clone(t), func(one any) bool { return one == "null" })
		if name, ok := t[0].(string); len(t) == 1 && ok {
			return name
		}
	}
	return ""
}

// Edit returns a form to change members of an object; ok is false if the schema names no members.
// value is the present object, with sensitive parts replaced by api.Redacted.
func Edit(schema, value json.RawMessage) (f Form, ok bool) {
	s, valid := shapeOf(schema)
	if !valid || len(s.Properties) == 0 {
		return Form{}, false
	}
	var present map[string]json.RawMessage
	if json.Unmarshal(value, &present) != nil && len(value) > 0 {
		return Form{}, false
	}
	f.addMembers(s, schema, present)
	return f, true
}

// Answer returns a form for a new value of the schema; an empty schema accepts any value.
func Answer(schema json.RawMessage) Form {
	s, valid := shapeOf(schema)
	if valid && len(s.Properties) > 0 && s.typeName() == "object" {
		f := Form{}
		f.addMembers(s, schema, nil)
		return f
	}
	field := fieldOf(whole, s, nil)
	field.Required = true
	if !valid || len(schema) == 0 {
		field.Kind, field.typ = Area, "string"
	}
	return Form{Fields: []Field{field}, whole: true}
}

func shapeOf(schema json.RawMessage) (s shape, ok bool) {
	if len(schema) == 0 {
		return s, true
	}
	return s, json.Unmarshal(schema, &s) == nil
}

// addMembers adds a field for each member, in the order of the schema.
func (f *Form) addMembers(s shape, schema json.RawMessage, present map[string]json.RawMessage) {
	for _, name := range order(schema, s.Properties) {
		member, _ := shapeOf(s.Properties[name])
		field := fieldOf(name, member, present[name])
		field.Required = slices.Contains(s.Required, name)
		f.Fields = append(f.Fields, field)
	}
}

// order returns the names of the properties in the order of the schema's text.
func order(schema json.RawMessage, properties map[string]json.RawMessage) []string {
	var outer struct {
		Properties json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &outer) // it was decoded before
	d := json.NewDecoder(bytes.NewReader(outer.Properties))
	var names []string
	if _, err := d.Token(); err == nil {
		for d.More() {
			name, _ := d.Token()
			var skipped json.RawMessage
			if d.Decode(&skipped) != nil {
				break
			}
			if text, ok := name.(string); ok && !slices.Contains(names, text) {
				names = append(names, text)
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return properties[n] == nil })
}

// fieldOf returns the field for a value of the shape.
func fieldOf(name string, s shape, before json.RawMessage) Field {
	f := Field{Name: name, before: before, typ: s.typeName(),
		Hint: strings.Trim(s.Title+". "+s.Description, ". ")}
	switch {
	case len(s.Enum) > 0:
		f.Kind, f.typ = Choice, ""
		for _, c := range s.Enum {
			f.Choices = append(f.Choices, compact(c))
		}
	case f.typ == "boolean":
		f.Kind, f.Choices = Choice, []string{"true", "false"}
	case f.typ == "integer" || f.typ == "number":
		f.Kind = Number
	case f.typ == "string":
		f.Kind = Text
		if s.MaxLength != nil && *s.MaxLength > maxText {
			f.Kind = Area
		}
	default:
		f.Kind = JSON
	}
	f.show(before)
	return f
}

// show fills the field with its present value.
func (f *Field) show(before json.RawMessage) {
	if before == nil {
		f.Omitted = true
		return
	}
	var text string
	switch {
	case bytes.Contains(before, []byte(`"`+api.Redacted+`"`)):
		f.Masked = true
	case f.typ == "string" && json.Unmarshal(before, &text) == nil:
		f.Value = text
		f.widen()
	case f.typ == "string": // a value of another type, which admission converts
		f.typ, f.Kind, f.Value = "", JSON, string(before)
	case f.Kind == Choice:
		f.choose(before)
	default:
		f.Value = compact(before)
	}
}

// choose selects the choice with the present value, which is one more choice if it is none.
func (f *Field) choose(before json.RawMessage) {
	present := decoded(before)
	i := slices.IndexFunc(f.Choices, func(c string) bool {
		return reflect.DeepEqual(decoded(json.RawMessage(c)), present)
	})
	if i < 0 {
		i = len(f.Choices)
		f.Choices = append(f.Choices, compact(before))
	}
	f.Value = f.Choices[i]
}

// widen gives a long text several lines.
func (f *Field) widen() {
	if len(f.Value) > maxText || strings.ContainsAny(f.Value, "\r\n") {
		f.Kind = Area
	}
}

func compact(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

// Input is the name of the input of the value.
func (f Field) Input() string { return "f." + f.Name }

// Omit is the name of the checkbox that leaves the member out.
func (f Field) Omit() string { return "omit." + f.Name }

// take reads what was entered; set is false if the member stays as it is.
func (f *Field) take(entered url.Values) (value json.RawMessage, set bool) {
	f.Value = strings.ReplaceAll(entered.Get(f.Input()), "\r\n", "\n")
	if f.omitted(entered) {
		f.Omitted = true
		return json.RawMessage("null"), f.before != nil
	}
	if f.Value == "" && (f.Masked || f.before == nil && !f.Required) {
		return nil, false
	}
	f.Omitted = false
	value, f.Fault = f.parse(f.Value)
	if f.Fault != "" || f.before != nil && f.untouched(value) {
		return nil, false
	}
	return value, true
}

// untouched reports whether a value is the present one, as a browser returns it.
func (f *Field) untouched(value json.RawMessage) bool {
	entered, present := decoded(value), decoded(f.before)
	if old, ok := present.(string); ok && f.typ == "string" {
		text, _ := entered.(string)
		return returned.Replace(text) == returned.Replace(old)
	}
	return reflect.DeepEqual(entered, present)
}

// withEndings gives a text the ends of lines of the present one.
func (f *Field) withEndings(text string) string {
	old, _ := decoded(f.before).(string)
	if n := strings.Count(old, "\r\n"); n > 0 && n == strings.Count(old, "\n") {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// returned replaces what a browser does not return as it was shown: ends of lines, and zero bytes.
var returned = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "\uFFFD")

// decoded returns a JSON value; numbers keep their digits. Texts that are not JSON are nil.
func decoded(data json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// omitted reports whether the member is to be left out.
func (f *Field) omitted(entered url.Values) bool {
	return entered.Get(f.Omit()) != "" || f.Kind == Choice && f.Value == "" && !f.Masked
}

// parse returns the JSON value of a text, or what is wrong with it.
func (f *Field) parse(text string) (json.RawMessage, string) {
	if f.typ == "string" && f.Kind != Choice {
		data, err := api.EncodeJSON(f.withEndings(text))
		if err != nil {
			return nil, err.Error()
		}
		return data, ""
	}
	data, fault := Strict(text)
	if fault != "" && f.Kind == Number {
		return nil, "enter a number"
	}
	return data, fault
}

// Changes reads an edit: an object with the members that changed, null for one to leave out. ok is
// false if a field has a fault.
func (f *Form) Changes(entered url.Values) (changes json.RawMessage, ok bool) {
	members := map[string]json.RawMessage{}
	ok = true
	for i := range f.Fields {
		value, set := f.Fields[i].take(entered)
		if set {
			members[f.Fields[i].Name] = value
		}
		ok = ok && f.Fields[i].Fault == ""
	}
	data, err := json.Marshal(members)
	return data, ok && err == nil
}

// Value reads a new value. ok is false if a field has a fault.
func (f *Form) Value(entered url.Values) (value json.RawMessage, ok bool) {
	if !f.whole {
		return f.Changes(entered)
	}
	value, _ = f.Fields[0].take(entered)
	if len(value) == 0 && f.Fields[0].Fault == "" {
		f.Fields[0].Fault = "enter a value"
	}
	return value, f.Fields[0].Fault == ""
}

// Blame puts the problems of a refused value at their fields, and returns those without a field.
func (f *Form) Blame(problems []api.Problem) (left []api.Problem) {
	for _, p := range problems {
		name, _, _ := strings.Cut(strings.Trim(p.Path, "/$."), "/")
		i := slices.IndexFunc(f.Fields, func(one Field) bool {
			return one.Name == name || f.whole
		})
		if i < 0 {
			left = append(left, p)
			continue
		}
		f.Fields[i].Fault = strings.TrimPrefix(f.Fields[i].Fault+"; "+p.Message, "; ")
	}
	return left
}
