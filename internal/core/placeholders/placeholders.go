// Package placeholders fills the placeholders {{args.x}}, {{result.x}} and {{call.key}} of calls
// that a run makes itself.
package placeholders

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Source has the values of placeholders.
type Source struct {
	// Arguments are the validated arguments of the call that placeholders speak of.
	Arguments json.RawMessage
	// Result is nil if it is unknown: the call may have acted without returning.
	Result *api.Result
	// Key is the call's idempotency key.
	Key string
	// Decoded are the arguments if they are decoded already.
	Decoded any
}

var pattern = regexp.MustCompile(`\{\{\s*([^{}]*?)\s*\}\}`)

// The sources of a Placeholder: the arguments, the result, and the call itself.
const (
	Arguments = "args"
	Result    = "result"
	call      = "call"
)

// Placeholder is one placeholder: {{result.items.0}} has the Source result and the Path items,
// 0.
type Placeholder struct {
	// Text is the placeholder as written.
	Text, Source string
	Path         []string
}

// Find returns the placeholders in a string in order, invalid ones included.
func Find(s string) []Placeholder {
	var found []Placeholder
	for _, m := range pattern.FindAllStringSubmatch(s, -1) {
		found = append(found, parse(m[0], m[1]))
	}
	return found
}

func parse(text, inside string) Placeholder {
	parts := strings.Split(inside, ".")
	return Placeholder{Text: text, Source: parts[0], Path: parts[1:]}
}

// Legal reports whether a placeholder is well formed and has a known source.
func (p Placeholder) Legal() bool {
	switch {
	case slices.Contains(p.Path, ""):
		return false
	case p.Source == call:
		return len(p.Path) == 1 && p.Path[0] == "key"
	}
	return p.Source == Result || p.Source == Arguments && len(p.Path) > 0
}

// HasStray reports whether a string has double braces that belong to no placeholder.
func HasStray(s string) bool {
	rest := pattern.ReplaceAllString(s, "…")
	return strings.Contains(rest, "{{") || strings.Contains(rest, "}}")
}

// Fill fills a template. keep is false for the placeholder of an argument that the call does not
// have, which is left out.
func (s Source) Fill(template any) (value any, keep bool, err error) {
	switch template := template.(type) {
	case string:
		return s.text(template)
	case []any:
		list := make([]any, 0, len(template))
		for _, e := range template {
			item, keep, err := s.Fill(e)
			if err != nil {
				return nil, false, err
			}
			if keep {
				list = append(list, item)
			}
		}
		return list, true, nil
	case map[string]any:
		return s.object(template)
	}
	return template, true, nil
}

func (s Source) object(template map[string]any) (value any, keep bool, err error) {
	object := make(map[string]any, len(template))
	for _, k := range jsonvalue.SortedKeys(template) {
		member, keep, err := s.Fill(template[k])
		if err != nil {
			return nil, false, err
		}
		if keep {
			object[k] = member
		}
	}
	return object, true, nil
}

func (s Source) text(template string) (value any, keep bool, err error) {
	var text strings.Builder
	end := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(template, -1) {
		p := parse(template[m[0]:m[1]], template[m[2]:m[3]])
		value, there, err := s.lookup(p)
		if err != nil {
			return nil, false, err
		}
		if p.Text == template {
			return value, there, nil
		}
		text.WriteString(template[end:m[0]])
		if there {
			text.WriteString(jsonvalue.Text(value))
		}
		end = m[1]
	}
	return text.String() + template[end:], true, nil
}

// lookup returns the value of a placeholder; there is false for an argument that the call does not
// have.
func (s Source) lookup(p Placeholder) (value any, there bool, err error) {
	switch {
	case !p.Legal():
		return nil, false, fmt.Errorf("%s is not a placeholder", p.Text)
	case p.Source == call:
		return s.Key, true, nil
	case p.Source == Arguments:
		return s.argument(p)
	case s.Result == nil:
		return nil, false, fmt.Errorf(
			"%s: the result of the call is unknown; it may have taken effect", p.Text)
	case s.Result.Cut > 0:
		return nil, false, fmt.Errorf(
			"%s: %d bytes of the result were cut; raise the tool's max_result", p.Text,
			s.Result.Cut)
	}
	if value, err = jsonvalue.Decode(s.Result.Output); err != nil {
		return nil, false, fmt.Errorf("%s: the result is not JSON: %w", p.Text, err)
	}
	value, depth, there := jsonvalue.Lookup(value, p.Path)
	if !there {
		return nil, false, fmt.Errorf("%s: the result has no %q", p.Text,
			strings.Join(p.Path[:depth+1], "."))
	}
	return value, true, nil
}

// argument returns the value of a placeholder of an argument.
func (s Source) argument(p Placeholder) (value any, there bool, err error) {
	if value = s.Decoded; value == nil {
		if value, err = jsonvalue.Decode(s.Arguments); err != nil {
			return nil, false, fmt.Errorf("%s: the call's arguments are not JSON: %w", p.Text, err)
		}
	}
	value, _, there = jsonvalue.Lookup(value, p.Path)
	return value, there, nil
}
