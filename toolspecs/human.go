package toolspecs

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/templates"
)

// questionName is the argument that is a human tool's question where the tool has no template.
const questionName = "question"

// Question returns what a person is asked by a call of a human tool with these validated arguments: the template filled;
// without one the argument question, else the tool's description and all arguments, one on a line. Values of sensitive
// parameters are redacted. What is longer than switchyard.MaxQuestionText is cut, and says so.
func (c *Compiled) Question(args json.RawMessage) string {
	values := c.shown(args)
	text, _ := templates.Text(c.Spec.Entry.Question, values)
	if c.Spec.Entry.Question == "" {
		if value, given := values[questionName]; given {
			text = api.TextOf(value)
		}
	}
	if strings.TrimSpace(text) == "" {
		text = c.ask(values)
	}
	return cutText(text, api.MaxQuestionText)
}

// shown returns validated arguments by their names, as people may see them.
func (c *Compiled) shown(args json.RawMessage) map[string]any {
	values, err := templates.Values(c.mask.Redact(args))
	if err != nil {
		return nil // validated arguments are an object
	}
	return values
}

// ask is the description and the arguments, those declared in their order. The lines of one after its first are set in, so that no
// value passes for another argument.
func (c *Compiled) ask(values map[string]any) string {
	lines := []string{c.Spec.Description}
	for _, name := range c.inputShape.Order(values) {
		lines = append(lines, name+": "+strings.ReplaceAll(api.TextOf(values[name]), "\n", "\n    "))
	}
	return strings.Join(lines, "\n")
}

// cutText bounds a text that people are shown.
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
