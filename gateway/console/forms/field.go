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

// The kinds of a field. Lines is a text for each line, Select has one of the choices, Checkboxes
// any of them, and Group is a heading over the fields of an object.
const (
	Text       Kind = "text"
	Area       Kind = "area"
	Lines      Kind = "lines"
	Number     Kind = "number"
	Select     Kind = "select"
	Checkboxes Kind = "checkboxes"
	JSON       Kind = "json"
	Group      Kind = "group"
)

// maxText is the length in bytes above which a text gets a field of several lines.
const maxText = 60

// Option is a value to choose, as JSON and as it is shown.
type Option struct{ Value, Label string }

// Field is one field of a form.
type Field struct {
	// Path are the names of the member of the object and of the objects within that it is in; it is
	// "value" for a form of a whole value.
	Path []string
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
	typ   string
	// before is the present value; nil for none or null. null says that it is null, which stays if
	// nothing is entered.
	before  json.RawMessage
	null    bool
	initial any
}

// Label is the name of the field for people, such as message.subject.
func (f Field) Label() string { return jsontext.Name(f.Path) }

// Help is what to know before one enters a value.
func (f Field) Help() string {
	var says []string
	for _, one := range []struct {
		applies bool
		text    string
	}{
		{f.Hint != "", f.Hint},
		{f.Masked, "The present value is sensitive and not shown. Leave the field empty to keep it"},
		{f.Kind == Lines, "One per line"},
	} {
		if one.applies {
			says = append(says, one.text)
		}
	}
	return strings.Join(says, ". ")
}

// Input is the name of the input of the value. A page always sends it: checkboxes have an empty one
// besides.
func (f Field) Input() string { return inputPrefix + f.inputName() }

// Omit is the name of the checkbox that leaves the member out.
func (f Field) Omit() string { return omitPrefix + f.inputName() }

// Again is the name of the input that says that the value has to be entered again.
func (f Field) Again() string { return againPrefix + f.inputName() }

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

// inputName is the JSON Pointer of the member, without the first slash. Browsers change the ends of
// lines in names, so they are escaped.
func (f Field) inputName() string {
	escaped := make([]string, len(f.Path))
	for i, name := range f.Path {
		escaped[i] = escapeLineEnds.Replace(jsontext.EscapePointer(name))
	}
	return strings.Join(escaped, "/")
}

// problemPath is the path of the member, as api.Problem has it.
func (f Field) problemPath() string {
	path := "$"
	for _, name := range f.Path {
		path = jsonvalue.KeyPath(path, name)
	}
	return path
}

// within reports whether the member is inside the object at a path.
func (f Field) within(path []string) bool {
	return len(f.Path) > len(path) && slices.Equal(f.Path[:len(path)], path)
}

// newField returns the field for a value of the schema.
func newField(path []string, o outline, before json.RawMessage) Field {
	f := Field{Path: path, before: before, typ: o.typ, Hint: o.hint(path[len(path)-1]),
		Choices: o.choices(), initial: o.initial, null: string(before) == "null"}
	if f.Kind = chooseKind(o); f.Choices != nil && f.Kind != Checkboxes {
		f.Kind, f.typ = Select, ""
	}
	if f.null {
		f.before = nil
	}
	if f.Omitted = f.before == nil; !f.Omitted {
		f.show(before)
	}
	if o.secret {
		f.hide()
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

// chooseKind returns how values of the schema are shown, unless there are choices.
func chooseKind(o outline) Kind {
	if o.list != "" {
		return o.list
	}
	switch o.typ {
	case "integer", "number":
		return Number
	case typeString:
		length, _ := o.node.Get("maxLength").(json.Number)
		if most, err := strconv.ParseFloat(string(length), 64); err == nil && most > maxText {
			return Area
		}
		return Text
	}
	return JSON
}

// show fills the field with a value.
func (f *Field) show(value json.RawMessage) {
	if bytes.Contains(value, []byte(`"`+redaction.Word+`"`)) {
		f.Masked = true
		return
	}
	switch text, ok := f.lines(value); {
	case ok:
		f.Value = text
		f.widen()
	case f.Kind == Select:
		f.choose(value)
	case f.Kind == Checkboxes && f.matchesChoices(value):
		f.Value = compact(value)
	default: // also a value of another type, which admission converts
		if f.Kind != Number {
			f.typ, f.Kind = "", JSON
		}
		f.Value = escapeHidden(compact(value))
	}
}

// lines returns a value as the text of its field; ok is false if it is not shown as text, or would
// not come back.
func (f *Field) lines(value json.RawMessage) (text string, ok bool) {
	if f.typ == typeString {
		ok = json.Unmarshal(value, &text) == nil && !display.HasHidden(text, spaces) &&
			hasOneEnding(text)
		return text, ok
	}
	var texts []string
	ok = f.Kind == Lines && json.Unmarshal(value, &texts) == nil &&
		!slices.ContainsFunc(texts, isNoLine)
	return strings.Join(texts, "\n"), ok
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

// matchesChoices reports whether an array is what a browser returns if its elements are checked.
func (f *Field) matchesChoices(value json.RawMessage) bool {
	filled, same := Field{Value: compact(value)}, []any{}
	for _, c := range f.Choices {
		if filled.Has(c.Value) {
			same = append(same, decodeValue(json.RawMessage(c.Value)))
		}
	}
	return reflect.DeepEqual(decodeValue(value), any(same))
}

// Has reports whether a choice is among the chosen ones.
func (f Field) Has(choice string) bool {
	list, _ := decodeValue(json.RawMessage(f.Value)).([]any)
	one := decodeValue(json.RawMessage(choice))
	return slices.ContainsFunc(list, func(v any) bool { return reflect.DeepEqual(v, one) })
}

// widen gives a long text several lines.
func (f *Field) widen() {
	if f.Kind == Text && (len(f.Value) > maxText || strings.ContainsAny(f.Value, "\r\n")) {
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

// take reads what was entered; set is false if the member stays as it is.
func (f *Field) take(entered url.Values) (value json.RawMessage, set bool) {
	given := entered[f.Input()]
	if len(given) > 0 {
		f.Value = f.text(given)
	}
	if f.isOmitted(entered) {
		f.Omitted = true
		return json.RawMessage("null"), f.before != nil
	}
	if f.Kind == Group || len(given) == 0 || f.isEmpty(entered) {
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

// isEmpty reports whether nothing was entered that could be a value. What had been forgotten must
// not be left out without a word.
func (f *Field) isEmpty(entered url.Values) bool {
	none := f.Value == "" || f.Kind == Checkboxes && f.Value == "[]"
	if none && entered.Get(f.Again()) != "" {
		f.Forgotten, f.Fault = true, enterAgain
		return true
	}
	return f.Value == "" && f.emptyKeeps()
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

// text returns what was entered as the text of the field.
func (f *Field) text(entered []string) string {
	if f.Kind == Checkboxes {
		checked := slices.DeleteFunc(slices.Clone(entered),
			func(one string) bool { return one == "" })
		if len(checked) == 0 && f.emptyKeeps() {
			return ""
		}
		return "[" + strings.Join(checked, ",") + "]"
	}
	return strings.ReplaceAll(entered[0], "\r\n", "\n")
}

// emptyKeeps reports whether an empty text leaves the member as it is.
func (f *Field) emptyKeeps() bool {
	return f.Masked || f.null || f.before == nil && (f.edits || !f.Required)
}

// isUnchanged reports whether a value is the present one.
func (f *Field) isUnchanged(value json.RawMessage) bool {
	if f.before == nil {
		return f.null && string(value) == "null"
	}
	return reflect.DeepEqual(decodeValue(value), decodeValue(f.before))
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

// isOmitted reports whether the member is to be left out.
func (f *Field) isOmitted(entered url.Values) bool {
	return entered.Get(f.Omit()) != "" || f.Kind == Select && f.Value == "" && !f.Masked
}

// parse returns the JSON value of a text, or what is wrong with it.
func (f *Field) parse(text string) (json.RawMessage, string) {
	switch {
	case f.Kind == Lines:
		return encodeValue(slices.DeleteFunc(strings.Split(text, "\n"),
			func(line string) bool { return line == "" }))
	case f.typ == typeString && f.Kind != Select:
		old, _ := decodeValue(f.before).(string)
		return encodeValue(withEndings(text, old))
	}
	data, fault := Strict(text)
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
