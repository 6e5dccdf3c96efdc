package cli

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// PlainText removes terminal control sequences from a line.
func PlainText(line string) string { return display.Shorten(line, len(line)) }

// OneLine joins the lines of a text into one line.
func OneLine(text string) string { return PlainText(strings.Join(strings.Fields(text), " ")) }

// ReadableJSON formats a JSON value for text output: strings unquoted, other values indented. The
// text is Visible.
func ReadableJSON(output json.RawMessage) string {
	text := Visible(jsonvalue.Plain(output))
	var b bytes.Buffer
	if len(output) > 0 && output[0] != '"' && json.Indent(&b, []byte(text), "", "  ") == nil {
		return b.String()
	}
	return text
}

func NonEmpty(texts []string) []string {
	var kept []string
	for _, t := range texts {
		if t != "" {
			kept = append(kept, t)
		}
	}
	return kept
}

// wantsText reports whether a schema's type accepts a string.
func wantsText(schema json.RawMessage) bool {
	if len(schema) == 0 {
		return true
	}
	var declared struct {
		Type any `json:"type"`
	}
	return json.Unmarshal(schema, &declared) == nil && declared.Type == "string"
}

func IsAre(n int, word string) string {
	if n == 1 {
		return "1 " + word + " is"
	}
	return display.Plural(n, word) + " are"
}

// Below indents every line of a text below the preceding output.
func Below(text string) string { return "\n    " + strings.ReplaceAll(text, "\n", "\n    ") }
