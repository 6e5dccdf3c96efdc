package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
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
	if json.Unmarshal(redact(arguments, sensitive), &object) != nil {
		return tool
	}
	parts := []string{tool}
	for _, k := range slices.Sorted(maps.Keys(object)) {
		parts = append(parts, k+"="+Shorten(PlainText(object[k]), summaryValue))
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

// redact returns the arguments with the values of the sensitive parameters replaced; arguments that are no object come
// back unchanged if nothing is sensitive, and wholly redacted otherwise.
func redact(arguments json.RawMessage, sensitive []string) json.RawMessage {
	return Tool{Sensitive: sensitive}.Redact(arguments)
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

// Thousands writes a number with a comma after every three digits.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes how many there are of what a word names: 1 call, 1,200 calls, 2 retries.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if stem, ok := strings.CutSuffix(word, "ry"); ok {
		return Thousands(n) + " " + stem + "ries"
	}
	return Thousands(n) + " " + word + "s"
}

// ShortenLines returns the first lines of text, whole ones that take up no more than limit characters, and says how many more there
// are. Of a first line that is longer it is the beginning. Each line is made harmless as Shorten does it.
func ShortenLines(text string, limit int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	var kept []string
	for i, left := 0, limit; i < len(lines); i++ {
		length := utf8.RuneCountInString(lines[i])
		if i > 0 && length > left {
			return strings.Join(append(kept, fmt.Sprintf("… and %d more", len(lines)-i)), "\n")
		}
		kept = append(kept, Shorten(lines[i], limit))
		left -= length + 1
	}
	return strings.Join(kept, "\n")
}
