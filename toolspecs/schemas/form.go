package schemas

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/validator"
)

// Form validates a person's answer or a tool's result.
type Form struct {
	schema *validator.Schema
	shape  *Shape
}

// NewForm compiles a JSON Schema, by default of draft 2020-12, that refers only to itself. No
// schema makes a form that every JSON value fits.
func NewForm(schema json.RawMessage) (*Form, error) {
	if len(schema) == 0 {
		return &Form{}, nil
	}
	compiled, err := validator.Compile(schema)
	if err != nil {
		return nil, fmt.Errorf("this is not a usable JSON Schema: %w", err)
	}
	return &Form{schema: compiled}, nil
}

// Check returns everything that is wrong with a value.
func (f *Form) Check(value json.RawMessage) []api.Problem {
	v, err := jsontext.Parse(string(value))
	if err != nil {
		return []api.Problem{{Path: err.Path(), Rule: err.Rule,
			Message: "the result is not usable JSON: " + err.Error()}}
	}
	if f.schema == nil {
		return nil
	}
	return sortProblems(validate(v, f.schema, f.shape))
}

// Shape returns the outline of the values that fit; nil where nothing is known of it.
func (f *Form) Shape() *Shape { return f.shape }

// Compile compiles a JSON Schema and also returns it in compact form. A nil shape is derived from
// the schema. checked is what Check returned for this schema, or nil.
func Compile(schema json.RawMessage, s *Shape, checked *Form) (*Form, json.RawMessage, error) {
	tidy, err := jsontext.Compact(schema)
	if err != nil {
		return nil, nil, err
	}
	if s == nil {
		s = ShapeFromSchema(Decode(tidy), "")
	}
	if checked != nil {
		return &Form{schema: checked.schema, shape: s}, tidy, nil
	}
	compiled, err := validator.Compile(tidy)
	if err != nil {
		return nil, nil, err
	}
	return &Form{schema: compiled, shape: s}, tidy, nil
}

// Values returns the problems of a decoded value, including undeclared properties.
func (f *Form) Values(value any) []api.Problem { return checkShaped(value, f.schema, f.shape) }

// Arguments reads the text of a call's arguments and returns them validated, as
// toolspecs.Compiled.Arguments describes.
func (f *Form) Arguments(text string, lenient bool) (args json.RawMessage, notes []string,
	problems []api.Problem) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	value, jsonErr := jsontext.Parse(text)
	if jsonErr != nil {
		message := jsonErr.Error()
		if jsonErr.Rule == jsontext.RuleSyntax {
			message = "the arguments are not valid JSON: " + message
			return nil, nil, []api.Problem{{Path: jsonpath.Root, Rule: jsontext.RuleSyntax,
				Message: message}}
		}
		path := jsonErr.Path()
		if jsonErr.Rule == jsontext.RuleLimit {
			path, message = jsonpath.Root, "the arguments are too large: "+message
		}
		return nil, nil, []api.Problem{{Path: path, Rule: jsonErr.Rule, Message: message}}
	}
	if _, ok := value.(map[string]any); !ok {
		message := "the arguments must be an object, such as {}, not " +
			describe(place{value: value, hidden: true})
		return nil, nil, []api.Problem{{Path: jsonpath.Root, Rule: api.RuleType, Message: message}}
	}
	p := preparer{lenient: lenient}
	p.value(value, f.shape)
	problems = append(p.problems, validate(value, f.schema, f.shape)...)
	if len(problems) > 0 {
		return nil, p.notes, sortProblems(problems)
	}
	return render(value, f.shape), p.notes, nil
}

// Decode returns a raw JSON value as the parser makes it; nil where it is broken, which checks
// have reported.
func Decode(raw json.RawMessage) any {
	v, err := jsontext.ParseOrdered(raw)
	if err != nil {
		return nil
	}
	return v
}

func Encode(v any) json.RawMessage {
	return render(v, nil)
}
