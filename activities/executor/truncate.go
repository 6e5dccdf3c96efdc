package executor

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// maxEncoded bounds a text as encoded in history, in bytes, where the server accepts 2 MiB:
// encoding/json writes some characters with six bytes.
const maxEncoded = 3 << 19

// Truncate returns an output of at most about limit bytes, which takes at most
// api.ResultBytes(limit) in history, and how many bytes it omitted. A truncated output
// becomes a string, because a part of a JSON value is not valid JSON.
func Truncate(output json.RawMessage, limit int) (json.RawMessage, int) {
	most := min(api.ResultBytes(limit), maxEncoded)
	if limit <= 0 || len(output) <= limit && fitsHistory(output, most) {
		return output, 0
	}
	text := jsonvalue.Plain(output)
	end := fittingIn(text, limit, most)
	cut, err := json.Marshal(text[:end])
	if err != nil {
		return json.RawMessage(`""`), len(output)
	}
	return cut, len(text) - end
}

// fitsHistory reports whether a JSON value certainly takes at most most bytes in history. Encoding
// expands only <, >, & and the line separators, which begin with 0xE2.
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

// FittingPrefix returns the length of the longest prefix of text, in whole characters, that has at
// most limit bytes, and at most maxEncoded bytes in history.
func FittingPrefix(text string, limit int) int { return fittingIn(text, limit, maxEncoded) }

// fittingIn is FittingPrefix with most as the bound in history, in bytes.
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
