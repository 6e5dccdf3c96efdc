package forms

import (
	"bytes"
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// Kind is how a field is shown.
type Kind string

// The kinds of a field. Lines is a text for each line, Chosen has any of the choices, and Group is
// a heading over the fields of an object.
const (
	Text   Kind = "text"
	Area   Kind = "area"
	Lines  Kind = "lines"
	Number Kind = "number"
	Choice Kind = "choice"
	Chosen Kind = "chosen"
	JSON   Kind = "json"
	Group  Kind = "group"
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
	// Fault is what is wrong with the value.
	Fault string

	typ string
	// before is the present value; nil for none or null. null says that it is null, which stays if
	// nothing is entered.
	before  json.RawMessage
	null    bool
	initial any
}

// Label is the name of the field for people, such as message.subject.
func (f Field) Label() string { return strings.Join(f.Path, ".") }

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

// Input is the name of the input of the value.
func (f Field) Input() string { return "f." + f.pointer() }

// Omit is the name of the checkbox that leaves the member out.
func (f Field) Omit() string { return "omit." + f.pointer() }

// Omissible reports whether the member can be left out by a checkbox.
func (f Field) Omissible() bool { return !f.Required && !f.Omitted && f.Kind != Choice }

// pointer is the JSON Pointer of the member, without the first slash.
func (f Field) pointer() string {
	escaped := make([]string, len(f.Path))
	for i, name := range f.Path {
		escaped[i] = jsontext.EscapePointer(name)
	}
	return strings.Join(escaped, "/")
}

// problemPath is the path of the member, as api.Problem has it.
func (f Field) problemPath() string {
	path := "$"
	for _, name := range f.Path {
		path = api.KeyPath(path, name)
	}
	return path
}

// within reports whether the member is inside the object at a path.
func (f Field) within(path []string) bool {
	return len(f.Path) > len(path) && slices.Equal(f.Path[:len(path)], path)
}

// fieldOf returns the field for a value of the schema.
func fieldOf(path []string, o outline, before json.RawMessage) Field {
	f := Field{Path: path, before: before, typ: o.typ, Hint: o.hint(path[len(path)-1]),
		Choices: o.choices(), initial: o.initial, null: string(before) == "null"}
	if f.Kind = kindOf(o); f.Choices != nil && f.Kind != Chosen {
		f.Kind, f.typ = Choice, ""
	}
	if f.null {
		f.before = nil
	}
	if f.Omitted = f.before == nil; !f.Omitted {
		f.show(before)
	}
	return f
}

// kindOf returns how values of the schema are shown, unless there are choices.
func kindOf(o outline) Kind {
	switch o.typ {
	case "integer", "number":
		return Number
	case typeStrings:
		return Lines
	case typeChosen:
		return Chosen
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
	if bytes.Contains(value, []byte(`"`+api.Redacted+`"`)) {
		f.Masked = true
		return
	}
	switch text, ok := f.lines(value); {
	case ok:
		f.Value = text
		f.widen()
	case f.Kind == Choice:
		f.choose(value)
	case f.Kind == Chosen && f.chosen(value):
		f.Value = compact(value)
	default: // also a value of another type, which admission converts
		if f.Kind != Number {
			f.typ, f.Kind = "", JSON
		}
		f.Value = compact(value)
	}
}

// lines returns a value as the text of its field; ok is false if it is not shown as text, or would
// not come back.
func (f *Field) lines(value json.RawMessage) (text string, ok bool) {
	if f.typ == typeString {
		ok = json.Unmarshal(value, &text) == nil
		return text, ok
	}
	var texts []string
	ok = f.Kind == Lines && json.Unmarshal(value, &texts) == nil &&
		!slices.ContainsFunc(texts, isNoLine)
	return strings.Join(texts, "\n"), ok
}

// isNoLine reports whether a text would not come back as the same line.
func isNoLine(text string) bool {
	return text == "" || strings.ContainsFunc(text, unicode.IsControl)
}

// choose selects the choice with the value, which is one more choice if it is none.
func (f *Field) choose(value json.RawMessage) {
	present := decoded(value)
	i := slices.IndexFunc(f.Choices, func(c Option) bool {
		return reflect.DeepEqual(decoded(json.RawMessage(c.Value)), present)
	})
	if i < 0 {
		i = len(f.Choices)
		f.Choices = append(f.Choices, Option{compact(value), compact(value)})
	}
	f.Value = f.Choices[i].Value
}

// chosen reports whether an array is what a browser returns if its elements are chosen.
func (f *Field) chosen(value json.RawMessage) bool {
	filled, same := Field{Value: compact(value)}, []any{}
	for _, c := range f.Choices {
		if filled.Has(c.Value) {
			same = append(same, decoded(json.RawMessage(c.Value)))
		}
	}
	return reflect.DeepEqual(decoded(value), any(same))
}

// Has reports whether a choice is among the chosen ones.
func (f Field) Has(choice string) bool {
	list, _ := decoded(json.RawMessage(f.Value)).([]any)
	one := decoded(json.RawMessage(choice))
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
	f.Value = f.text(entered[f.Input()])
	if f.omitted(entered) {
		f.Omitted = true
		return json.RawMessage("null"), f.before != nil
	}
	if f.Kind == Group || f.Value == "" && f.emptyKeeps() {
		return nil, false
	}
	f.Omitted = false
	value, f.Fault = f.parse(f.Value)
	if f.Fault != "" || f.before != nil && f.untouched(value) {
		return nil, false
	}
	return f.change(value), true
}

// change returns what the merge patch has for a new value.
func (f *Field) change(value json.RawMessage) json.RawMessage {
	if f.before == nil || f.Kind != JSON {
		return value
	}
	patch, fault := encoded(difference(decoded(f.before), decoded(value)))
	if fault != "" {
		return value // it was decoded from JSON, so that it can be encoded
	}
	return patch
}

// text returns what was entered as the text of the field.
func (f *Field) text(entered []string) string {
	switch {
	case f.Kind == Chosen && (len(entered) > 0 || !f.emptyKeeps()):
		return "[" + strings.Join(entered, ",") + "]"
	case len(entered) == 0:
		return ""
	}
	return strings.ReplaceAll(entered[0], "\r\n", "\n")
}

// emptyKeeps reports whether an empty text leaves the member as it is.
func (f *Field) emptyKeeps() bool { return f.Masked || f.null || f.before == nil && !f.Required }

// untouched reports whether a value is the present one, as a browser returns it.
func (f *Field) untouched(value json.RawMessage) bool {
	entered, present := decoded(value), decoded(f.before)
	if old, ok := present.(string); ok && f.typ == typeString {
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
	switch {
	case f.Kind == Lines:
		return encoded(slices.DeleteFunc(strings.Split(text, "\n"),
			func(line string) bool { return line == "" }))
	case f.typ == typeString && f.Kind != Choice:
		return encoded(f.withEndings(text))
	}
	data, fault := Strict(text)
	if fault != "" && f.Kind == Number {
		return nil, "enter a number"
	}
	return data, fault
}

func encoded(v any) (json.RawMessage, string) {
	data, err := api.EncodeJSON(v)
	if err != nil {
		return nil, err.Error()
	}
	return data, ""
}
