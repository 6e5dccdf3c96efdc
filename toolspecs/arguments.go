package toolspecs

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
)

// Arguments reads the text of a call's arguments as its caller wrote it and returns them validated: compact JSON,
// declared arguments in their declared order, then others sorted, defaults filled in at any depth. An empty text is
// an empty object. problems are all that is wrong, at most 100 and a last one that counts the rest; with any there are
// no arguments. notes tell what was dropped or read as another type.
//
// mode decides how undeclared arguments and numbers in quotes are treated; empty leaves it to the spec, whose default
// is strict.
func (c *Compiled) Arguments(text string, mode api.Mode) (args json.RawMessage, notes []string, problems []api.Problem) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	value, jsonErr := jsontext.Parse(text)
	if jsonErr != nil {
		message := jsonErr.Error()
		if jsonErr.Rule == jsontext.RuleSyntax {
			message = "the arguments are not valid JSON: " + message
			return nil, nil, []api.Problem{{Path: jsonpath.Root, Rule: jsontext.RuleSyntax, Message: message}}
		}
		return nil, nil, []api.Problem{{Path: jsonErr.Path(), Rule: jsonErr.Rule, Message: message}}
	}
	if _, ok := value.(map[string]any); !ok {
		message := "the arguments must be an object, such as {}, not " + described(place{value: value, hidden: true})
		return nil, nil, []api.Problem{{Path: jsonpath.Root, Rule: api.RuleType, Message: message}}
	}
	p := preparer{lenient: cmp.Or(mode, c.Spec.Execution.Arguments) == api.ModeLenient}
	p.value(value, c.inputShape)
	problems = append(p.problems, validate(value, c.input, c.inputShape)...)
	if len(problems) > 0 {
		return nil, p.notes, sorted(problems)
	}
	return render(value, c.inputShape), p.notes, nil
}
