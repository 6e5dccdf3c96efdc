package jsonvalue

import (
	"bytes"
	"unicode/utf8"
)

// PayloadSize returns at most how many bytes a JSON value takes in a payload, where some characters
// are escaped with six bytes.
func PayloadSize(value []byte) int {
	return len(value) + 5*(bytes.Count(value, []byte{'<'})+bytes.Count(value, []byte{'>'})+
		bytes.Count(value, []byte{'&'})) + 3*bytes.Count(value, []byte("\u2028")) +
		3*bytes.Count(value, []byte("\u2029"))
}

// TextSize returns at most how many bytes a text takes in a payload, with its quotes.
func TextSize(text string) int {
	size := len(text) + 2
	for _, r := range text {
		switch r {
		case '"', '\\':
			size++
		case '<', '>', '&', utf8.RuneError:
			size += 5
		case '\u2028', '\u2029':
			size += 3
		default:
			if r < ' ' {
				size += 5
			}
		}
	}
	return size
}
