// Package display makes texts safe and short for people: one line, no hidden characters, bounded
// length.
package display

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut returns the beginning of a text, at most limit bytes, and a note on how much was left out
// and why. It returns the text itself if that is not longer.
func Cut(text string, limit int, why string) string {
	end := max(min(limit, len(text)), 0)
	for end > 0 && end < len(text) && text[end]&0xC0 == 0x80 {
		end--
	}
	cut := fmt.Sprintf("%s… [%d of %d bytes are left out: %s]", text[:end], len(text)-end,
		len(text), why)
	if len(cut) >= len(text) {
		return text
	}
	return cut
}

// Shorten returns text on one line of at most limit characters, with … where text was left out.
// Line ends and other hidden characters become spaces.
func Shorten(text string, limit int) string {
	end, cut := 0, false
	for left := limit; left > 0 && end < len(text); left-- {
		_, size := utf8.DecodeRuneInString(text[end:])
		if cut = left == 1 && end+size < len(text); !cut {
			end += size
		}
	}
	valid := strings.Map(func(r rune) rune {
		if r == utf8.RuneError { // also each byte that is not UTF-8
			return ' '
		}
		return r
	}, text[:end])
	shown := ReplaceHidden(valid, "", func(rune) string { return " " })
	if cut {
		shown += "…"
	}
	return shown
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

// Sendable reports whether an id can be written into addresses and command lines unchanged.
func Sendable(id string) bool {
	return !strings.ContainsFunc(id, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) &&
			!strings.ContainsRune("_-.:/", r)
	})
}

// ShellWord quotes text that a shell would not read as one word.
func ShellWord(word string) string {
	if Sendable(word) && word != "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
