package forms_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/forms"
)

const schema = `{"type":"object","required":["to","amount"],"properties":{
	"to":{"type":"string","description":"the account"},
	"amount":{"type":"integer"},
	"note":{"type":["string","null"]},
	"speed":{"enum":["slow","fast"]},
	"urgent":{"type":"boolean"},
	"pin":{"type":"string"},
	"lines":{"type":"array"}}}`

const present = `{"to":"ada","amount":100,"note":"rent","pin":"***","lines":[1,2]}`

func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		v.Set(pairs[i], pairs[i+1])
	}
	return v
}

// checkChanges compares the edit that a form of the schema makes of what was entered.
func checkChanges(t *testing.T, schema, present string, entered url.Values, want string) {
	t.Helper()
	f, ok := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	if !ok {
		t.Fatal("the schema makes no form")
	}
	if got, ok := f.Changes(entered); !ok || string(got) != want {
		t.Errorf("the changes are %s, %v; want %s", got, ok, want)
	}
}

func TestEdit_SendsOnlyWhatChanged(t *testing.T) {
	same := []string{"f.to", "ada", "f.amount", "100", "f.note", "rent", "f.lines", "[1, 2]"}
	for name, tt := range map[string]struct {
		entered []string
		want    string
	}{
		"nothing":      {nil, `{}`},
		"a number":     {[]string{"f.amount", "80"}, `{"amount":80}`},
		"left out":     {[]string{"omit.note", "1"}, `{"note":null}`},
		"a secret":     {[]string{"f.pin", "1234"}, `{"pin":"1234"}`},
		"a choice":     {[]string{"f.speed", `"fast"`}, `{"speed":"fast"}`},
		"a truth":      {[]string{"f.urgent", "true"}, `{"urgent":true}`},
		"a list":       {[]string{"f.lines", "[3]"}, `{"lines":[3]}`},
		"line endings": {[]string{"f.note", "a\r\nb"}, `{"note":"a\nb"}`},
		"emptied":      {[]string{"f.note", ""}, `{"note":""}`},
	} {
		t.Run(name, func(t *testing.T) {
			checkChanges(t, schema, present, values(append(same, tt.entered...)...), tt.want)
		})
	}
}

// What a browser returns of a value that nobody touched is not a change.
func TestEdit_LeavesUntouchedValuesAsTheyAre(t *testing.T) {
	const nullable = `{"required":["a"],"properties":{"a":{"type":["string","null"]},
		"b":{"anyOf":[{"type":"string"},{"type":"null"}]},"c":{"type":["boolean","null"]},
		"d":{"type":["object","null"]},"f":{"type":["array","null"]}}}`
	nulls, _ := forms.Edit(json.RawMessage(nullable),
		json.RawMessage(`{"a":null,"b":null,"c":null,"d":null,"f":null}`))
	if got, ok := nulls.Changes(url.Values{}); !ok || string(got) != "{}" {
		t.Errorf("the changes of nulls are %s, %v", got, ok)
	}
	if got, ok := nulls.Changes(values("f.a", "x", "f.f", `["y"]`)); !ok ||
		string(got) != `{"a":"x","f":["y"]}` {
		t.Errorf("the changes of nulls are %s, %v", got, ok)
	}
	const schema = `{"properties":{"a":{"type":"string"},"b":{"enum":["a<b","c"]},"c":{}}}`
	for name, tt := range map[string]struct{ value, entered, want string }{
		"line ends of Windows": {`{"a":"x\r\ny"}`, "x\r\ny", `{}`},
		"line ends of old":     {`{"a":"x\ry"}`, `"x\ry"`, `{}`},
		"mixed line ends":      {`{"a":"x\r\ny\nz"}`, `"x\r\ny\nz"`, `{}`},
		"escaped letters":      {`{"a":"\u003cp\u003e"}`, "<p>", `{}`},
		"a change keeps the line ends": {`{"a":"x\r\ny"}`, "x\r\nz",
			`{"a":"x\r\nz"}`},
	} {
		t.Run(name, func(t *testing.T) {
			checkChanges(t, schema, tt.value, values("f.a", tt.entered), tt.want)
		})
	}
	f, _ := forms.Edit(json.RawMessage(schema),
		json.RawMessage(`{"b":"a\u003cb","c":{"x":"\u003c","y":[1.0]}}`))
	got, ok := f.Changes(values("f.b", f.Fields[1].Value, "f.c", `{"y":[1.0],"x":"<"}`))
	if !ok || string(got) != "{}" || len(f.Fields[1].Choices) != 2 {
		t.Errorf("the changes are %s, %v; the choices are %q", got, ok, f.Fields[1].Choices)
	}
}

func TestEdit_TellsWhichFieldIsWrong(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	_, ok := f.Changes(values("f.to", "ada", "f.amount", "a lot", "f.lines", `[{"a":1,"a":2}]`))
	if ok {
		t.Error("the faults are not noticed")
	}
	faults := map[string]bool{}
	for _, field := range f.Fields {
		faults[field.Name] = field.Fault != ""
	}
	if !faults["amount"] || !faults["lines"] || faults["to"] {
		t.Errorf("the fields with faults are %v", faults)
	}
	left := f.Blame([]api.Problem{{Path: "$.to", Message: "too short"},
		{Path: "$.other", Message: "unknown"}})
	if f.Fields[0].Fault != "too short" || len(left) != 1 {
		t.Errorf("the fault of to is %q, and %v is left", f.Fields[0].Fault, left)
	}
}

// What inputs could not give back unchanged is edited as JSON, and so is everything but texts,
// numbers and choices.
func TestEdit_ShowsAsJSONWhatInputsCannotShow(t *testing.T) {
	const schema = `{"properties":{"to":{"type":"string"},"n":{"type":"integer"},
		"list":{"type":"array","items":{"type":"string"}},"any":{"anyOf":[{"type":"string"},
		{"type":"null"}]},"ref":{"$ref":"#"}}}`
	for _, value := range []string{`{"to":["a"]}`, `{"to":"a\u0000"}`, `{"n":"1"}`, `{"n":[1.0]}`,
		`{"list":["a\nb"]}`, `{"any":"x"}`, `{"ref":{"to":"x","n":1e400}}`} {
		f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(value))
		entered := url.Values{}
		for _, field := range f.Fields {
			entered.Set(field.Input(), field.Value)
			if !field.Omitted && field.Kind != forms.JSON {
				t.Errorf("%s: the field %s is of the kind %s", value, field.Name, field.Kind)
			}
		}
		if got, ok := f.Changes(entered); !ok || string(got) != "{}" {
			t.Errorf("%s: the changes are %s, %v", value, got, ok)
		}
	}
}

// The changes are a merge patch, which names what is to go.
func TestEdit_ChangesObjectsThatAreShownAsJSON(t *testing.T) {
	const schema = `{"properties":{"o":{"type":"object"}}}`
	const present = `{"o":{"a":1,"b":{"c":null,"d":[{"e":1}]},"f":"x"}}`
	for entered, want := range map[string]string{
		`{"f":"x","b":{"d":[{"e":1.0}],"c":null},"a":1}`: `{"o":{"b":{"d":[{"e":1.0}]}}}`,
		`{"a":1,"f":"x"}`:        `{"o":{"b":null}}`,
		`{"a":1,"b":{},"f":"y"}`: `{"o":{"b":{"c":null,"d":null},"f":"y"}}`,
		`{"a":{"g":1},"b":3}`:    `{"o":{"a":{"g":1},"b":3,"f":null}}`,
		`{}`:                     `{"o":{"a":null,"b":null,"f":null}}`,
		`"none"`:                 `{"o":"none"}`,
	} {
		checkChanges(t, schema, present, values("f.o", entered), want)
	}
}

func TestEdit_HidesSensitiveValues(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	for _, field := range f.Fields {
		if field.Name == "pin" && (field.Value != "" || !field.Masked) {
			t.Errorf("the field of a sensitive value is %+v", field)
		}
	}
}

func TestEdit_NeedsASchemaWithMembers(t *testing.T) {
	for _, schema := range []string{``, `true`, `{"type":"object"}`, `[`} {
		if _, ok := forms.Edit(json.RawMessage(schema), nil); ok {
			t.Errorf("%q makes a form", schema)
		}
	}
}

func TestAnswer_ReadsValuesOfEverySchema(t *testing.T) {
	for name, tt := range map[string]struct {
		schema  string
		entered []string
		want    string
	}{
		"any":      {``, []string{"f.value", "yes, do"}, `"yes, do"`},
		"a text":   {`{"type":"string"}`, []string{"f.value", "12"}, `"12"`},
		"a number": {`{"type":"number"}`, []string{"f.value", "12.50"}, `12.50`},
		"a choice": {`{"enum":["a",2]}`, []string{"f.value", "2"}, `2`},
		"a truth":  {`{"type":"boolean"}`, []string{"f.value", "true"}, `true`},
		"a list":   {`{"type":"array"}`, []string{"f.value", "[1]"}, `[1]`},
		"an object": {`{"type":"object","required":["a"],"properties":{"a":{"type":"string"},
			"b":{"type":"integer"}}}`, []string{"f.a", "x", "f.b", ""}, `{"a":"x"}`},
	} {
		t.Run(name, func(t *testing.T) {
			f := forms.Answer(json.RawMessage(tt.schema))
			got, ok := f.Value(values(tt.entered...))
			if !ok || string(got) != tt.want {
				t.Errorf("the answer is %s, %v; want %s", got, ok, tt.want)
			}
		})
	}
	f := forms.Answer(json.RawMessage(`{"type":"number"}`))
	if _, ok := f.Value(values("f.value", "many")); ok || f.Fields[0].Fault != "enter a number" {
		t.Errorf("a wrong number has the fault %q", f.Fields[0].Fault)
	}
}

func TestAnswer_ProposesDefaults(t *testing.T) {
	f := forms.Answer(json.RawMessage(`{"type":"object","properties":{
		"size":{"type":"string","enum":["S","M"],"default":"M"},
		"speed":{"type":"integer","default":2},"to":{"type":"object","default":{"a":[1]}},
		"gift":{"type":"boolean","default":false},
		"note":{"type":"string","default":"none"}}}`))
	shown := map[string]string{}
	for _, field := range f.Fields {
		shown[field.Name] = field.Value
		for _, c := range field.Choices {
			if c.Value == field.Value {
				shown[field.Name] = c.Label
			}
		}
	}
	want := map[string]string{"size": "M", "speed": "2", "gift": "false", "note": "none",
		"to": `{"a":[1]}`}
	if !reflect.DeepEqual(shown, want) {
		t.Errorf("the form shows %v, want %v", shown, want)
	}
	if got, ok := f.Value(values("f.size", `"M"`, "f.speed", "2", "f.gift", "", "f.note", "")); !ok ||
		string(got) != `{"size":"M","speed":2}` {
		t.Errorf("the answer is %s, %v", got, ok)
	}
}
