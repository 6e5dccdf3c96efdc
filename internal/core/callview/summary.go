package callview

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// maxValue and maxLine bound one value and the whole line of a Line, in characters.
const (
	maxValue = 40
	maxLine  = 160
)

// Line describes a call in one line, such as `read_document path=docs/a.md`. Values of sensitive
// parameters are redacted, long values shortened, line ends and control characters made visible.
func Line(tool string, arguments json.RawMessage, sensitive []string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(redact(arguments, sensitive), &object) != nil {
		return tool
	}
	parts := []string{tool}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, k+"="+display.Shorten(jsonvalue.Plain(object[k]), maxValue))
	}
	return display.Shorten(strings.Join(parts, " "), maxLine)
}

// maxRunLine bounds the line about a run, in characters.
const maxRunLine = 90

// RunLine describes a run in one line, such as `agent librarian: which document …`: its kind,
// its name and its prompt, if any.
func RunLine(what, name, prompt string) string {
	line := what + " " + name
	if prompt != "" {
		line += ": " + prompt
	}
	return display.Shorten(line, maxRunLine)
}

// redact returns the arguments with the values of sensitive parameters replaced. Arguments that are
// not an object are returned unchanged if nothing is sensitive, and redacted as a whole otherwise.
func redact(arguments json.RawMessage, sensitive []string) json.RawMessage {
	return RedactArguments(api.Tool{Sensitive: sensitive}, arguments)
}
