package forms

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/value/redaction"
)

// Kind is how a field is shown.
type Kind string

// The kinds of a field. Select has one of the choices; JSON is for every value that is neither a
// text, a number nor a choice.
const (
	Text   Kind = "text"
	Area   Kind = "area"
	Number Kind = "number"
	Select Kind = "select"
	JSON   Kind = "json"
)

// maxText is the length in bytes above which a text gets a field of several lines.
const maxText = 60

// Option is a value to choose, as JSON and as it is shown.
type Option struct{ Value, Label string }

// Field is one field of a form.
type Field struct {
	// Name is that of the member of the object; it is "value" for a form of a whole value.
	Name string
	Kind Kind
	// Hint describes the field.
	Hint    string
	Choices []Option
	// Value is the text of the field.
	Value string
	// Required says that the member must not be left out, and Omitted that it is left out.
	Required, Omitted bool
	// Masked says that the present value is sensitive and not shown. An empty field keeps it.
	Masked bool
	// Secret says that values of the member are sensitive, and Forgotten that one was entered, is
	// not shown again, and has to be entered again.
	Secret, Forgotten bool
	// Fault is what is wrong with the value.
	Fault string

	// edits says that the field is one of an edit, which sends changes only.
	edits bool
	// before is the present value; nil for none or null.
	before json.RawMessage
}

// Help is what to know before one enters a value.
func (f Field) Help() string {
	if !f.Masked {
		return f.Hint
	}
	return strings.TrimPrefix(f.Hint+". The present value is sensitive and not shown. Leave the "+
		"field empty to keep it", ". ")
}

// Input is the name of the input of the value. A page always sends it.
func (f Field) Input() string { return inputPrefix + url.PathEscape(f.Name) }

// Omit is the name of the checkbox that leaves the member out.
func (f Field) Omit() string { return omitPrefix + url.PathEscape(f.Name) }

// Again is the name of the input that says that the value has to be entered again.
func (f Field) Again() string { return againPrefix + url.PathEscape(f.Name) }

const inputPrefix, omitPrefix, againPrefix = "f.", "omit.", "again."

// isInput reports whether a name is that of an input of some form.
func isInput(name string) bool {
	return strings.HasPrefix(name, inputPrefix) || strings.HasPrefix(name, omitPrefix) ||
		strings.HasPrefix(name, againPrefix)
}

// Omissible reports whether the member can be left out by a checkbox. A select has an empty choice
// for that, which keeps a sensitive value.
func (f Field) Omissible() bool {
	return !f.Required && f.before != nil && (f.Kind != Select || f.Masked)
}

// newField returns the field for a value of a schema.
func newField(name string, schema *jsontext.Object, before json.RawMessage) Field {
	f := Field{Name: name, Hint: jsontext.Member[string](schema, "description"),
		Choices: findChoices(schema)}
	f.Kind = chooseKind(schema, f.Choices)
	if string(before) != "null" {
		f.before = before
	}
	if f.Omitted = f.before == nil; !f.Omitted {
		f.show(f.before)
	}
	return f
}

// hide marks values of the member as sensitive. People paste keys of several lines.
func (f *Field) hide() {
	f.Secret = true
	if f.Kind == Text {
		f.Kind = Area
	}
}

// typeName returns the type of a schema, null aside; empty if there are several, or none.
func typeName(schema *jsontext.Object) string {
	if list, ok := schema.Get("type").([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(one any) bool { return one == "null" })
		if len(list) == 1 {
			name, _ := list[0].(string)
			return name
		}
	}
	return jsontext.Member[string](schema, "type")
}

// chooseKind returns how values of a schema are shown.
func chooseKind(schema *jsontext.Object, choices []Option) Kind {
	if choices != nil {
		return Select
	}
	switch typeName(schema) {
	case "integer", "number":
		return Number
	case "string":
		length, _ := schema.Get("maxLength").(json.Number)
		if most, err := strconv.ParseFloat(string(length), 64); err == nil && most > maxText {
			return Area
		}
		return Text
	}
	return JSON
}

// findChoices returns the values of a schema to choose from; nil if others are possible. Texts
// among texts are shown without quotes.
func findChoices(schema *jsontext.Object) []Option {
	values := jsontext.Member[[]any](schema, "enum")
	if typeName(schema) == "boolean" && values == nil {
		values = []any{true, false}
	}
	quoted := slices.ContainsFunc(values, func(v any) bool {
		_, text := v.(string)
		return !text
	})
	var list []Option
	for _, v := range values {
		data := string(jsontext.Encode(v, nil))
		label := data
		if text, _ := v.(string); !quoted && text != "" {
			label = text
		}
		list = append(list, Option{data, label})
	}
	return list
}

// show fills the field with a value. What the field could not give back unchanged is shown as JSON:
// also a value of another type, which admission converts.
func (f *Field) show(value json.RawMessage) {
	if bytes.Contains(value, []byte(`"`+redaction.Word+`"`)) {
		f.Masked = true
		return
	}
	switch decoded := decodeValue(value).(type) {
	case string:
		if f.isText() && comesBack(decoded) {
			f.showText(decoded)
			return
		}
	case json.Number:
		if f.Kind == Number {
			f.Value = string(value)
			return
		}
	}
	if f.Kind == Select {
		f.choose(value)
		return
	}
	f.Kind, f.Value = JSON, escapeHidden(compact(value))
}

func (f *Field) isText() bool { return f.Kind == Text || f.Kind == Area }

func (f *Field) showText(text string) {
	f.Value = text
	if len(text) > maxText || strings.ContainsAny(text, "\r\n") {
		f.Kind = Area
	}
}

// choose selects the choice with the value, which is one more choice if it is none.
func (f *Field) choose(value json.RawMessage) {
	present := decodeValue(value)
	i := slices.IndexFunc(f.Choices, func(c Option) bool {
		return reflect.DeepEqual(decodeValue(json.RawMessage(c.Value)), present)
	})
	if i < 0 {
		i = len(f.Choices)
		f.Choices = append(f.Choices, Option{compact(value), compact(value)})
	}
	f.Value = f.Choices[i].Value
}

func compact(data json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, data) != nil {
		return string(data)
	}
	return b.String()
}

// take reads what was entered; set is false if the member stays as it is.
func (f *Field) take(entered url.Values) (value json.RawMessage, set bool) {
	given := entered[f.Input()]
	if len(given) > 0 {
		f.Value = strings.ReplaceAll(given[0], "\r\n", "\n")
	}
	if f.isOmitted(entered) {
		f.Omitted = true
		return json.RawMessage("null"), f.before != nil
	}
	if len(given) == 0 || f.isEmpty(entered) {
		return nil, false
	}
	f.Omitted = false
	if value, f.Fault = f.parse(f.Value); f.Fault != "" {
		if f.Secret && f.Kind == JSON {
			f.Fault = "not valid JSON" // the reason can name what was entered
		}
		return nil, false
	}
	return value, !f.isUnchanged(value)
}

// isOmitted reports whether the member is to be left out.
func (f *Field) isOmitted(entered url.Values) bool {
	return entered.Get(f.Omit()) != "" || f.Kind == Select && f.Value == "" && !f.Masked
}

// isEmpty reports whether nothing was entered that could be a value. What had been forgotten must
// not be left out without a word.
func (f *Field) isEmpty(entered url.Values) bool {
	if f.Value != "" {
		return false
	}
	if entered.Get(f.Again()) != "" {
		f.Forgotten, f.Fault = true, enterAgain
		return true
	}
	return f.Masked || f.before == nil && (f.edits || !f.Required)
}

// kept reports whether the field shows the present value, which the page shows anyway.
func (f *Field) kept() bool {
	if f.before == nil || f.Masked || f.Fault != "" {
		return false
	}
	value, fault := f.parse(f.Value)
	return fault == "" && f.isUnchanged(value)
}

// change returns what the merge patch has for a new value. A value that no patch makes is a fault.
func (f *Field) change(value json.RawMessage) json.RawMessage {
	before, after := decodeValue(f.before), decodeValue(value)
	patch := difference(before, after)
	switch {
	case after == nil || !reflect.DeepEqual(jsontext.Merge(before, patch), after):
		f.Fault = "null cannot be entered: leave the member out instead"
	case mergesHidden(before, after):
		f.Fault = "an object cannot replace a sensitive value, whose members would stay"
	}
	data, fault := encodeValue(patch)
	if fault != "" {
		return value // it was decoded from JSON, so that it can be encoded
	}
	return data
}

// isUnchanged reports whether a value is the present one.
func (f *Field) isUnchanged(value json.RawMessage) bool {
	return f.before != nil && reflect.DeepEqual(decodeValue(value), decodeValue(f.before))
}

// decodeValue returns a JSON value; numbers keep their digits. Texts that are not JSON are nil.
func decodeValue(data json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// parse returns the JSON value of a text, or what is wrong with it.
func (f *Field) parse(text string) (json.RawMessage, string) {
	if f.isText() {
		old, _ := decodeValue(f.before).(string)
		if strings.Contains(old, "\r\n") { // browsers return it with \n
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		return encodeValue(text)
	}
	data, fault := parseJSON(text)
	if fault != "" && f.Kind == Number {
		return nil, "enter a number"
	}
	return data, fault
}

func encodeValue(v any) (json.RawMessage, string) {
	data, err := jsonvalue.Encode(v)
	if err != nil {
		return nil, err.Error()
	}
	return data, ""
}

// parseJSON returns a text as a JSON value, or what is wrong with it. Like admission it refuses
// objects with a member twice.
func parseJSON(text string) (json.RawMessage, string) {
	if strings.TrimSpace(text) == "" {
		return nil, "enter a JSON value"
	}
	if _, fault := jsontext.ParseOrdered([]byte(text)); fault != nil {
		return nil, "not valid JSON: " + fault.Error()
	}
	return json.RawMessage(compact(json.RawMessage(text))), ""
}

// comesBack reports whether a browser returns a text as it is shown: without hidden characters, and
// with one way to end lines.
func comesBack(text string) bool {
	n := strings.Count(text, "\r\n")
	return !display.HasHidden(text, spaces) && strings.Count(text, "\r") == n &&
		(n == 0 || strings.Count(text, "\n") == n)
}
