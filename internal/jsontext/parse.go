package jsontext

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/switchyard/switchyard/internal/jsonpath"
)

const (
	// maxNesting bounds how deep arguments and results may nest.
	maxNesting = 200
	// maxDigits and maxExponent bound numbers: comparing larger ones exactly would cost more than
	// any call is worth.
	maxDigits   = 1000
	maxExponent = 1000
)

// Rules that a SyntaxError names.
const (
	RuleSyntax    = "json"
	RuleDuplicate = "duplicate"
	RuleLimit     = "limit"
)

// SyntaxError describes a fault in a JSON text, with its byte offset (from 0) and path.
type SyntaxError struct {
	at      int64
	message string
	path    string
	Rule    string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s, at byte %d", e.message, e.at) }

func (e *SyntaxError) Path() string { return e.path }

// parser reads one JSON text. It is stricter than encoding/json where that would change or lose
// something: repeated keys, invalid UTF-8 and lone surrogates are errors.
type parser struct {
	*jsontext.Decoder
	// ordered makes objects *Object instead of map[string]any.
	ordered bool
}

// Parse returns the value of a text as encoding/json decodes it into any, with json.Number for
// numbers.
func Parse(text string) (any, *SyntaxError) { return parse(text, false) }

// ParseOrdered is Parse with objects as *Object.
func ParseOrdered(data []byte) (any, *SyntaxError) { return parse(string(data), true) }

func parse(text string, ordered bool) (any, *SyntaxError) {
	p := parser{jsontext.NewDecoder(strings.NewReader(text)), ordered}
	v, err := p.value()
	if err != nil {
		return nil, p.fault(err)
	}
	if rest := strings.TrimLeft(text[p.InputOffset():], " \t\r\n"); rest != "" {
		return nil, &SyntaxError{at: int64(len(text) - len(rest)), path: jsonpath.Root,
			message: "unexpected text after the JSON value", Rule: RuleSyntax}
	}
	return v, nil
}

func (p *parser) value() (any, error) {
	token, err := p.ReadToken()
	if err != nil {
		return nil, err
	}
	if p.StackDepth() > maxNesting {
		return nil, p.beyond("the values nest more than %d deep", maxNesting)
	}
	switch token.Kind() {
	case jsontext.KindBeginObject:
		return p.object()
	case jsontext.KindBeginArray:
		return p.array()
	case jsontext.KindString:
		return token.String(), nil
	case jsontext.KindNumber:
		return p.number(token.String())
	case jsontext.KindNull:
		return nil, nil
	default:
		return token.Bool(), nil
	}
}

func (p *parser) object() (any, error) {
	o := NewObject()
	for p.PeekKind() != jsontext.KindEndObject {
		token, err := p.ReadToken()
		if err != nil {
			return nil, err
		}
		key := token.String()
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		o.Set(key, v)
	}
	_, err := p.ReadToken()
	if p.ordered {
		return o, err
	}
	return o.Members, err
}

func (p *parser) array() (any, error) {
	list := []any{}
	for p.PeekKind() != jsontext.KindEndArray {
		v, err := p.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := p.ReadToken()
	return list, err
}

func (p *parser) number(text string) (any, error) {
	digits, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	if len(strings.Trim(digits, "-"))-strings.Count(digits, ".") > maxDigits {
		return nil, p.beyond("a number has more than %d digits", maxDigits)
	}
	n, err := strconv.Atoi(strings.TrimLeft(exponent, "+-"))
	if exponent != "" && (err != nil || n > maxExponent) {
		return nil, p.beyond("the exponent of a number is larger than %d", maxExponent)
	}
	return json.Number(text), nil
}

// beyond is the error of a text that is JSON and exceeds a bound.
func (p *parser) beyond(format string, bound int) error {
	return &SyntaxError{at: p.InputOffset(), message: fmt.Sprintf(format, bound), Rule: RuleLimit,
		path: p.path(p.StackPointer())}
}

// fault returns an error of the decoder in our words where people see it often.
func (p *parser) fault(err error) *SyntaxError {
	if own, ok := errors.AsType[*SyntaxError](err); ok {
		return own
	}
	e := &SyntaxError{at: p.InputOffset(), message: err.Error(), path: jsonpath.Root,
		Rule: RuleSyntax}
	if cause, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		e.at, e.path = cause.ByteOffset, p.path(cause.JSONPointer)
		e.message = cause.Err.Error()
		for _, quote := range []string{" `", ` "`} { // what follows is text of the value
			e.message, _, _ = strings.Cut(e.message, quote)
		}
		if errors.Is(cause.Err, jsontext.ErrDuplicateName) {
			e.Rule = RuleDuplicate
			e.message = fmt.Sprintf("the key %s is given twice",
				Shorten(cause.JSONPointer.LastToken()))
		}
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.message = "the text ends within a JSON value"
	}
	return e
}

// path returns a pointer to a place that the decoder has reached as a path.
func (p *parser) path(pointer jsontext.Pointer) string {
	var steps []jsonpath.Step
	for token := range pointer.Tokens() {
		step := jsonpath.Step{Key: token, Index: -1}
		if kind, _ := p.StackIndex(len(steps) + 1); kind == jsontext.KindBeginArray {
			step.Key = ""
			step.Index, _ = strconv.Atoi(token) // the decoder counts elements
		}
		steps = append(steps, step)
	}
	return jsonpath.Join(steps)
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
