package forms_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
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
		"d":{"type":["object","null"],"properties":{"e":{"type":"string"}}},
		"f":{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}}}`
	nulls, _ := forms.Edit(json.RawMessage(nullable),
		json.RawMessage(`{"a":null,"b":null,"c":null,"d":null,"f":null}`))
	if got, ok := nulls.Changes(url.Values{}); !ok || string(got) != "{}" {
		t.Errorf("the changes of nulls are %s, %v", got, ok)
	}
	if got, ok := nulls.Changes(values("f.a", "x", "f.f", "y")); !ok ||
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
		faults[field.Label()] = field.Fault != ""
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

// As Python and TypeScript libraries write the schemas of their tools.
const nested = `{"type":"object","required":["message"],"properties":{
	"message":{"$ref":"#/$defs/Message"},
	"after":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null,"title":"After"},
	"retry":{"anyOf":[{"$ref":"#/$defs/Retry"},{"type":"null"}]},
	"trace":{"$ref":"#/$defs/Node"}},
	"$defs":{
	"Message":{"type":"object","description":"what is sent","required":["to"],"properties":{
		"to":{"type":"array","items":{"type":"string"}},
		"a/b":{"type":"string"},
		"meta":{"type":"object","properties":{"token":{"type":"string"},"size":{"type":"integer"}}}}},
	"Retry":{"type":"object","required":["times"],"properties":{"times":{"type":"integer"}}},
	"Node":{"type":"object","properties":{"next":{"$ref":"#/$defs/Node"}}}}}`

func TestEdit_HasFieldsForObjectsWithin(t *testing.T) {
	const present = `{"message":{"to":["ada","eve"],"a/b":"x","meta":{"token":"***","size":1}},
		"after":"noon","retry":{"times":3}}`
	same := []string{"f.message/to", "ada\r\neve", "f.message/a~1b", "x", "f.message/meta/size", "1",
		"f.after", "noon", "f.retry/times", "3"}
	for name, tt := range map[string]struct {
		entered []string
		want    string
	}{
		"nothing":              {nil, `{}`},
		"a line less":          {[]string{"f.message/to", "ada\r\n"}, `{"message":{"to":["ada"]}}`},
		"no line":              {[]string{"f.message/to", ""}, `{"message":{"to":[]}}`},
		"deep":                 {[]string{"f.message/meta/size", "2"}, `{"message":{"meta":{"size":2}}}`},
		"a secret":             {[]string{"f.message/meta/token", "t"}, `{"message":{"meta":{"token":"t"}}}`},
		"a member left out":    {[]string{"omit.message/meta/size", "1"}, `{"message":{"meta":{"size":null}}}`},
		"an object left out":   {[]string{"omit.retry", "1", "f.retry/times", "4"}, `{"retry":null}`},
		"a group left out":     {[]string{"omit.message/meta", "1"}, `{"message":{"meta":null}}`},
		"an odd name":          {[]string{"f.message/a~1b", "y"}, `{"message":{"a/b":"y"}}`},
		"an alternative":       {[]string{"f.after", "ten"}, `{"after":"ten"}`},
		"an object that wants": {[]string{"f.trace", `{"next":{}}`}, `{"trace":{"next":{}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			checkChanges(t, nested, present, values(append(same, tt.entered...)...), tt.want)
		})
	}
	f, _ := forms.Edit(json.RawMessage(nested), json.RawMessage(present))
	if left := f.Blame([]api.Problem{{Path: "$.message.to[1]", Message: "no address"},
		{Path: `$.message["a/b"]`, Message: "too long"}, {Path: "$.message.cc", Message: "unknown"},
		{Path: "$.messages", Message: "unknown"}}); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
	faults := map[string]string{}
	for _, field := range f.Fields {
		if field.Fault != "" {
			faults[field.Label()] = field.Fault
		}
	}
	want := map[string]string{"message": "unknown", "message.to": "no address",
		`message["a/b"]`: "too long"}
	if !reflect.DeepEqual(faults, want) {
		t.Errorf("the faults are %v, want %v", faults, want)
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

// What fields of their own could not give back unchanged is edited as JSON.
func TestEdit_ShowsAsJSONWhatFieldsCannotShow(t *testing.T) {
	const schema = `{"properties":{"to":{"type":"array","items":{"type":"string"}},
		"o":{"type":"object","properties":{"a":{"type":"string"}}}}}`
	for _, value := range []string{`{"to":["a\nb"]}`, `{"to":["a",""]}`, `{"to":"a"}`,
		`{"to":["a\u0000"]}`, `{"to":["a",1]}`, `{"o":{"a":"x","other":1}}`, `{"o":"x"}`} {
		f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(value))
		entered := url.Values{}
		for _, field := range f.Fields {
			entered.Set(field.Input(), field.Value)
			if !field.Omitted && field.Kind != forms.JSON {
				t.Errorf("%s: the field %s is of the kind %s", value, field.Label(), field.Kind)
			}
		}
		if got, ok := f.Changes(entered); !ok || string(got) != "{}" {
			t.Errorf("%s: the changes are %s, %v", value, got, ok)
		}
	}
}

func TestEdit_HidesSensitiveValues(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	for _, field := range f.Fields {
		if field.Label() == "pin" && (field.Value != "" || !field.Masked) {
			t.Errorf("the field of a sensitive value is %+v", field)
		}
	}
}

// Schemas that contain themselves are finite forms.
func TestEdit_EndsForSchemasThatContainThemselves(t *testing.T) {
	for _, def := range []string{
		`{"type":"array","items":{"$ref":"#/$defs/A"}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/A"}}}`,
		`{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`,
		`{"$ref":"#/$defs/A"}`,
		`{"type":["array","null"],"items":{"oneOf":[{"$ref":"#/$defs/A"}]}}`,
		`{"type":"checkboxes","items":{"$ref":"#/$defs/A"}}`,
		`{"$id":"urn:a","$ref":"#/$defs/A"}`,
	} {
		schema := json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":
			{"$ref":"#/$defs/A"}},"$defs":{"A":` + def + `}}`)
		deep := strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)
		for _, value := range []string{`{}`, `{"a":[[[]]]}`, deep} {
			if f, ok := forms.Edit(schema, json.RawMessage(value)); !ok || len(f.Fields) > 10 {
				t.Errorf("%s: %d fields, %v", def, len(f.Fields), ok)
			}
		}
		if f := forms.Answer(schema); len(f.Fields) > 10 {
			t.Errorf("%s: %d fields", def, len(f.Fields))
		}
	}
	names := strings.Split("abcdefghijklmnopqrst", "")
	members := map[string]any{}
	for _, name := range names {
		members[name] = map[string]string{"$ref": "#/$defs/A"}
	}
	wide := map[string]any{"type": "object", "required": names, "properties": members}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": members,
		"required": names, "$defs": map[string]any{"A": wide}})
	if err != nil {
		t.Fatal(err)
	}
	if f := forms.Answer(schema); len(f.Fields) > 300 {
		t.Errorf("a wide schema has %d fields", len(f.Fields))
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
		"a titled choice": {`{"oneOf":[{"const":"a","title":"Ada"},{"const":"b"}]}`,
			[]string{"f.value", `"a"`}, `"a"`},
		"texts": {`{"type":"array","items":{"type":"string"}}`, []string{"f.value", "a\r\n\r\nb"},
			`["a","b"]`},
		"several": {`{"type":"array","items":{"anyOf":[{"const":"r","title":"Red"},{"const":"g"}]}}`,
			[]string{"f.value", `"g"`}, `["g"]`},
		"none of several": {`{"type":"object","properties":{"c":{"type":"array","items":{"enum":[1,2]}}}}`,
			nil, `{}`},
		"an object within": {`{"type":"object","required":["o"],"properties":{"o":{"type":"object",
			"properties":{"a":{"type":"integer"}}}}}`, []string{"f.o/a", "1"}, `{"o":{"a":1}}`},
		"a list": {`{"type":"array"}`, []string{"f.value", "[1]"}, `[1]`},
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
		"speed":{"oneOf":[{"const":1,"title":"slow"},{"const":2,"title":"fast"}],"default":2},
		"gift":{"type":"boolean","default":false},
		"note":{"type":"string","default":"none","title":"Note"}}}`))
	shown := map[string]string{}
	for _, field := range f.Fields {
		shown[field.Label()] = field.Value
		for _, c := range field.Choices {
			if c.Value == field.Value {
				shown[field.Label()] = c.Label
			}
		}
	}
	want := map[string]string{"size": "M", "speed": "fast", "gift": "false", "note": "none"}
	if !reflect.DeepEqual(shown, want) {
		t.Errorf("the form shows %v, want %v", shown, want)
	}
	if got, ok := f.Value(values("f.size", `"M"`, "f.speed", "2", "f.gift", "", "f.note", "")); !ok ||
		string(got) != `{"size":"M","speed":2}` {
		t.Errorf("the answer is %s, %v", got, ok)
	}
}

func TestEdit_ChoosesSeveral(t *testing.T) {
	const schema = `{"properties":{"c":{"type":"array","items":{"enum":["r","g","b"]}}}}`
	for name, tt := range map[string]struct {
		present string
		kind    forms.Kind
		entered []string
		want    string
	}{
		"untouched":          {`["r","b"]`, forms.Checkboxes, []string{`"r"`, `"b"`}, `{}`},
		"one more":           {`["r"]`, forms.Checkboxes, []string{`"r"`, `"g"`}, `{"c":["r","g"]}`},
		"none":               {`["r"]`, forms.Checkboxes, []string{""}, `{"c":[]}`},
		"not sent":           {`["r"]`, forms.Checkboxes, nil, `{}`},
		"of another order":   {`["b","r"]`, forms.JSON, []string{`["b","r"]`}, `{}`},
		"with another":       {`["x"]`, forms.JSON, []string{`["x"]`}, `{}`},
		"with one twice":     {`["r","r"]`, forms.JSON, []string{`["r","r"]`}, `{}`},
		"a sensitive value":  {`"***"`, forms.Checkboxes, []string{""}, `{}`},
		"a new secret value": {`"***"`, forms.Checkboxes, []string{"", `"g"`}, `{"c":["g"]}`},
	} {
		f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(`{"c":`+tt.present+`}`))
		got, ok := f.Changes(url.Values{"f.c": tt.entered})
		if !ok || string(got) != tt.want || f.Fields[0].Kind != tt.kind {
			t.Errorf("%s: the changes are %s, %v, want %s; the kind is %s", name, got, ok, tt.want,
				f.Fields[0].Kind)
		}
	}
}
