package activities

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard"
)

// maxEncoded bounds a text as it is written into history, where a server takes 2 MiB: encoding/json writes some
// characters with six bytes.
const maxEncoded = 3 << 19

// cutOutput returns an output of at most about limit bytes, and how many bytes it left out. What is cut becomes text,
// because half of a JSON value is none.
func cutOutput(output json.RawMessage, limit int) (json.RawMessage, int) {
	if limit <= 0 || len(output) <= limit && fitsHistory(output) {
		return output, 0
	}
	text := switchyard.PlainText(output)
	end := fitting(text, limit)
	cut, err := json.Marshal(text[:end])
	if err != nil {
		return json.RawMessage(`""`), len(output)
	}
	return cut, len(text) - end
}

// fitsHistory reports whether a JSON value surely takes at most maxEncoded there: of a value's own bytes only <, > and &
// grow, and the line separators, which begin with 0xE2.
func fitsHistory(output json.RawMessage) bool {
	if len(output) <= maxEncoded/6 {
		return true
	}
	size := len(output) + 3*bytes.Count(output, []byte{0xE2})
	for _, b := range []byte("<>&") {
		size += 5 * bytes.Count(output, []byte{b})
	}
	return size <= maxEncoded
}

// fitting returns how many bytes of text are at most limit, and at most maxEncoded in history, without half characters.
func fitting(text string, limit int) int {
	end := min(limit, len(text))
	if end > maxEncoded/6 {
		end = encodedPrefix(text[:end])
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

func encodedPrefix(text string) int {
	size := 0
	for i, r := range text {
		switch {
		case r < ' ' || strings.ContainsRune("<>&\u2028\u2029\uFFFD", r):
			size += 6
		case r == '"' || r == '\\':
			size += 2
		default:
			size += utf8.RuneLen(r)
		}
		if size > maxEncoded {
			return i
		}
	}
	return len(text)
}
