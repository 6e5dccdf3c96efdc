package policies

import (
	"fmt"
	"strings"
	"unicode"
)

// meant maps operators of other languages to those of CEL.
var meant = map[string]string{"=": "==", "===": "==", "&": "&&", "|": "||", "and": "&&", "or": "||",
	"not": "!", "<>": "!="}

// explainSyntax describes the fault at the position where parsing failed, and the remedy. The
// parser's
// own message lists all possible tokens. line counts from 1, column from 0.
func explainSyntax(expression string, line, column int) (message, hint string) {
	rest := []rune(strings.Join(strings.Split(expression,
		"\n")[min(line, strings.Count(expression, "\n")+1)-1:], "\n"))
	rest = rest[min(column, len(rest)):]
	if strings.TrimSpace(string(rest)) == "" {
		return "it ends too early", "complete it, or remove the extra text at its end"
	}
	if quote := rest[0]; (quote == '\'' || quote == '"') && strings.Count(string(rest),
		string(quote)) == 1 {
		return "the string that starts here is not closed", fmt.Sprintf("close it with %c", quote)
	}
	token := readToken(rest)
	if right := meant[token]; right != "" {
		return fmt.Sprintf("%q is not valid here", token), "write " + right
	}
	return fmt.Sprintf("%q is not valid here", token),
		"check the text before it: an operator, a bracket or a quote may be missing"
}

// readToken returns the word, operator or character at the start of a text.
func readToken(text []rune) string {
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
