package command

import (
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/templates"
)

// expandArgv returns argv with its placeholders replaced by the arguments: strings unchanged, other
// values as JSON. An element that consists of the placeholder of an absent argument is omitted;
// within text such a placeholder becomes empty. Every element stays one element, whatever the
// argument contains.
func expandArgv(argv []string, args json.RawMessage) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" || len(templates.Names(argv[0])) > 0 {
		return nil, api.Errorf(api.ErrExecutorNotFound,
			"the command has no program: the first element of entry.argv must name one, without a placeholder")
	}
	values, err := templates.Values(args)
	if err != nil {
		return nil, err
	}
	expanded := []string{argv[0]}
	var problems []api.Problem
	for _, element := range argv[1:] {
		text, keep := templates.Text(element, values)
		if keep {
			expanded = append(expanded, text)
		}
		if strings.ContainsRune(text, 0) {
			problems = append(problems, api.Problem{Path: toPath(element), Rule: "nul",
				Message: "the value contains a NUL character, which no program can take as an argument"})
		}
	}
	if len(problems) > 0 {
		e := api.Errorf(api.ErrValidation, "the arguments cannot be passed to the program")
		e.Problems = problems
		return nil, e
	}
	return expanded, nil
}

func toPath(element string) string {
	names := templates.Names(element)
	if len(names) == 0 {
		return "$"
	}
	return "$." + names[0]
}
