package activities

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard"
)

// placeholder matches {{args.name}}. Anything else in braces, such as another program's own templates, is left alone.
var placeholder = regexp.MustCompile(`\{\{\s*args\.([^{}\s]+)\s*\}\}`)

// expandArgv returns argv with its placeholders replaced by the arguments: strings as they are, other values as JSON.
// An element that is nothing but the placeholder of an absent argument is left out; within text it becomes nothing.
// Every element stays one element, whatever the argument holds.
func expandArgv(argv []string, args json.RawMessage) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" || placeholder.MatchString(argv[0]) {
		return nil, switchyard.Errorf(switchyard.ErrExecutorNotFound,
			"the command has no program: the first element of entry.argv must name one, without a placeholder")
	}
	values, err := argumentValues(args)
	if err != nil {
		return nil, err
	}
	expanded := []string{argv[0]}
	var problems []switchyard.Problem
	for _, element := range argv[1:] {
		text, keep := expand(element, values)
		if keep {
			expanded = append(expanded, text)
		}
		if strings.ContainsRune(text, 0) {
			problems = append(problems, switchyard.Problem{Path: pathOf(element), Rule: "nul",
				Message: "the value contains a NUL character, which no program can take as an argument"})
		}
	}
	if len(problems) > 0 {
		e := switchyard.Errorf(switchyard.ErrValidation, "the arguments cannot be passed to the program")
		e.Problems = problems
		return nil, e
	}
	return expanded, nil
}

func argumentValues(args json.RawMessage) (map[string]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	value, err := switchyard.DecodeJSON(args)
	if err != nil {
		return nil, switchyard.Errorf(switchyard.ErrValidation, "the arguments are no JSON: %v", err)
	}
	values, ok := value.(map[string]any)
	if !ok {
		return nil, switchyard.Errorf(switchyard.ErrValidation, "the arguments are no JSON object")
	}
	return values, nil
}

func expand(element string, values map[string]any) (text string, keep bool) {
	if m := placeholder.FindStringSubmatch(element); m != nil && m[0] == element {
		value, ok := values[m[1]]
		if !ok {
			return "", false
		}
		return switchyard.TextOf(value), true
	}
	return placeholder.ReplaceAllStringFunc(element, func(match string) string {
		value, ok := values[placeholder.FindStringSubmatch(match)[1]]
		if !ok {
			return ""
		}
		return switchyard.TextOf(value)
	}), true
}

func pathOf(element string) string {
	m := placeholder.FindStringSubmatch(element)
	if m == nil {
		return "$"
	}
	return fmt.Sprintf("$.%s", m[1])
}
