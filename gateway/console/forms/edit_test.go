package forms_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/gateway/console/forms"
)

// A merge patch can neither set null nor replace an object whose members are not known.
func TestEdit_RefusesWhatNoMergePatchMakes(t *testing.T) {
	const schema = `{"properties":{"o":{"type":"object"},"secret":{"type":"object"},"c":{"enum":["a",null]},
		"partly":{"type":"object"}}}`
	const present = `{"o":{"a":1,"n":null},"secret":"***","c":"a","partly":{"user":"***","a":1}}`
	for name, tt := range map[string]struct{ input, entered, fault string }{
		"a new null":         {"f.o", `{"a":1,"n":null,"b":null}`, "null cannot be entered"},
		"null for a value":   {"f.o", `{"a":null,"n":null}`, "null cannot be entered"},
		"null within":        {"f.o", `{"a":{"b":null},"n":null}`, "null cannot be entered"},
		"only null":          {"f.c", `null`, "null cannot be entered"},
		"a secret object":    {"f.secret", `{"user":"x"}`, "an object cannot replace"},
		"a secret within":    {"f.partly", `{"user":{"name":"x"},"a":1}`, "an object cannot replace"},
		"the null there was": {"f.o", `{"a":2,"n":null}`, ""},
		"another secret":     {"f.secret", `"x"`, ""},
		"a text within":      {"f.partly", `{"user":"x"}`, ""},
	} {
		f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
		_, ok := f.Changes(values(tt.input, tt.entered))
		fault := ""
		for _, field := range f.Fields {
			fault += field.Fault
		}
		if ok != (tt.fault == "") || !strings.HasPrefix(fault, tt.fault) {
			t.Errorf("%s: the fault is %q, %v", name, fault, ok)
		}
	}
}

// A form that is shown again after a fault still leaves out what was left out.
func TestEdit_KeepsWhatIsLeftOutAfterAFault(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	entered := values("f.to", "ada", "f.amount", "a lot", "f.note", "rent", "omit.note", "1")
	if _, ok := f.Changes(entered); ok {
		t.Error("the fault is not noticed")
	}
	again := url.Values{}
	for _, field := range f.Fields {
		again.Set(field.Input(), field.Value)
		if field.Omissible() && field.Omitted {
			again.Set(field.Omit(), "1")
		}
	}
	again.Set("f.amount", "80")
	if got, ok := f.Changes(again); !ok || string(got) != `{"amount":80,"note":null}` {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}

func TestEdit_LeavesOutASensitiveChoice(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(`{"properties":{"b":{"type":"boolean"}}}`),
		json.RawMessage(`{"b":"***"}`))
	if !f.Fields[0].Omissible() {
		t.Error("it cannot be left out")
	}
	if got, ok := f.Changes(values("f.b", "", "omit.b", "1")); !ok || string(got) != `{"b":null}` {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}

// Controls and marks that change the direction of a text are seen where it is edited.
func TestEdit_ShowsHiddenCharacters(t *testing.T) {
	const schema = `{"properties":{"t":{"type":"string"},"l":{"type":"array","items":{"type":"string"}},"j":{}}}`
	f, _ := forms.Edit(json.RawMessage(schema),
		json.RawMessage(`{"t":"a\u202eb","l":["a\u2066b\u0000"],"j":{"a":"\u0085 \u200b\udb40\udc41"}}`))
	entered := url.Values{}
	for i, want := range []string{`"a\u202eb"`, `["a\u2066b\u0000"]`, `{"a":"\u0085 \u200b\udb40\udc41"}`} {
		if got := f.Fields[i].Value; got != want {
			t.Errorf("the field %d is %q, want %q", i, got, want)
		}
		entered.Set(f.Fields[i].Input(), f.Fields[i].Value)
	}
	if got, ok := f.Changes(entered); !ok || string(got) != "{}" {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}

// Browsers change the ends of lines in the names of inputs.
func TestEdit_TakesOddNames(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(`{"properties":{"a\nb":{"type":"string"},"c%0A":{"type":"string"}}}`),
		json.RawMessage(`{"a\nb":"x","c%0A":"y"}`))
	entered := url.Values{}
	for _, field := range f.Fields {
		if strings.ContainsAny(field.Input()+field.Omit(), "\r\n") {
			t.Errorf("the input %q has a line end", field.Input())
		}
		entered.Set(field.Input(), "z")
	}
	if got, ok := f.Changes(entered); !ok || string(got) != `{"a\nb":"z","c%0A":"z"}` {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}

// A form that was made of another schema, by another replica or before a reload, changes nothing,
// even if it has the same fields.
func TestEdit_RefusesTheFormOfAnotherSchema(t *testing.T) {
	for _, input := range []string{"f.account", "omit.account", "f."} {
		f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
		if _, ok := f.Changes(values("f.to", "eve", input, "x")); ok || !f.Stale {
			t.Errorf("%s is taken", input)
		}
	}
	old, _ := forms.Edit(json.RawMessage(`{"properties":{"to":{},"amount":{}}}`), nil)
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	if _, ok := f.Changes(values("f.to", `"ada"`, "form", old.ID)); ok || !f.Stale {
		t.Error("the form of another schema is taken")
	}
	f, _ = forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	if _, ok := f.Changes(values("f.to", "bob", "form", f.ID)); !ok {
		t.Error("the form is refused")
	}
}

// What was entered for a sensitive argument is not sent back.
func TestForm_ForgetsSensitiveValues(t *testing.T) {
	redact := func(object json.RawMessage) json.RawMessage {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(object, &members); err != nil {
			t.Fatal(err)
		}
		if members["urgent"] != nil {
			members["urgent"] = json.RawMessage(`"***"`)
		}
		data, _ := json.Marshal(members)
		return data
	}
	f, _ := forms.Edit(json.RawMessage(schema), json.RawMessage(present))
	f.Hide(redact)
	f.Changes(values("f.to", "bob", "f.amount", "many", "f.pin", "1234", "f.urgent", "true"))
	f.Forget()
	for _, field := range f.Fields {
		secret := field.Name == "pin" || field.Name == "urgent"
		if field.Secret != secret || secret && (field.Value != "" || field.Fault == "") ||
			field.Name == "to" && field.Value != "bob" {
			t.Errorf("the field is %+v", field)
		}
	}
}

// A catalog that differs from the one of the run can require what the call does not have.
func TestEdit_AddsNothingThatWasNotEntered(t *testing.T) {
	f, _ := forms.Edit(json.RawMessage(`{"required":["to","memo","n"],"properties":{
		"to":{"type":"string"},"memo":{"type":"string"},"n":{"type":"integer"}}}`),
		json.RawMessage(`{"to":"ada"}`))
	if got, ok := f.Changes(values("f.to", "ada", "f.memo", "", "f.n", "")); !ok || string(got) != "{}" {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}

// An object with a part that is sensitive is not sent back, also if its schema is elsewhere.
func TestForm_ForgetsSensitiveParts(t *testing.T) {
	for _, card := range []string{`{"properties":{"number":{"type":"string","writeOnly": true}}}`,
		`{"$ref":"#/$defs/card"}`} {
		f, _ := forms.Edit(json.RawMessage(`{"properties":{"n":{"type":"integer"},"card":`+card+`},
			"$defs":{"card":{"properties":{"number":{"writeOnly":true}}}}}`), nil)
		f.Changes(values("f.n", "many", "f.card", `{"number":"4711"}`))
		f.Forget()
		if got := f.Fields[1]; got.Value != "" || !got.Forgotten {
			t.Errorf("%s: the field is %+v", card, got)
		}
		f.Changes(values("f.card", `{"number":"4711`))
		if got := f.Fields[1].Fault; got != "not valid JSON" {
			t.Errorf("%s: the fault is %q", card, got)
		}
	}
}

// A value that the page shows stays in its field, also if the gateway takes it for sensitive.
func TestForm_KeepsPresentValuesThatAreShown(t *testing.T) {
	all := func(json.RawMessage) json.RawMessage { return json.RawMessage(`"***"`) }
	const cards = `{"properties":{"n":{"type":"integer"},"b":{"type":"string"},
		"cards":{"type":"array","items":{"type":"object","properties":{"number":{"writeOnly":true}}}}}}`
	f, _ := forms.Edit(json.RawMessage(cards), json.RawMessage(`{"n":1,"b":"x","cards":[]}`))
	f.Hide(all)
	f.Changes(values("f.n", "many", "f.b", "x", "f.cards", "[]"))
	f.Forget()
	entered := url.Values{}
	for _, field := range f.Fields {
		entered.Set(field.Input(), field.Value)
	}
	entered.Set("f.n", "2")
	if got, ok := f.Changes(entered); !ok || string(got) != `{"n":2}` {
		t.Errorf("the changes are %s, %v", got, ok)
	}
}
