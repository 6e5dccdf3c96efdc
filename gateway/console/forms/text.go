package forms

import (
	"fmt"
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
