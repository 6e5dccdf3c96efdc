package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Character classes that decide where a text is split into pieces before its tokens are looked up.
// A mark or a letter without case counts as upper and as lower case.
const (
	classUpper = 1 << iota // upper and title case, and what has none
	classLower             // lower case, and what has none
	classMark              // marks, which are no letters
	classNumber
	classSpace
	classBreak // line ends; they are spaces too
)

const classWord = classUpper | classLower

var asciiClasses = func() (table [utf8.RuneSelf]uint8) {
	for r := range rune(utf8.RuneSelf) {
		table[r] = unicodeClass(r)
	}
	return table
}()

func unicodeClass(r rune) uint8 {
	switch {
	case r == '\n' || r == '\r':
		return classSpace | classBreak
	case unicode.IsSpace(r):
		return classSpace
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return classUpper
	case unicode.Is(unicode.Ll, r):
		return classLower
	case unicode.IsLetter(r):
		return classWord
	case unicode.IsMark(r):
		return classWord | classMark
	case unicode.IsNumber(r):
		return classNumber
	}
	return 0
}

// classAt returns the class and the size of the character at i; size zero means the end of the
// text.
func classAt(text string, i int) (class uint8, size int) {
	if i >= len(text) {
		return 0, 0
	}
	if b := text[i]; b < utf8.RuneSelf {
		return asciiClasses[b], 1
	}
	r, size := utf8.DecodeRuneInString(text[i:])
	return unicodeClass(r), size
}

// nextPiece returns the length of the first piece of a text that is not empty, as the vocabulary
// o200k_base splits texts: a word with one character before it, up to three digits, a run of signs,
// line ends, or other white space. It does what that vocabulary's published pattern says, in a
// twentieth of a regular expression's time.
func nextPiece(text string) int {
	first, size := classAt(text, 0)
	if end := wordOrPrefixed(text, first, size); end > 0 {
		return end
	}
	switch {
	case first&classNumber != 0:
		return number(text)
	case first&classSpace == 0:
		return signs(text, 0)
	case text[0] == ' ':
		if end := signs(text, 1); end > 1 {
			return end
		}
	}
	return space(text)
}

// wordOrPrefixed returns where the word ends that the text begins with, or that begins after its
// first character; 0 without one.
func wordOrPrefixed(text string, first uint8, size int) int {
	if !isLetter(first) && first&(classNumber|classBreak) == 0 {
		if end := word(text, size); end > size {
			return end
		}
	}
	if first&classWord != 0 {
		return word(text, 0)
	}
	return 0
}

func isLetter(class uint8) bool { return class&classWord != 0 && class&classMark == 0 }

// word returns where the word that begins at start ends: capitals and then small letters, or
// capitals alone. Without a word it returns start.
func word(text string, start int) int {
	i, both := start, start
	class, size := classAt(text, i)
	for class&classUpper != 0 {
		i += size
		if class&classLower != 0 {
			both = i
		}
		class, size = classAt(text, i)
	}
	switch {
	case class&classLower != 0:
		for class&classLower != 0 {
			i += size
			class, size = classAt(text, i)
		}
	case both > start:
		// The capitals after the last caseless letter begin a word of their own.
		i = both
	}
	if i == start {
		return start
	}
	return i + contraction(text[i:])
}

// contraction returns the length of an English ending such as 's or 'll.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	if strings.ContainsRune("sStTmMdD", rune(text[1])) {
		return 2
	}
	if len(text) > 2 {
		switch strings.ToLower(text[1:3]) {
		case "re", "ve", "ll":
			return 3
		}
	}
	return 0
}

func number(text string) int {
	i := 0
	for range 3 {
		class, size := classAt(text, i)
		if class&classNumber == 0 {
			break
		}
		i += size
	}
	return i
}

// signs returns where the run of signs that begins at start ends, line ends and slashes after it
// included.
func signs(text string, start int) int {
	i := start
	for i < len(text) {
		class, size := classAt(text, i)
		if class&(classNumber|classSpace) != 0 || isLetter(class) {
			break
		}
		i += size
	}
	if i == start {
		return start
	}
	return len(text) - len(strings.TrimLeft(text[i:], "\r\n/"))
}

// space returns where the white space ends: after its last line end, or before the character that
// the next piece begins with.
func space(text string) int {
	i, last, lines := 0, 0, 0
	for i < len(text) {
		class, size := classAt(text, i)
		if class&classSpace == 0 {
			break
		}
		last = i
		i += size
		if class&classBreak != 0 {
			lines = i
		}
	}
	switch {
	case lines > 0:
		return lines
	case i < len(text) && last > 0:
		return last
	}
	return i
}
