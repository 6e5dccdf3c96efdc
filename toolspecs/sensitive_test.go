package toolspecs_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/toolspecs"
)

// No problem of arguments or of a result repeats a sensitive value, whichever rule it violates and
// however deep it is.
func TestProblems_RepeatNoSensitiveValue(t *testing.T) {
	compiled, err := toolspecs.Spec{Name: "probe", Version: "1.0.0", Description: "Probes.",
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}},
		InputSchema: json.RawMessage(`{"type":"object","properties":{
			"when":{"type":"string","format":"date-time","writeOnly":true},
			"kind":{"enum":["planted-b","planted-c"],"writeOnly":true},
			"one":{"const":"x","writeOnly":true},
			"code":{"type":"string","pattern":"^[0-9]+$","minLength":99,"writeOnly":true},
			"list":{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer","maximum":3,"multipleOf":7,"writeOnly":true}}}},
			"any":{"anyOf":[{"type":"integer"},{"type":"boolean"}],"writeOnly":true},
			"flag":{"type":"boolean","writeOnly":true}}}`),
		OutputSchema: json.RawMessage(
			`{"type":"object","properties":{"token":{"type":"string","maxLength":3,"writeOnly":true},"open":{"type":"string","maxLength":3}}}`),
	}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	_, notes, problems := compiled.Arguments(`{"when":"planted-value","kind":"planted-a","one":"planted-value","code":"planted-value",
		"list":[{"n":987654321}],"any":"planted-value","flag":"planted-value"}`, api.ModeLenient)
	problems = append(problems,
		compiled.CheckOutput(json.RawMessage(`{"token":"planted-value","open":"shown"}`))...)
	if len(problems) < 9 {
		t.Errorf("only %d problems: %v", len(problems), problems)
	}
	text := strings.Join(notes, "\n")
	for _, p := range problems {
		text += "\n" + p.String()
	}
	for _, planted := range []string{"planted-v", "planted-a", "987654321"} {
		if strings.Contains(text, planted) {
			t.Errorf("%s is in:\n%s", planted, text)
		}
	}
	if !strings.Contains(text, `"shown" has 5`) {
		t.Errorf("a value that is not sensitive is hidden:\n%s", text)
	}
	tool := compiled.Tool()
	if got := string(tool.OutputMask.Redact(
		json.RawMessage(`{"token":"x","open":"y"}`))); got != `{"open":"y","token":"***"}` {
		t.Errorf("got %s", got)
	}
	if got := string(callview.RedactArguments(tool,
		json.RawMessage(`{"flag":true,"list":[{"n":1,"m":2}]}`))); got != `{"flag":"***","list":[{"m":2,"n":"***"}]}` {
		t.Errorf("got %s", got)
	}
}

// A reference of any form to something write-only hides the whole value.
func TestRedaction_FollowsReferences(t *testing.T) {
	const secret = `{"type":"object","properties":{"key":{"type":"string","writeOnly":true}}}`
	for _, reference := range []string{`"$ref":"#"`, `"$ref":"#/$defs/secret"`, `"$ref":"#secret"`,
		`"$dynamicRef":"#secret"`, `"$ref":"#/%24defs/secret"`} {
		compiled, err := toolspecs.Spec{Name: "probe", Version: "1.0.0", Description: "Probes.",
			Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}},
			InputSchema: json.RawMessage(`{"type":"object","properties":{
				"open":{"type":"string"},"inner":{` + reference + `}},
				"$defs":{"secret":{"$anchor":"secret","$dynamicAnchor":"secret",` + secret[1:] + `}}`),
		}.Compile()
		if err != nil {
			t.Errorf("%s: %v", reference, err)
			continue
		}
		got := string(callview.RedactArguments(compiled.Tool(),
			json.RawMessage(`{"inner":{"key":"planted"},"open":"y"}`)))
		if got != `{"inner":"***","open":"y"}` {
			t.Errorf("%s: got %s", reference, got)
		}
	}
}
