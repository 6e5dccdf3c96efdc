// Package visibility writes conditions for queries of the server's visibility store.
package visibility

import "strings"

// In returns a visibility condition for the executions whose attribute, a keyword or an ID,
// is one of texts. Servers with SQLite or PostgreSQL escape backslashes, double quotes and some
// control characters as MySQL needs it, and then find nothing. For texts with these the condition
// admits all values that begin like them, so callers have to compare the values of what is found.
func In(attribute string, texts ...string) string {
	var exact, conditions []string
	for _, text := range texts {
		if strings.ContainsAny(text, wronglyEscaped) {
			conditions = append(conditions, Prefix(attribute, text))
		} else {
			exact = append(exact, Quote(text))
		}
	}
	switch len(exact) {
	case 0:
	case 1:
		conditions = append(conditions, attribute+" = "+exact[0])
	default:
		conditions = append(conditions, attribute+" IN ("+strings.Join(exact, ", ")+")")
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " OR ") + ")"
}

// Prefix returns a visibility condition for the executions whose attribute, a keyword or an
// ID, begins with text. As with In, callers have to compare the values of what is found.
func Prefix(attribute, text string) string {
	if i := strings.IndexAny(text, wronglyEscaped); i >= 0 {
		text = text[:i]
	}
	return attribute + " STARTS_WITH " + Quote(text)
}

// wronglyEscaped are the characters that servers with SQLite or PostgreSQL search together with a
// backslash.
const wronglyEscaped = "\\\"\b\n\r\t"

// Quote quotes text for a visibility query. The server reads backslashes as escapes, so that
// doubling the quotes is not enough. Use In for texts that people or programs choose.
func Quote(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}
