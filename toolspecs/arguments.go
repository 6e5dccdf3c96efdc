package toolspecs

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs/jsonpath"
)

// Arguments reads the text of a call's arguments as its caller wrote it and returns them validated: compact JSON,
// declared arguments in their declared order, then others sorted, defaults filled in at any depth. An empty text is
// an empty object. problems are all that is wrong, at most 100 and a last one that counts the rest; with any there are
// no arguments. notes tell what was dropped or read as another type.
//
// mode decides how undeclared arguments and numbers in quotes are treated; empty leaves it to the spec, whose default
// is strict.
func (c *Compiled) Arguments(text string, mode switchyard.Mode) (args json.RawMessage, notes []string, problems []switchyard.Problem) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	value, jsonErr := parseJSON(text)
	if jsonErr != nil {
		message := jsonErr.Error()
		if jsonErr.rule == ruleJSON {
			message = "the arguments are not valid JSON: " + message
			return nil, nil, []switchyard.Problem{{Path: jsonpath.Root, Rule: ruleJSON, Message: message}}
		}
		return nil, nil, []switchyard.Problem{{Path: jsonErr.path(), Rule: jsonErr.rule, Message: message}}
	}
	if _, ok := value.(map[string]any); !ok {
		message := "the arguments must be an object, such as {}, not " + described(place{value: value, hidden: true})
		return nil, nil, []switchyard.Problem{{Path: jsonpath.Root, Rule: switchyard.RuleType, Message: message}}
	}
	p := preparer{lenient: cmp.Or(mode, c.Spec.Execution.Arguments) == switchyard.ModeLenient}
	p.value(value, c.inputShape)
	problems = append(p.problems, validate(value, c.input, c.inputShape)...)
	if len(problems) > 0 {
		return nil, p.notes, sorted(problems)
	}
	return render(value, c.inputShape), p.notes, nil
}

const (
	// maxSummary bounds a summary in bytes, maxSummaryValue one value in it in characters.
	maxSummary      = 120
	maxSummaryValue = 40
	redacted        = "***"
)

// Summary returns a call as one line of at most 120 bytes for people: the tool's name and its arguments in declared
// order, sensitive values as ***.
func (c *Compiled) Summary(args json.RawMessage) string {
	var b strings.Builder
	b.WriteString(c.Spec.Name)
	value, err := parseJSON(string(args))
	members, ok := value.(map[string]any)
	if err != nil || !ok {
		return b.String()
	}
	for _, k := range c.inputShape.order(members) {
		shown := redacted
		if !c.inputShape.sensitive {
			shown = summaryValue(members[k], c.inputShape.property(k))
		}
		b.WriteString(" " + word(k) + "=" + shown)
		if b.Len() > maxSummary {
			break
		}
	}
	return cutBytes(b.String(), maxSummary)
}

func summaryValue(v any, s *shape) string {
	v = redact(v, s)
	text := word(v)
	if runes := []rune(text); len(runes) > maxSummaryValue {
		return string(runes[:maxSummaryValue-1]) + "…"
	}
	return text
}

// word returns a string that needs no quotes as it is, anything else as JSON.
func word(v any) string {
	if s, ok := v.(string); ok {
		quotes := strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == '"' || r == '=' || !strconv.IsPrint(r) })
		if !quotes && s != "" {
			return s
		}
		return strconv.QuoteToGraphic(s)
	}
	return string(render(v, nil))
}

// redact returns v with every sensitive value in it replaced.
func redact(v any, s *shape) any {
	if !s.hides() {
		return v
	}
	if s.sensitive {
		return redacted
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = redact(e, s.property(k))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = redact(e, s.item())
		}
		return out
	}
	return redacted
}

// cutBytes cuts text between characters so that it has at most limit bytes.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const dots = "…"
	end := limit - len(dots)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + dots
}
