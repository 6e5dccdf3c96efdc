package toolspecs

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// KindHuman is a question to a person.
const KindHuman = "human"

// defaultAnswerWithin bounds the wait for a person's answer.
const defaultAnswerWithin = api.Duration(7 * 24 * time.Hour)

// HumanEntry is the entry of tools that ask a person a question.
type HumanEntry struct {
	// Question is the template of the question to the person, in which sensitive arguments are
	// redacted; default the argument question if there is one, else the tool's description and all
	// arguments.
	Question string `json:"question,omitempty" yaml:"question"`
	// AnswerWithin bounds the wait for the answer, counted from the call; default 168h. Without an
	// answer the call ends as approval_timeout.
	AnswerWithin api.Duration `json:"answer_within,omitzero" yaml:"answer_within" rule:"above=0s,max=8760h"`
}

// Name implements Kind.
func (HumanEntry) Name() string { return KindHuman }

// Common implements Kind.
func (e HumanEntry) Common() Common { return Common{AnswerWithin: e.AnswerWithin} }

func (e HumanEntry) withDefaults(s *Spec) Kind {
	e.AnswerWithin = cmp.Or(e.AnswerWithin, defaultAnswerWithin)
	s.Execution.Effect = cmp.Or(s.Execution.Effect, api.EffectRead)
	return e
}

func (HumanEntry) dispatch() api.Dispatch { return api.DispatchQuestion }

// check implements Kind. A call occupies no worker while a person answers, so many options of other
// kinds do not apply.
func (e HumanEntry) check(c *checker, s Spec) {
	c.placeholders("$.entry.question", e.Question, s.argumentNames(), false)
	x := s.Execution
	if x.Effect != api.EffectRead {
		c.Add("$.execution.effect", "remove it",
			"a human tool changes nothing, so its effect is read, not %s", x.Effect)
	}
	if x.Timeout != defaultTimeout {
		c.AddKey("$.execution.timeout", "write entry.answer_within", "a human tool has no timeout")
	}
	if x.OnInvalidOutput != onInvalidFail {
		c.Add("$.execution.on_invalid_output", "remove it",
			"a human tool always returns invalid answers to the person")
	}
	if len(s.Requires.Dependencies) > 0 {
		c.AddKey("$.requires.dependencies", "remove them",
			"a human tool runs no program on a worker")
	}
	schema := s.OutputSchema
	if s.Output != nil {
		schema = schemas.Encode(schemaOfParameter(*s.Output))
	}
	if len(schema) > api.MaxQuestionSchema {
		c.AddKey("$.output", "ask for less",
			"the schema of the answer has %d bytes; at most %d are shown to people", len(schema),
			api.MaxQuestionSchema)
	}
}

// questionName is the argument used as a human tool's question if the tool has no template.
const questionName = "question"

// Question returns the question of a call of a human tool: the filled template, or by default the
// argument question, or the tool's description and all arguments, one per line. args are validated
// arguments. Values of sensitive parameters are redacted. Text over api.MaxQuestionText is
// cut and marked as cut.
func (c *Compiled) Question(args json.RawMessage) string {
	values := c.shown(args)
	entry, _ := c.Spec.Entry.Kind.(HumanEntry)
	text, _ := templates.Text(entry.Question, values)
	if entry.Question == "" {
		if value, given := values[questionName]; given {
			text = jsonvalue.Text(value)
		}
	}
	if strings.TrimSpace(text) == "" {
		text = c.ask(values)
	}
	return cutText(text, api.MaxQuestionText)
}

// shown returns validated arguments by name, with sensitive values redacted.
func (c *Compiled) shown(args json.RawMessage) map[string]any {
	values, err := templates.Values(c.mask.Redact(args))
	if err != nil {
		return nil // validated arguments are an object
	}
	return values
}

// ask returns the description and the arguments, declared ones in their order. Continuation lines
// of a value are indented, so that no value looks like another argument.
func (c *Compiled) ask(values map[string]any) string {
	lines := []string{c.Spec.Description}
	for _, name := range c.inputShape.Order(values) {
		lines = append(lines, name+": "+strings.ReplaceAll(jsonvalue.Text(values[name]), "\n",
			"\n    "))
	}
	return strings.Join(lines, "\n")
}

// cutText bounds the length of a text that people see.
func cutText(text string, limit int) string {
	const note = "… (cut)"
	if len(text) <= limit {
		return text
	}
	end := limit - len(note)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + note
}
