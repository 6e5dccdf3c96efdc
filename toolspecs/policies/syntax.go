package policies

import (
	"fmt"
	"strings"
	"unicode"
)

// operators that other languages have, and what stands in their place.
var meant = map[string]string{"=": "==", "===": "==", "&": "&&", "|": "||", "and": "&&", "or": "||",
	"not": "!", "<>": "!="}

// unparsed says what is wrong at the place where an expression could not be parsed, and what to do
// about it. The parser itself tells all tokens that could have stood there. line counts from 1,
// column from 0.
func unparsed(expression string, line, column int) (message, hint string) {
	rest := []rune(strings.Join(strings.Split(expression,
		"\n")[min(line, strings.Count(expression, "\n")+1)-1:], "\n"))
	rest = rest[min(column, len(rest)):]
	if strings.TrimSpace(string(rest)) == "" {
		return "it ends too early", "complete it, or take out what is too much at its end"
	}
	if quote := rest[0]; (quote == '\'' || quote == '"') && strings.Count(string(rest),
		string(quote)) == 1 {
		return "the text that begins here has no end", fmt.Sprintf("close it with %c", quote)
	}
	token := tokenOf(rest)
	if right := meant[token]; right != "" {
		return fmt.Sprintf("%q cannot stand here", token), "write " + right
	}
	return fmt.Sprintf("%q cannot stand here", token),
		"look at what stands before it: an operator, a bracket or a quote may be missing"
}

// tokenOf returns the word, the operator or else the sign that a text begins with.
func tokenOf(text []rune) string {
	for _, belongs := range []func(rune) bool{
		func(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) },
		func(r rune) bool { return strings.ContainsRune("=&|<>!", r) },
	} {
		n := 0
		for n < len(text) && belongs(text[n]) {
			n++
		}
		if n > 0 {
			return string(text[:min(n, 40)])
		}
	}
	return string(text[:1])
}
