package forms

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/switchyard/switchyard/api"
)

// isHidden reports whether a field would not show a character.
func isHidden(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && api.IsHidden(r)
}

// escapeHidden makes the hidden characters of a JSON text visible: they are in its strings.
func escapeHidden(text string) string {
	var b strings.Builder
	for _, r := range text {
		if isHidden(r) {
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hasOneEnding reports whether all lines of a text end in the same way, with or without CR.
func hasOneEnding(text string) bool {
	n := strings.Count(text, "\r\n")
	return strings.Count(text, "\r") == n && (n == 0 || strings.Count(text, "\n") == n)
}

// isNoLine reports whether a text would not come back as the same line.
func isNoLine(text string) bool {
	return text == "" || strings.ContainsAny(text, "\r\n") || strings.ContainsFunc(text, isHidden)
}

// withEndings gives the lines of a text that a browser returned the endings of the old text.
func withEndings(text, old string) string {
	if strings.Contains(old, "\r\n") {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

var escapeLineEnds = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "\x00", "%00")
