// Package templates fills the placeholders {{args.name}} of toolspecs with the arguments of a call.
package templates

import (
	"encoding/json"
	"regexp"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// placeholder matches {{args.name}}. Anything else in braces, such as another program's own
// templates, is left alone.
var placeholder = regexp.MustCompile(`\{\{\s*args\.([^{}\s]+)\s*\}\}`)

// Values returns the arguments of a call by name. args is a JSON object, or nothing; anything else
// is a validation_error.
func Values(args json.RawMessage) (map[string]any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	value, err := jsonvalue.Decode(args)
	if err != nil {
		return nil, api.Errorf(api.ErrValidation, "the arguments are not JSON: %v", err)
	}
	values, ok := value.(map[string]any)
	if !ok {
		return nil, api.Errorf(api.ErrValidation, "the arguments are not a JSON object")
	}
	return values, nil
}

// Names returns the names of the arguments that a template has placeholders for, in order of
// appearance.
func Names(template string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(template, -1) {
		names = append(names, m[1])
	}
	return names
}

// Only returns the name of the argument if its placeholder is the whole template.
func Only(template string) (name string, ok bool) {
	m := placeholder.FindStringSubmatch(template)
	if m == nil || m[0] != template {
		return "", false
	}
	return m[1], true
}

// Text fills a template: strings as they are, other values as JSON, absent ones as nothing. keep is
// false for a template that is nothing but the placeholder of an absent argument.
func Text(template string, values map[string]any) (text string, keep bool) {
	return Fill(template, values, jsonvalue.Text)
}

// Fill is Text with another way to write a value.
func Fill(template string, values map[string]any, write func(value any) string) (text string,
	keep bool) {
	if name, ok := Only(template); ok {
		value, given := values[name]
		if !given {
			return "", false
		}
		return write(value), true
	}
	return placeholder.ReplaceAllStringFunc(template, func(match string) string {
		value, given := values[placeholder.FindStringSubmatch(match)[1]]
		if !given {
			return ""
		}
		return write(value)
	}), true
}
