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

// Redacted replaces a sensitive value wherever values are shown.
const Redacted = "***"

// Summary describes a call in one line, such as `read_document path=docs/a.md`. Values of sensitive
// parameters are redacted, long values shortened, line ends and control characters made visible.
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

// runLine bounds the line about a run, in characters.
const runLine = 90

// RunSummary describes a run in one line, such as `agent librarian: which document …`: its kind,
// its name and its prompt, if any.
func RunSummary(what, name, prompt string) string {
	line := what + " " + name
	if prompt != "" {
		line += ": " + prompt
	}
	return Shorten(line, runLine)
}

// redact returns the arguments with the values of sensitive parameters replaced. Arguments that are
// not an object are returned unchanged if nothing is sensitive, and redacted as a whole otherwise.
func redact(arguments json.RawMessage, sensitive []string) json.RawMessage {
	return Tool{Sensitive: sensitive}.Redact(arguments)
}

// Shorten returns text on one line of at most limit characters, with … where text was left out.
// Line ends, terminal controls and direction marks become spaces.
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

// Thousands formats a number with a comma after every three digits.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural formats a count with its noun: 1 call, 1,200 calls, 2 retries.
func Plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	if stem, ok := strings.CutSuffix(word, "ry"); ok {
		return Thousands(n) + " " + stem + "ries"
	}
	return Thousands(n) + " " + word + "s"
}

// ShortenLines returns the first whole lines of text within limit characters, and says how many
// more there are. A longer first line is cut. Each line is made safe as in Shorten.
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
