package toolspecs_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

func human(t *testing.T, change func(*toolspecs.Spec)) *toolspecs.Compiled {
	t.Helper()
	s := toolspecs.Spec{Name: "ask", Version: "1.0.0", Description: "Says what to do.",
		Entry: toolspecs.Entry{Kind: toolspecs.HumanEntry{}},
		Parameters: []toolspecs.Parameter{{Name: "question", Type: "string"},
			{Name: "b", Type: "integer"}, {Name: "a", Type: "object"},
			{Name: "pin", Type: "string", Sensitive: true}}}
	if change != nil {
		change(&s)
	}
	c, err := s.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A question is the template, the argument question, or description and arguments.
func TestQuestion_IsNeverEmptyAndHidesSensitiveValues(t *testing.T) {
	template := func(text string) func(*toolspecs.Spec) {
		return func(s *toolspecs.Spec) { s.Entry.Kind = toolspecs.HumanEntry{Question: text} }
	}
	for _, test := range []struct {
		name, args, want string
		change           func(*toolspecs.Spec)
	}{
		{"a template", `{"b":7,"pin":"secret"}`, "Is 7 right for ***?",
			template("Is {{args.b}} right for {{args.pin}}{{ args.question }}?")},
		{"a template of what is absent", `{}`, "Says what to do.", template("{{args.question}}")},
		{"the argument question", `{"question":"Why?","b":7}`, "Why?", nil},
		{"an empty one", `{"question":" ","b":7}`, "Says what to do.\nquestion:  \nb: 7", nil},
		{"the arguments in their order", `{"a":{"x":[1]},"b":12345678901234567890,"pin":"secret"}`,
			"Says what to do.\nb: 12345678901234567890\na: {\"x\":[1]}\npin: ***", nil},
		{"nothing", ``, "Says what to do.", nil},
	} {
		if got := human(t, test.change).Question(json.RawMessage(test.args)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
	if got, _ := human(t, nil).ApprovalText(
		json.RawMessage(`{"question":"x\nb: 1","b":7}`)); got != "Says what to do.\nquestion: x\n    b: 1\nb: 7" {
		t.Errorf("a value passes for another argument: %q", got)
	}
	for _, test := range []struct {
		name, ask, args, want string
		partial               bool
	}{
		{"all arguments", "", `{"question":"Why?","b":7}`, "Says what to do.\nquestion: Why?\nb: 7",
			false},
		{"a template of all", "{{args.b}} {{args.question}}", `{"question":"Why?","b":7}`, "7 Why?",
			false},
		{"a template of some", "{{args.b}}", `{"question":"Why?","b":7}`, "7", true},
		{"a template of those that are given", "{{args.b}} {{args.a}}", `{"b":7}`, "7 ", false},
		{"a value that another argument repeats", "", `{"question":"is planted-pin right?",` +
			`"a":{"planted-pin":["planted-pin"]},"pin":"planted-pin"}`,
			"Says what to do.\nquestion: is *** right?\na: {\"***\":[\"***\"]}\npin: ***", false},
	} {
		got, partial := human(t, func(s *toolspecs.Spec) {
			s.Approval = &toolspecs.Approval{Ask: test.ask}
		}).ApprovalText(json.RawMessage(test.args))
		if got != test.want || partial != test.partial {
			t.Errorf("%s: got %q, partial: %v", test.name, got, partial)
		}
	}
	large, _ := json.Marshal(map[string]string{"question": strings.Repeat("x",
		api.MaxApprovalText)})
	if got, partial := human(t, nil).ApprovalText(large); !partial ||
		!strings.HasSuffix(got, "… (cut)") {
		t.Errorf("a long text is not partial: %.20q", got)
	}
	long, _ := json.Marshal(map[string]string{"question": "a" +
		strings.Repeat("é", api.MaxQuestionText)})
	got := human(t, nil).Question(long)
	if len(got) > api.MaxQuestionText || !utf8.ValidString(got) || !strings.HasSuffix(got,
		"… (cut)") {
		t.Errorf("a long question has %d bytes and ends with %q", len(got), got[len(got)-20:])
	}
}

// A run pins the kind, the time to answer, and the form of the answer, for every form of
// declaration.
func TestHumanTool_PinsTheFactsOfItsQuestion(t *testing.T) {
	c := human(t, func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "string"} })
	tool := c.Tool()
	if tool.Dispatch != api.DispatchQuestion || tool.Effect != api.EffectRead ||
		tool.AnswerWithin != api.Duration(168*time.Hour) ||
		string(tool.OutputSchema) != `{"type":"string"}` {
		t.Errorf("got %+v", tool)
	}
	again, err := toolspecs.FromTool(tool)
	if err != nil || again.Digest != c.Digest {
		t.Errorf("compiled again: %v", err)
	}
	c = human(t, func(s *toolspecs.Spec) {
		s.OutputSchema = json.RawMessage(`{"enum":[1,2]}`)
		s.Entry.Kind = toolspecs.HumanEntry{AnswerWithin: api.Duration(time.Hour)}
	})
	if tool := c.Tool(); tool.AnswerWithin != api.Duration(time.Hour) ||
		string(tool.OutputSchema) != `{"enum":[1,2]}` {
		t.Errorf("got %+v", tool)
	}
	large := toolspecs.Spec{Name: "ask", Version: "1.0.0", Description: "Asks.",
		Entry: toolspecs.Entry{Kind: toolspecs.HumanEntry{}},
		OutputSchema: json.RawMessage(`{"const":"` + strings.Repeat("x", api.MaxQuestionSchema) +
			`"}`)}
	if _, err := large.Compile(); err == nil || err.Error() != `toolspec "ask": $.output: the schema of the answer has 65548 bytes; at most 65536 are shown to people (ask for less)` {
		t.Errorf("a schema without readable fields: %v", err)
	}
}

// All faults are reported at once. Without a schema, every JSON value is accepted.
func TestForm_ChecksAnswersAgainstAnySchema(t *testing.T) {
	form, err := schemas.NewForm(
		json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, faults := range map[string]int{`{"a":1}`: 0, `{"b":1,"c":2}`: 3, `[]`: 1,
		`{"a":1`: 1, `{"a":1,"a":2}`: 1} {
		if got := form.Check(json.RawMessage(value)); len(got) != faults {
			t.Errorf("%s: %v", value, got)
		}
	}
	open, err := schemas.NewForm(nil)
	if err != nil || len(open.Check(json.RawMessage(`[1]`))) != 0 ||
		len(open.Check(json.RawMessage(`[1`))) != 1 {
		t.Errorf("no schema: %v", err)
	}
	for _, schema := range []string{`{`, `{"type":"strin"}`,
		`{"$ref":"https://elsewhere.example/schema"}`, `{"pattern":"("}`} {
		if _, err := schemas.NewForm(json.RawMessage(schema)); err == nil {
			t.Errorf("%s is taken for a schema", schema)
		}
	}
}
