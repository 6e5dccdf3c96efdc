package tools

import (
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds on the time and the memory that an expression takes.
const (
	maxExpression = 2000 // characters
	maxNesting    = 100  // of parentheses, signs and powers
	maxArguments  = 100  // of one function
	maxExponent   = 4000 // of a number in scientific notation
)

type tokenKind int

const (
	tokenEnd tokenKind = iota
	tokenNumber
	tokenName
	tokenSign
)

type token struct {
	kind   tokenKind
	text   string
	column int
}

var tokenPattern = regexp.MustCompile(
	`^(?:([0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?)|([A-Za-z_][A-Za-z_0-9]*)|(\*\*|[-+*/%^(),]))`)

// lookalikes are characters that people and models write instead of the ones that are understood.
var lookalikes = map[rune]string{
	'−': "-", '–': "-", '—': "-", '×': "*", '·': "*", '⋅': "*", '÷': "/", '∕': "/", '²': "^2",
	'³': "^3",
	'√': "sqrt()", 'π': "pi", '（': "(", '）': ")", '[': "(", ']': ")", '{': "(", '}': ")",
	'!': "a product", '=': "nothing: give the expression alone",
}

func tokenize(expression string) ([]token, error) {
	var tokens []token
	column := 1
	for rest := expression; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == ' ' || r == '\t' || r == '\n' || r == '\r' {
			rest = rest[size:]
			column++
			continue
		}
		m := tokenPattern.FindStringSubmatch(rest)
		if m == nil {
			return nil, unknownCharacter(r, column)
		}
		t := token{text: m[0], column: column}
		switch {
		case m[1] != "":
			t.kind = tokenNumber
		case m[2] != "":
			t.kind = tokenName
		default:
			t.kind = tokenSign
		}
		tokens = append(tokens, t)
		rest = rest[len(m[0]):]
		column += len(m[0])
	}
	return append(tokens, token{column: column}), nil
}

func unknownCharacter(r rune, column int) error {
	if instead, ok := lookalikes[r]; ok {
		return unreadable(column, "%q is not supported; write %s", r, instead)
	}
	return unreadable(column, "%q is not supported; an expression has numbers, + - * / %% ^, "+
		"parentheses, functions and the constants pi and e", r)
}

// parser is a recursive descent parser that computes while it reads.
type parser struct {
	tokens []token
	depth  int
}

func calculate(expression string) (number, error) {
	if n := utf8.RuneCountInString(expression); n > maxExpression {
		return number{},
			unreadable(maxExpression, "the expression has %d characters; the maximum is %d", n,
				maxExpression)
	}
	tokens, err := tokenize(expression)
	if err != nil {
		return number{}, err
	}
	p := &parser{tokens: tokens}
	n, err := p.sum()
	if err != nil {
		return number{}, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return number{}, unexpected(t)
	}
	return n, nil
}

func unexpected(t token) error {
	switch {
	case t.kind == tokenEnd:
		return unreadable(t.column, "the expression ends where a value is expected")
	case t.kind == tokenNumber || t.kind == tokenName:
		return unreadable(t.column, "there is no operator before %q", t.text)
	case t.text == ")":
		return unreadable(t.column, "there is no ( for this )")
	case t.text == ",":
		return unreadable(t.column, "a comma separates the arguments of a function only; write "+
			"numbers without separators of thousands")
	default:
		return unreadable(t.column, "%q is misplaced", t.text)
	}
}

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) next() token {
	t := p.tokens[0]
	if t.kind != tokenEnd {
		p.tokens = p.tokens[1:]
	}
	return t
}

// take consumes the next token if it is one of the signs.
func (p *parser) take(signs ...string) (token, bool) {
	t := p.peek()
	if t.kind != tokenSign {
		return t, false
	}
	for _, s := range signs {
		if t.text == s {
			return p.next(), true
		}
	}
	return t, false
}

func (p *parser) sum() (number, error) { return p.chain(p.product, "+", "-") }

func (p *parser) product() (number, error) { return p.chain(p.signed, "*", "/", "%") }

// chain reads operands with operators of one precedence between them, from left to right.
func (p *parser) chain(operand func() (number, error), operators ...string) (number, error) {
	left, err := operand()
	for err == nil {
		operator, ok := p.take(operators...)
		if !ok {
			break
		}
		var right number
		if right, err = operand(); err != nil {
			break
		}
		result, failure := binary[operator.text](left, right)
		left, err = at(operator.column, result, failure)
	}
	return left, err
}

// signed reads a value with its signs. A power binds more tightly: -2^2 is -4.
func (p *parser) signed() (number, error) {
	if p.depth++; p.depth > maxNesting {
		return number{}, unreadable(p.peek().column, "the expression is nested more than %d deep",
			maxNesting)
	}
	defer func() { p.depth-- }()
	sign, ok := p.take("-", "+")
	if !ok {
		return p.power()
	}
	n, err := p.signed()
	if err == nil && sign.text == "-" {
		n = n.negated()
	}
	return n, err
}

// power reads a value and its exponent. Powers associate to the right: 2^3^2 is 2^9.
func (p *parser) power() (number, error) {
	base, err := p.value()
	if err != nil {
		return number{}, err
	}
	operator, ok := p.take("^", "**")
	if !ok {
		return base, nil
	}
	exponent, err := p.signed()
	if err != nil {
		return number{}, err
	}
	result, failure := raise(base, exponent)
	return at(operator.column, result, failure)
}

func (p *parser) value() (number, error) {
	t := p.peek()
	switch t.kind {
	case tokenNumber:
		return literal(p.next())
	case tokenName:
		return p.named(p.next())
	}
	if _, ok := p.take("("); !ok {
		return number{}, misplaced(t)
	}
	n, err := p.sum()
	if err != nil {
		return number{}, err
	}
	return n, p.close(t)
}

// misplaced returns the error for a token where a value is expected.
func misplaced(t token) error {
	if t.kind == tokenEnd {
		return unexpected(t)
	}
	return unreadable(t.column, "a value is expected here, not %q", t.text)
}

func (p *parser) close(open token) error {
	if _, ok := p.take(")"); ok {
		return nil
	}
	if t := p.peek(); t.kind != tokenEnd {
		return unexpected(t)
	}
	return unreadable(open.column, "this ( is never closed")
}

func literal(t token) (number, error) {
	if _, exponent, ok := strings.Cut(strings.ToLower(t.text), "e"); ok {
		if n, err := strconv.Atoi(exponent); err != nil || n > maxExponent || n < -maxExponent {
			return number{},
				unreadable(t.column, "the number %s is out of range; exponents range from -%d to %d",
					t.text, maxExponent, maxExponent)
		}
	}
	r, ok := new(big.Rat).SetString(t.text)
	if !ok {
		return number{}, unreadable(t.column, "%q is not a number", t.text)
	}
	n, err := exact(r)
	return at(t.column, n, err)
}

var constants = map[string]float64{"pi": math.Pi, "e": math.E}

// named reads a constant, or a function with its arguments.
func (p *parser) named(name token) (number, error) {
	lower := strings.ToLower(name.text)
	f, known := functions[lower]
	open, called := p.take("(")
	if !called {
		return constant(name, known)
	}
	if !known {
		return number{}, unknownName(name)
	}
	arguments, err := p.arguments(open)
	if err != nil {
		return number{}, err
	}
	if len(arguments) < f.least || len(arguments) > f.most {
		return number{}, unreadable(name.column, "%s takes %s, not %d", lower, f.arity(),
			len(arguments))
	}
	result, failure := f.compute(arguments)
	return at(name.column, result, failure)
}

func constant(name token, isFunction bool) (number, error) {
	value, ok := constants[strings.ToLower(name.text)]
	switch {
	case ok:
		return number{approx: value}, nil
	case isFunction:
		return number{}, unreadable(name.column, "%s is a function; write %s(…)", name.text,
			name.text)
	default:
		return number{}, unknownName(name)
	}
}

func unknownName(name token) error {
	if strings.EqualFold(name.text, "log") {
		return unreadable(name.column, "log is ambiguous; write ln, log10 or log2")
	}
	return unreadable(name.column, "there is no function or constant %q; there are pi, e, %s",
		name.text, functionNames())
}

func (p *parser) arguments(open token) ([]number, error) {
	var arguments []number
	if _, ok := p.take(")"); ok {
		return nil, nil
	}
	for {
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		if arguments = append(arguments, n); len(arguments) > maxArguments {
			return nil, unreadable(p.peek().column, "a function takes at most %d arguments",
				maxArguments)
		}
		if _, more := p.take(","); !more {
			return arguments, p.close(open)
		}
	}
}
