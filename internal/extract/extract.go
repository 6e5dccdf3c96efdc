// Package extract selects a part of a JSON value: by JSON pointer if the expression starts with a
// slash, else by JMESPath expression.
package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jmespath-community/go-jmespath"
)

// Expression is an expression that can be used, by many goroutines.
type Expression struct {
	text    string
	pointer []string
	query   jmespath.JMESPath
}

// Compile compiles an expression such as "/data/0/id" or "data[?state=='open'].id". The error
// describes the syntax error.
func Compile(text string) (Expression, error) {
	if strings.HasPrefix(text, "/") {
		pointer, err := readPointer(text)
		return Expression{text: text, pointer: pointer}, err
	}
	query, err := compileQuery(text)
	if err != nil {
		return Expression{}, fmt.Errorf("this is not a JMESPath expression: %w", err)
	}
	return Expression{text: text, query: query}, nil
}

// readPointer reads a JSON pointer (RFC 6901).
func readPointer(text string) ([]string, error) {
	steps := strings.Split(text[1:], "/")
	for i, step := range steps {
		plain := strings.NewReplacer("~0", "", "~1", "").Replace(step)
		if strings.Contains(plain, "~") {
			return nil, errors.New("in a JSON pointer ~ is written ~0, and / within a name ~1")
		}
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps, nil
}

// compileQuery calls the library's compiler, which panics on some invalid expressions.
func compileQuery(text string) (query jmespath.JMESPath, err error) {
	defer notPanic(&err)
	return jmespath.Compile(text)
}

func notPanic(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("it cannot be evaluated: %v", cause)
	}
}

// From returns the selected part of a decoded JSON value, whose numbers are json.Number, and
// whether it exists. In JMESPath null counts as missing.
//
// A pointer keeps numbers as written. JMESPath uses floating point: numbers that would lose digits
// are passed through unchanged but can be neither compared nor counted. exact is false if the value
// has such numbers and the expression may compute with them. The error explains why a JMESPath
// expression cannot be applied to the value.
func (e Expression) From(value any) (part any, found, exact bool, err error) {
	if e.query == nil {
		part, found = follow(value, e.pointer)
		return part, found, true, nil
	}
	value, lost := floats(value)
	exact = !lost || !strings.ContainsAny(e.text, "?(<>=")
	defer notPanic(&err)
	part, err = e.query.Search(value)
	return part, part != nil, exact, err
}

func follow(value any, steps []string) (any, bool) {
	for _, step := range steps {
		next, ok := member(value, step)
		if !ok {
			return nil, false
		}
		value = next
	}
	return value, true
}

func member(value any, step string) (any, bool) {
	switch value := value.(type) {
	case map[string]any:
		next, ok := value[step]
		return next, ok
	case []any:
		i, err := strconv.Atoi(step)
		if err != nil || i < 0 || i >= len(value) || strconv.Itoa(i) != step {
			return nil, false
		}
		return value[i], true
	}
	return nil, false
}

// floats returns a copy of a value with its numbers as float64, but for those that would lose
// digits.
func floats(value any) (copied any, lost bool) {
	switch value := value.(type) {
	case json.Number:
		if f, ok := float(string(value)); ok {
			return f, false
		}
		return value, true
	case []any:
		list := make([]any, len(value))
		for i, e := range value {
			item, l := floats(e)
			list[i], lost = item, lost || l
		}
		return list, lost
	case map[string]any:
		object := make(map[string]any, len(value))
		for k, e := range value {
			item, l := floats(e)
			object[k], lost = item, lost || l
		}
		return object, lost
	}
	return value, false
}

// float returns a number as float64 if no digit is lost: up to 15 digits are always safe, more if
// the number formats back to the same text.
func float(text string) (float64, bool) {
	const sureDigits, sureLow, sureHigh = 15, 1e-300, 1e300
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	if strconv.FormatFloat(f, 'f', -1, 64) == text {
		return f, true
	}
	mantissa, _, _ := strings.Cut(strings.ToLower(text), "e")
	digits := strings.TrimLeft(strings.NewReplacer("-", "", ".", "").Replace(mantissa), "0")
	if digits == "" {
		return f, true
	}
	size := max(f, -f)
	return f, len(digits) <= sureDigits && size > sureLow && size < sureHigh
}
