package tools

import (
	"context"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

// maxStringOutput bounds the result of an operation, in bytes.
const maxStringOutput = 1 << 20

// maxParts bounds the parts of split.
const maxParts = 10_000

type stringInput struct {
	Operation   string   `json:"operation"`
	Text        string   `json:"text,omitempty"`
	Separator   *string  `json:"separator,omitempty"`
	Parts       []string `json:"parts,omitempty"`
	Old         string   `json:"old,omitempty"`
	Replacement string   `json:"replacement,omitempty"`
	Characters  string   `json:"characters,omitempty"`
}

type stringOutput struct {
	Result any `json:"result"`
}

var stringOperations = map[string]func(stringInput) (any, error){
	"length": func(in stringInput) (any, error) {
		return utf8.RuneCountInString(in.Text), nil
	},
	"upper":   func(in stringInput) (any, error) { return strings.ToUpper(in.Text), nil },
	"lower":   func(in stringInput) (any, error) { return strings.ToLower(in.Text), nil },
	"trim":    trim,
	"split":   split,
	"join":    join,
	"replace": replace,
}

// stringTool returns the tool for texts. Lengths count characters (Unicode code points).
func stringTool() tool.Function {
	return tool.NewFunction("string", func(_ context.Context, in stringInput) (stringOutput,
		error) {
		operation, ok := stringOperations[in.Operation]
		if !ok {
			return stringOutput{}, invalid("operation", "%q is not an operation; there are %s",
				in.Operation, keys(stringOperations))
		}
		result, err := operation(in)
		return stringOutput{Result: result}, err
	})
}

func keys[V any](m map[string]V) string { return strings.Join(slices.Sorted(maps.Keys(m)), ", ") }

func tooLong() error {
	return api.Errorf(api.ErrExecution, "the result would have more than %d bytes; work on a "+
		"part of the text", maxStringOutput)
}

func trim(in stringInput) (any, error) {
	if in.Characters != "" {
		return strings.Trim(in.Text, in.Characters), nil
	}
	return strings.TrimSpace(in.Text), nil
}

// split splits at the separator: without one at runs of white space, with an empty one into
// characters.
func split(in stringInput) (any, error) {
	if in.Separator == nil {
		return checkParts(strings.Fields(in.Text))
	}
	return checkParts(strings.SplitN(in.Text, *in.Separator, maxParts+1))
}

func checkParts(parts []string) (any, error) {
	if len(parts) > maxParts {
		return nil, api.Errorf(api.ErrExecution, "there are more than %d parts; work on a part "+
			"of the text", maxParts)
	}
	return parts, nil
}

func join(in stringInput) (any, error) {
	separator := ""
	if in.Separator != nil {
		separator = *in.Separator
	}
	size := len(separator) * len(in.Parts)
	for _, p := range in.Parts {
		size += len(p)
	}
	if size > maxStringOutput {
		return nil, tooLong()
	}
	return strings.Join(in.Parts, separator), nil
}

func replace(in stringInput) (any, error) {
	if in.Old == "" {
		return nil, invalid("old", "the text to replace is empty")
	}
	if n := strings.Count(in.Text,
		in.Old); len(in.Text)+n*(len(in.Replacement)-len(in.Old)) > maxStringOutput {
		return nil, tooLong()
	}
	return strings.ReplaceAll(in.Text, in.Old, in.Replacement), nil
}
