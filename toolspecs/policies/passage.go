package policies

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"golang.org/x/text/unicode/norm"
)

// passage is a text in which values are looked for.
type passage struct {
	raw string
	// folded is the text after fold, and numbers are the numbers in it in their shortest forms.
	folded  func() string
	numbers func() map[string]bool
}

func newPassage(text string) *passage {
	p := &passage{raw: text}
	p.folded = sync.OnceValue(func() string { return fold(text) })
	p.numbers = sync.OnceValue(func() map[string]bool { return numbersIn(p.folded()) })
	return p
}

// leafSeparator separates the texts of a JSON value, so that none is found across two of them.
const leafSeparator = "\x00"

// resultText returns the texts of a call's result: the keys, texts and numbers of JSON.
func resultText(c *api.EarlierCall) string {
	if len(c.Result) == 0 {
		return c.Text
	}
	return valueText(jsonValue(c.Result))
}

// argumentsText returns the texts of a call's arguments. Numbers are in it as they were written,
// too: as numbers of expressions, long ones lose digits.
func argumentsText(c *api.EarlierCall) string {
	value, err := jsonvalue.Decode([]byte(c.Arguments))
	if err != nil {
		return c.Arguments
	}
	return valueText(value) + valueText(celNumbers(value))
}

// valueText returns the texts of a value.
func valueText(value any) string {
	var b strings.Builder
	write := func(text string) {
		b.WriteString(text)
		b.WriteString(leafSeparator)
	}
	var walk func(value any)
	walk = func(value any) {
		switch value := value.(type) {
		case string:
			write(value)
		case int64:
			write(strconv.FormatInt(value, 10))
		case float64:
			write(strconv.FormatFloat(value, 'f', -1, 64))
		case json.Number:
			write(string(value))
		case []any:
			for _, e := range value {
				walk(e)
			}
		case map[string]any:
			for k, e := range value {
				write(k)
				walk(e)
			}
		}
	}
	walk(value)
	return b.String()
}

// fold normalises a text: compatible Unicode forms become one, letters lower case, white space a
// single space, and characters without a width disappear.
func fold(text string) string {
	text = norm.NFKC.String(text)
	var b strings.Builder
	b.Grow(len(text))
	space := true // which drops spaces at the beginning
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			if !space {
				b.WriteByte(' ')
			}
			space = true
			continue
		case unicode.Is(unicode.Cf, r):
			continue
		}
		space = false
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.TrimSuffix(b.String(), " ")
}

// maxTries bounds how much of a text may be compared with a word, in lengths of the text. A text
// can have a long word within longer ones at each of its places, and comparing all of them takes
// minutes. What is not found then is nowhere, which errs on the strict side.
const maxTries = 16

// occurs reports whether a word is in a text and not a part of a longer word.
func occurs(text, word string) bool {
	for from, compared := 0, 0; compared <= maxTries*len(text); compared += len(word) {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		i += from
		if startsWord(text[:i], word) && endsWord(word, text[i+len(word):]) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
	return false
}

// startsWord reports whether a word begins after a text, and endsWord whether it ends before one.
// A dot continues a word if a letter or digit follows it: it may also end a sentence.
func startsWord(before, word string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	first, _ := utf8.DecodeRuneInString(word)
	if size == 0 || !continues(last) && last != '.' || !continues(first) {
		return true
	}
	if last != '.' {
		return false
	}
	earlier, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	return !continues(earlier)
}

func endsWord(word, after string) bool {
	next, size := utf8.DecodeRuneInString(after)
	last, _ := utf8.DecodeLastRuneInString(word)
	if size == 0 || !continues(next) && next != '.' || !continues(last) {
		return true
	}
	if next != '.' {
		return false
	}
	later, _ := utf8.DecodeRuneInString(after[size:])
	return !unicode.IsLetter(later) && !unicode.IsDigit(later)
}

// continues reports whether a character belongs to the word beside it: an address is no part of a
// longer one.
func continues(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) ||
		strings.ContainsRune("_-+@%~", r)
}

// numbersIn returns the numbers in a folded text in their shortest form. Where the separators of
// thousands and decimals can be read in two ways, both are there.
func numbersIn(text string) map[string]bool {
	numbers := map[string]bool{}
	for i := 0; i < len(text); {
		if !isDigit(text[i]) {
			i++
			continue
		}
		end := numberEnd(text, i)
		addForms(numbers, signBefore(text, i), text[i:end])
		i = end
	}
	return numbers
}

// numberEnd returns the end of the digits from i on, with separators between them.
func numberEnd(text string, i int) int {
	for i++; i < len(text); i++ {
		separator := strings.IndexByte(".,'_ ", text[i]) >= 0 && i+1 < len(text)
		if !isDigit(text[i]) && (!separator || !isDigit(text[i+1])) {
			break
		}
	}
	return i
}

// signBefore returns the sign of the number at i: a dash after a digit is none.
func signBefore(text string, i int) string {
	if i > 0 && text[i-1] == '-' && (i == 1 || !isDigit(text[i-2])) {
		return "-"
	}
	return ""
}

// addForms adds the numbers that digits with separators can be: one number, or several with spaces
// between them, of which the first one has the sign.
func addForms(numbers map[string]bool, sign, digits string) {
	add := func(sign, token string) {
		for _, decimal := range []string{".", ","} {
			if n, ok := shortest(token, decimal); ok {
				numbers[sign+n] = true
			}
		}
	}
	add(sign, digits)
	first, rest, several := strings.Cut(digits, " ")
	if !several {
		return
	}
	add(sign, first)
	for _, token := range strings.Split(rest, " ") {
		add("", token)
	}
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// shortest returns a number without separators of thousands, leading zeros and trailing zeros of
// its decimals, given its decimal separator.
func shortest(token, decimal string) (number string, ok bool) {
	whole, fraction, _ := strings.Cut(token, decimal)
	groups := strings.FieldsFunc(whole, func(r rune) bool { return r < '0' || r > '9' })
	if strings.Trim(fraction, "0123456789") != "" || !isGrouped(groups) {
		return "", false
	}
	number = strings.TrimLeft(strings.Join(groups, ""), "0")
	if number == "" {
		number = "0"
	}
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		number += "." + fraction
	}
	return number, true
}

// isGrouped reports whether the groups of digits are those of one number: thousands.
func isGrouped(groups []string) bool {
	if len(groups) < 2 {
		return len(groups) == 1
	}
	return len(groups[0]) <= 3 && !slices.ContainsFunc(groups[1:], func(g string) bool {
		return len(g) != 3
	})
}
