package switchyard

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// summaryValue and summaryLine bound one value and the whole line of a Summary, in characters.
const (
	summaryValue = 40
	summaryLine  = 160
)

// Redacted stands in place of a sensitive value wherever values are shown.
const Redacted = "***"

// Summary describes a call in one line, such as `read_document path=docs/a.md`. Values of the sensitive parameters are
// redacted, long ones shortened, line ends and control characters made visible.
func Summary(tool string, arguments json.RawMessage, sensitive []string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(arguments, &object) != nil {
		return tool
	}
	parts := []string{tool}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		text := Redacted
		if !isSensitive(k, sensitive) {
			text = Shorten(PlainText(object[k]), summaryValue)
		}
		parts = append(parts, k+"="+text)
	}
	return Shorten(strings.Join(parts, " "), summaryLine)
}

// runLine bounds the line of a whole run, in characters.
const runLine = 90

// RunSummary describes a run in one line, such as `agent librarian: which document …`: what it is, its name, and what it
// was asked, if anything.
func RunSummary(what, name, prompt string) string {
	line := what + " " + name
	if prompt != "" {
		line += ": " + prompt
	}
	return Shorten(line, runLine)
}

// Redact returns the arguments with the values of the sensitive parameters replaced; arguments that are no object come
// back unchanged if nothing is sensitive, and wholly redacted otherwise.
func Redact(arguments json.RawMessage, sensitive []string) json.RawMessage {
	if len(sensitive) == 0 {
		return arguments
	}
	value, err := DecodeJSON(arguments)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	for k := range object {
		if isSensitive(k, sensitive) {
			object[k] = Redacted
		}
	}
	redacted, err := EncodeJSON(object)
	if err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return redacted
}

// isSensitive takes a parameter's name in any case: arguments that were refused are shown as well, and a misspelt
// Password is still one.
func isSensitive(key string, sensitive []string) bool {
	return slices.ContainsFunc(sensitive, func(s string) bool { return strings.EqualFold(s, key) })
}

// Shorten returns text on one line, at most limit characters long, with … where something was left out. Characters that
// would end the line, steer a terminal or turn the direction of writing become spaces.
func Shorten(text string, limit int) string {
	var b strings.Builder
	for left := limit; left > 0 && text != ""; left-- {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case left == 1 && size < len(text):
			r = '…'
		case unicode.IsControl(r) || r == utf8.RuneError || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control):
			r = ' '
		}
		b.WriteRune(r)
		text = text[size:]
	}
	return b.String()
}
