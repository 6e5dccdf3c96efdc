package api

import (
	"strings"
	"unicode"
)

// IsBlankIdentity reports whether a text identifies no person: it has no visible letter or digit.
func IsBlankIdentity(by string) bool {
	return !strings.ContainsFunc(by, func(r rune) bool {
		return unicode.In(r, unicode.L, unicode.N) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}
