package api

import (
	"strings"
	"unicode"
)

// Sendable reports whether an id can be written into addresses and command lines unchanged.
func Sendable(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/", r)
	})
}

// ShellWord quotes text that a shell would not read as one word.
func ShellWord(word string) string {
	if Sendable(word) && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
