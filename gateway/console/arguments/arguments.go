// Package arguments shows the arguments of calls on pages, so that nothing in them is hidden.
package arguments

import (
	"encoding/json"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
)

// Argument is an argument of a call as pages show it.
type Argument struct {
	Name, Text string
	// List has the elements of a list of texts. Code says that Text is JSON.
	List []string
	Code bool

	value any
}

// Of returns the members of an object in their order; nil if data is none.
func Of(data json.RawMessage) []Argument {
	ordered, fault := jsontext.ParseOrdered(data)
	object, ok := ordered.(*jsontext.Object)
	if fault != nil || !ok {
		return nil
	}
	values, _ := jsontext.Parse(string(data))
	members, _ := values.(map[string]any)
	list := []Argument{}
	for _, name := range object.Names() {
		list = append(list, newArgument(name, members[name]))
	}
	return list
}

// newArgument shows a value as jsontext.Parse returns it. A text that would not be seen is quoted.
func newArgument(name string, value any) Argument {
	a := Argument{Name: name, value: value}
	switch v := value.(type) {
	case string:
		if a.Text = v; strings.TrimSpace(v) != v || v == "" {
			a.Text = a.json()
		}
		return a
	case []any:
		a.List = toTexts(v)
		a.Code = a.List == nil
	case map[string]any:
		a.Code = true
	}
	if a.List == nil {
		a.Text = Readable(jsontext.Encode(value, nil))
	}
	return a
}

// toTexts returns the elements of a list of texts that can be seen; nil for another list.
func toTexts(list []any) (texts []string) {
	for _, element := range list {
		text, ok := element.(string)
		if !ok || strings.TrimSpace(text) == "" {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}

func (a Argument) json() string { return string(jsontext.Encode(a.value, nil)) }

// WithoutListing returns the text of an approval without the arguments at its end, which the
// default text lists one per line in the order of the schema. A text that does not list all of them
// stays as it is.
func WithoutListing(text string, arguments []Argument) string {
	left := map[string]bool{}
	for _, a := range arguments {
		value, isText := a.value.(string)
		if !isText {
			value = a.json()
		}
		left["\n"+a.Name+": "+strings.ReplaceAll(value, "\n", "\n    ")] = true
	}
	rest := text
	for found := true; found && len(left) > 0; {
		found = false
		for line := range left {
			if shorter, ends := strings.CutSuffix(rest, line); ends {
				rest, found = shorter, true
				delete(left, line)
			}
		}
	}
	if len(left) > 0 {
		return text
	}
	return rest
}
