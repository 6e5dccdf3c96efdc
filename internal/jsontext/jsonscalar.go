package jsontext

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

func (p *parser) string() (string, *SyntaxError) {
	p.pos++
	rest := p.text[p.pos:]
	end := strings.IndexAny(rest, `"\`)
	if end >= 0 && rest[end] == '"' && !hasControl(rest[:end]) {
		p.pos += end + 1
		return rest[:end], nil
	}
	var b strings.Builder
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; {
		case c == '"':
			p.pos++
			return b.String(), nil
		case c == '\\':
			r, err := p.escape()
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
		case c < ' ':
			return "", p.fail(
				fmt.Sprintf("the control character U+%04X must be escaped in a string", c))
		default:
			b.WriteByte(c)
			p.pos++
		}
	}
	return "", p.fail("a string is not closed")
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' {
			return true
		}
	}
	return false
}

var escapes = map[byte]rune{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n',
	'r': '\r', 't': '\t'}

// escape reads one escape sequence, or the two that make a surrogate pair.
func (p *parser) escape() (rune, *SyntaxError) {
	if p.pos+1 >= len(p.text) {
		return 0, p.fail("a string is not closed")
	}
	if r, ok := escapes[p.text[p.pos+1]]; ok {
		p.pos += 2
		return r, nil
	}
	high, ok := p.hex(p.pos)
	if !ok {
		return 0, p.fail(`unknown escape sequence; write \\ for a backslash`)
	}
	if !utf16.IsSurrogate(high) {
		p.pos += 6
		return high, nil
	}
	low, ok := p.hex(p.pos + 6)
	r := utf16.DecodeRune(high, low)
	if !ok || r == utf8.RuneError {
		return 0, p.fail("a surrogate pair is incomplete")
	}
	p.pos += 12
	return r, nil
}

// hex reads \uXXXX at a position.
func (p *parser) hex(at int) (rune, bool) {
	if at+6 > len(p.text) || p.text[at] != '\\' || p.text[at+1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(p.text[at+2:at+6], 16, 32)
	return rune(v), err == nil
}

func (p *parser) number() (any, *SyntaxError) {
	start := p.pos
	whole, err := p.whole()
	if err != nil {
		return nil, err
	}
	fraction, err := p.fraction()
	if err != nil {
		return nil, err
	}
	if len(whole)+len(fraction) > maxDigits {
		return nil, p.beyond("a number has more than %d digits", maxDigits)
	}
	if err := p.exponent(); err != nil {
		return nil, err
	}
	return json.Number(p.text[start:p.pos]), nil
}

// whole reads the part of a number before the decimal point.
func (p *parser) whole() (string, *SyntaxError) {
	if p.pos >= len(p.text) || strings.IndexByte("-0123456789", p.text[p.pos]) < 0 {
		return "", p.fail("a JSON value was expected, not " + p.found())
	}
	if p.text[p.pos] == '-' {
		p.pos++
	}
	digits := p.digits()
	if digits == "" || len(digits) > 1 && digits[0] == '0' {
		return "", p.fail("a number needs digits and has no leading zero")
	}
	return digits, nil
}

func (p *parser) digits() string {
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	return p.text[start:p.pos]
}

func (p *parser) fraction() (string, *SyntaxError) {
	if p.pos >= len(p.text) || p.text[p.pos] != '.' {
		return "", nil
	}
	p.pos++
	digits := p.digits()
	if digits == "" {
		return "", p.fail("digits were expected after the decimal point, not " + p.found())
	}
	return digits, nil
}

func (p *parser) exponent() *SyntaxError {
	if p.pos >= len(p.text) || p.text[p.pos]|0x20 != 'e' {
		return nil
	}
	p.pos++
	if p.pos < len(p.text) && (p.text[p.pos] == '-' || p.text[p.pos] == '+') {
		p.pos++
	}
	digits := p.digits()
	if digits == "" {
		return p.fail("digits were expected after the exponent, not " + p.found())
	}
	if n, err := strconv.Atoi(digits); err != nil || n > maxExponent {
		return p.beyond("the exponent of a number is larger than %d", maxExponent)
	}
	return nil
}

// EndOfString returns the index of the quote that ends the string whose opening quote is at start,
// without checking the text between them; len(text) if none does.
func EndOfString(text []byte, start int) int {
	for i := start + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}
