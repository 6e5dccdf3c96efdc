package strictyaml

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The YAML library reports positions and causes only in its messages.
var (
	syntaxLine    = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s:.*))$`)
	unknownAnchor = regexp.MustCompile(`unknown anchor '(.*)' referenced`)
)

// syntaxFault converts the library's parse error into a fault.
func syntaxFault(file, text string, err error) Fault {
	m := syntaxLine.FindStringSubmatch(err.Error())
	fault := Fault{File: file, Message: "this is not YAML: " + m[2], Hint: syntaxHint(m[2])}
	if anchor := unknownAnchor.FindStringSubmatch(m[2]); anchor != nil {
		fault.Message = fmt.Sprintf("there is no anchor &%s before the alias *%s", anchor[1],
			anchor[1])
		fault.Line, fault.Column = aliasPosition(text, anchor[1])
		return fault
	}
	lines := strings.Split(text, "\n")
	fault.Line = min(syntaxErrorLine(m, text), len(lines))
	line := lines[fault.Line-1]
	fault.Column = 1 + len(line) - len(strings.TrimLeft(line, " "))
	return fault
}

// syntaxErrorLine returns the line, from 1, of an error that syntaxLine has matched.
func syntaxErrorLine(m []string, text string) int {
	n, err := strconv.Atoi(m[1])
	switch {
	case err != nil:
		return 1
	case strings.HasPrefix(m[2], "did not find expected"):
		// The library counts lines from 0 in errors of its parser, from 1 in those of its scanner.
		return n + 1
	case strings.Contains(m[2], "unexpected end of stream"):
		// The library reports where the quote starts, except in its line 0, where it reports the
		// end of the text.
		if _, err := readNodes([]byte("\n" + text)); err != nil {
			if again, convErr := strconv.Atoi(syntaxLine.FindStringSubmatch(
				err.Error())[1]); convErr == nil {
				return max(1, again-1)
			}
		}
	}
	return n
}

// aliasPosition finds the first alias of that name that has no anchor: the first place after which
// the text alone gives that error. The same characters in comments and quotes do not.
func aliasPosition(text, name string) (line, column int) {
	// All attempts together read at most this much; beyond it, the last attempt's position is
	// reported.
	const most = 64 << 20
	alias := regexp.MustCompile(`\*` + regexp.QuoteMeta(name) + `(?:[^A-Za-z0-9_-]|$)`)
	start, read := 0, 0
	for from := 0; read < most; from = start + 1 {
		found := alias.FindStringIndex(text[from:])
		if found == nil {
			break
		}
		start = from + found[0]
		end := start + len("*"+name)
		read += end
		if _, err := readNodes([]byte(text[:end])); err != nil &&
			unknownAnchor.MatchString(err.Error()) {
			break
		}
	}
	return position([]byte(text), start)
}

func syntaxHint(message string) string {
	switch {
	case strings.Contains(message, "tab character"):
		return "indent with spaces, not tabs"
	case strings.Contains(message, "exceeded max depth"):
		return "use fewer levels"
	case strings.Contains(message, "cannot start any token"):
		return "indent with spaces, not tabs, and put text that starts with a special character in quotes"
	case strings.Contains(message, "mapping values are not allowed"):
		return "put text that contains a colon in quotes, and check the indentation"
	case strings.Contains(message, "did not find expected"), strings.Contains(message,
		"could not find expected"):
		return "check the indentation and the brackets from this line on"
	case strings.Contains(message, "unknown anchor"):
		return "put &name before the value, or put text that starts with * in quotes"
	case strings.Contains(message, "found unexpected end of stream"):
		return "a quote or bracket is not closed"
	case strings.Contains(message, "incompatible YAML document"), strings.Contains(message,
		"directive"):
		return "remove the lines that begin with %"
	}
	return ""
}
