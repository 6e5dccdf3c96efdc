package jsontext

import (
	"strings"
	"unicode/utf8"
)

// maxShown bounds how much of a value a message repeats, in characters.
const maxShown = 60

// Shorten returns a value as JSON, cut where it is long.
func Shorten(v any) string {
	if s, ok := v.(string); ok && len(s) > 8*maxShown {
		v = s[:8*maxShown]
	}
	text := strings.ToValidUTF8(string(Encode(v, nil)), "")
	if utf8.RuneCountInString(text) <= maxShown {
		return text
	}
	return string([]rune(text)[:maxShown-1]) + "…"
}
