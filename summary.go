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
	value, err := DecodeJSON(arguments)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return tool
	}
	parts := []string{tool}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		text := Redacted
		if !slices.Contains(sensitive, k) {
			text = Shorten(TextOf(object[k]), summaryValue)
		}
		parts = append(parts, k+"="+text)
	}
	return Shorten(strings.Join(parts, " "), summaryLine)
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
	for _, k := range sensitive {
		if _, ok := object[k]; ok {
			object[k] = Redacted
		}
	}
	redacted, err := EncodeJSON(object)
	if err != nil {
		return json.RawMessage(`"` + Redacted + `"`)
	}
	return redacted
}

// Shorten returns text on one line, at most limit characters long, with … where something was left out.
func Shorten(text string, limit int) string {
	var b strings.Builder
	count := 0
	for i, r := range text {
		if count == limit-1 && i+utf8.RuneLen(r) < len(text) {
			b.WriteRune('…')
			break
		}
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			r = ' '
		}
		b.WriteRune(r)
		count++
	}
	return b.String()
}
