package forms

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/switchyard/switchyard/internal/value/display"
)

// spaces are characters that fields show although they are controls.
const spaces = "\n\t\r"

// escapeHidden makes the hidden characters of a JSON text visible: they are in its strings.
func escapeHidden(text string) string {
	return display.ReplaceHidden(text, spaces, func(r rune) (escaped string) {
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped += fmt.Sprintf(`\u%04x`, unit)
		}
		return escaped
	})
}

// hasOneEnding reports whether all lines of a text end in the same way, with or without CR.
func hasOneEnding(text string) bool {
	n := strings.Count(text, "\r\n")
	return strings.Count(text, "\r") == n && (n == 0 || strings.Count(text, "\n") == n)
}

// isNoLine reports whether a text would not come back as the same line.
func isNoLine(text string) bool {
	return text == "" || strings.ContainsAny(text, "\r\n") || display.HasHidden(text, spaces)
}

// withEndings gives the lines of a text that a browser returned the endings of the old text.
func withEndings(text, old string) string {
	if strings.Contains(old, "\r\n") {
		return strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

var escapeLineEnds = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "\x00", "%00")
