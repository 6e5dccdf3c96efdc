package api

import (
	"strings"
	"unicode"
)

// Nameless reports whether a text names nobody: it has neither a letter nor a digit that can be seen.
func IsBlankIdentity(by string) bool {
	return !strings.ContainsFunc(by, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}
