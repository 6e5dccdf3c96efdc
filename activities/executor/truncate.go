package executor

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
)

// maxEncoded bounds a text as it is written into history, where a server takes 2 MiB: encoding/json
// writes some characters with six bytes.
const maxEncoded = 3 << 19

// cutOutput returns an output of at most about limit bytes, which takes at most
// switchyard.ResultBytes(limit) in history, and how many bytes it left out. What is cut becomes
// text, because half of a JSON value is none.
func Truncate(output json.RawMessage, limit int) (json.RawMessage, int) {
	most := min(api.ResultBytes(limit), maxEncoded)
	if limit <= 0 || len(output) <= limit && fitsHistory(output, most) {
		return output, 0
	}
	text := api.PlainText(output)
	end := fittingIn(text, limit, most)
	cut, err := json.Marshal(text[:end])
	if err != nil {
		return json.RawMessage(`""`), len(output)
	}
	return cut, len(text) - end
}

// fitsHistory reports whether a JSON value surely takes at most so many bytes there: of a value's
// own bytes only <, > and & grow, and the line separators, which begin with 0xE2.
func fitsHistory(output json.RawMessage, most int) bool {
	if len(output) <= most/6 {
		return true
	}
	size := len(output) + 3*bytes.Count(output, []byte{0xE2})
	for _, b := range []byte("<>&") {
		size += 5 * bytes.Count(output, []byte{b})
	}
	return size <= most
}

// fitting returns how many bytes of text are at most limit, and at most maxEncoded in history,
// without half characters.
func FittingPrefix(text string, limit int) int { return fittingIn(text, limit, maxEncoded) }

// fittingIn is fitting for a text that may take so many bytes in history.
func fittingIn(text string, limit, most int) int {
	end := min(limit, len(text))
	if end > most/6 {
		end = encodedPrefix(text[:end], most)
	}
	for end > 0 && end < len(text) && !utf8.RuneStart(text[end]) {
		end--
	}
	return end
}

func encodedPrefix(text string, most int) int {
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
		if size > most {
			return i
		}
	}
	return len(text)
}
