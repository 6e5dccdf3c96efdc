package jsontext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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

// Object is a JSON object that remembers the order of its keys.
type Object struct {
	Keys    []string
	Members map[string]any
}

// NewObject returns an empty object.
func NewObject() *Object { return &Object{Members: map[string]any{}} }

// Set gives a member a value. A new key comes last; another value for a key keeps its place.
func (o *Object) Set(key string, value any) {
	if _, again := o.Members[key]; !again {
		o.Keys = append(o.Keys, key)
	}
	o.Members[key] = value
}

// Get returns the value of a member; nil if it is absent.
func (o *Object) Get(key string) any {
	if o == nil {
		return nil
	}
	return o.Members[key]
}

// Has reports whether there is a member with the key.
func (o *Object) Has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.Members[key]
	return ok
}

// Delete removes a member.
func (o *Object) Delete(key string) {
	if o.Has(key) {
		delete(o.Members, key)
		o.Keys = slices.DeleteFunc(o.Keys, func(k string) bool { return k == key })
	}
}

// Copy returns a copy whose members can be changed independently of o.
func (o *Object) Copy() *Object {
	c := NewObject()
	for _, key := range o.Names() {
		c.Set(key, o.Members[key])
	}
	return c
}

// Names returns the keys in order. A nil object has none.
func (o *Object) Names() []string {
	if o == nil {
		return nil
	}
	return o.Keys
}

// Member returns a member of v if v is an object that has it with type T; else the zero value.
func Member[T any](v any, key string) T {
	var none T
	o, ok := v.(*Object)
	if !ok || o == nil {
		return none
	}
	if m, ok := o.Members[key].(T); ok {
		return m
	}
	return none
}

// SyntaxError describes a fault in a JSON text, with its byte offset (from 0) and path.
type SyntaxError struct {
	at      int
	message string
	Rule    string
	// steps lead to the place, the last one first.
	steps []jsonpath.Step
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s, at byte %d", e.message, e.at) }

func (e *SyntaxError) Path() string {
	slices.Reverse(e.steps)
	return jsonpath.Join(e.steps)
}

// parser reads one JSON text. It is stricter than encoding/json where that would change or lose
// something: repeated keys, invalid UTF-8 and lone surrogates are errors.
type parser struct {
	text  string
	pos   int
	depth int
	// ordered makes objects *Object instead of map[string]any.
	ordered bool
}

// Parse returns the value of a text as encoding/json decodes it into any, with json.Number for
// numbers.
func Parse(text string) (any, *SyntaxError) {
	p := parser{text: text}
	return p.document()
}

// ParseOrdered is parseJSON with objects as *object.
func ParseOrdered(data []byte) (any, *SyntaxError) {
	p := parser{text: string(data), ordered: true}
	return p.document()
}

func (p *parser) document() (any, *SyntaxError) {
	if !utf8.ValidString(p.text) {
		for i, r := range p.text {
			if _, size := utf8.DecodeRuneInString(p.text[i:]); r == utf8.RuneError && size == 1 {
				p.pos = i
				return nil, p.fail("the text is not valid UTF-8")
			}
		}
	}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	if p.space(); p.pos < len(p.text) {
		return nil, p.fail("unexpected text after the JSON value: " + p.found())
	}
	return v, nil
}

func (p *parser) fail(message string) *SyntaxError {
	return &SyntaxError{at: p.pos, message: message, Rule: RuleSyntax}
}

// beyond is the error of a text that is JSON and exceeds a bound.
func (p *parser) beyond(format string, bound int) *SyntaxError {
	return &SyntaxError{at: p.pos, message: fmt.Sprintf(format, bound), Rule: RuleLimit}
}

// found describes the next character.
func (p *parser) found() string {
	if p.pos >= len(p.text) {
		return "the end of the text"
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return strconv.QuoteRune(r)
}

func (p *parser) space() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return
		}
	}
}

// next returns the next byte after white space, 0 at the end.
func (p *parser) next() byte {
	p.space()
	if p.pos >= len(p.text) {
		return 0
	}
	return p.text[p.pos]
}

func (p *parser) value() (any, *SyntaxError) {
	switch p.next() {
	case '{':
		return p.nested(p.object)
	case '[':
		return p.nested(p.array)
	case '"':
		return p.string()
	case 't':
		return p.word("true", true)
	case 'f':
		return p.word("false", false)
	case 'n':
		return p.word("null", nil)
	default:
		return p.number()
	}
}

func (p *parser) word(word string, v any) (any, *SyntaxError) {
	if !strings.HasPrefix(p.text[p.pos:], word) {
		return nil, p.fail("a JSON value was expected; true, false and null are the only words")
	}
	p.pos += len(word)
	return v, nil
}

func (p *parser) nested(read func() (any, *SyntaxError)) (any, *SyntaxError) {
	p.depth++
	if p.depth > maxNesting {
		return nil, p.beyond("the values nest more than %d deep", maxNesting)
	}
	p.pos++
	v, err := read()
	p.depth--
	return v, err
}

func (p *parser) array() (any, *SyntaxError) {
	list := []any{}
	if p.next() == ']' {
		p.pos++
		return list, nil
	}
	for {
		v, err := p.value()
		if err != nil {
			err.steps = append(err.steps, jsonpath.Step{Index: len(list)})
			return nil, err
		}
		list = append(list, v)
		if done, err := p.separator(']'); done || err != nil {
			return list, err
		}
	}
}

// separator reads a comma, or the closing byte, and reports whether it was that.
func (p *parser) separator(closing byte) (bool, *SyntaxError) {
	switch p.next() {
	case ',':
		p.pos++
		return false, nil
	case closing:
		p.pos++
		return true, nil
	}
	return false, p.fail(fmt.Sprintf("',' or %q was expected, not %s", closing, p.found()))
}

func (p *parser) object() (any, *SyntaxError) {
	members := map[string]any{}
	var keys []string
	for done := p.next() == '}'; !done; {
		key, err := p.key(members)
		if err != nil {
			return nil, err
		}
		v, err := p.value()
		if err != nil {
			err.steps = append(err.steps, jsonpath.Step{Key: key, Index: -1})
			return nil, err
		}
		members[key] = v
		if p.ordered {
			keys = append(keys, key)
		}
		if done, err = p.separator('}'); err != nil {
			return nil, err
		}
	}
	if len(members) == 0 {
		p.pos++
	}
	if p.ordered {
		return &Object{Keys: keys, Members: members}, nil
	}
	return members, nil
}

// key reads a key that members does not have yet, and the colon after it.
func (p *parser) key(members map[string]any) (string, *SyntaxError) {
	if p.next() != '"' {
		return "", p.fail("a key in double quotes was expected, not " + p.found())
	}
	start := p.pos
	key, err := p.string()
	if err != nil {
		return "", err
	}
	if _, twice := members[key]; twice {
		return "", &SyntaxError{at: start, message: fmt.Sprintf("the key %s is given twice",
			Shorten(key)), Rule: RuleDuplicate,
			steps: []jsonpath.Step{{Key: key, Index: -1}}}
	}
	if p.next() != ':' {
		return "", p.fail("':' was expected after a key, not " + p.found())
	}
	p.pos++
	return key, nil
}
