package planrules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Reference points into the result of an earlier call: ${id} is the whole result,
// ${id.items.0.name} a part of it.
type Reference struct {
	ID   string
	Path []string
}

func (r Reference) String() string {
	return "${" + strings.Join(append([]string{r.ID}, r.Path...), ".") + "}"
}

// referencePattern matches an escaped dollar, a reference, or the start of an unclosed one. Path
// segments may contain any character but ., { and }.
var referencePattern = regexp.MustCompile(`\$\$\{|\$\{([^{}]*)\}|\$\{`)

const (
	escapedOpening = "$${"
	opening        = "${"
)

// howToEscape and howToRefer end the messages about malformed references.
const (
	howToEscape = "write $${ for a literal ${"
	howToRefer  = "write ${id} or ${id.field.0}, or $${ for a literal ${"
)

// references returns the references in the strings of a JSON value (of the types that encoding/json
// decodes into), in a fixed order, each once. A malformed reference, such as ${} or ${id without a
// brace, is an error; the others are returned with it.
func references(value any) ([]Reference, error) {
	var found []Reference
	var failure error
	seen := map[string]bool{}
	jsonvalue.WalkStrings(value, "", func(_, s string) {
		refs, err := referencesIn(s)
		failure = cmp.Or(failure, err)
		for _, ref := range refs {
			if !seen[ref.String()] {
				seen[ref.String()] = true
				found = append(found, ref)
			}
		}
	})
	return found, failure
}

// CheckReferences returns a problem for every string of a JSON value with a malformed reference, or
// with one to a call that known does not report; absent completes the message, as in "that is not
// in the plan". path is the path of the value.
func CheckReferences(value any, path, absent string, known func(id string) bool) []api.Problem {
	var problems []api.Problem
	jsonvalue.WalkStrings(value, path, func(at, s string) {
		refs, err := referencesIn(s)
		var wrong []string
		for _, r := range refs {
			if !known(r.ID) {
				wrong = append(wrong, fmt.Sprintf("%s refers to a call %q %s", r, r.ID, absent))
			}
		}
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case len(wrong) > 0:
			wrong = append(wrong, howToEscape)
		default:
			return
		}
		problems = append(problems, api.Problem{Path: at, Rule: ruleReference,
			Message: strings.Join(wrong, "; ")})
	})
	return problems
}

// referencesIn returns the references in one string, and the error of the first malformed one.
func referencesIn(s string) (refs []Reference, failure error) {
	for _, m := range referencePattern.FindAllStringSubmatchIndex(s, -1) {
		match := s[m[0]:m[1]]
		if match == escapedOpening {
			continue
		}
		ref, err := parseReference(match, s[m[0]:])
		if err != nil {
			failure = cmp.Or(failure, err)
			continue
		}
		refs = append(refs, ref)
	}
	return refs, failure
}

// parseReference parses a match of referencePattern; rest is the text from there on.
func parseReference(match, rest string) (Reference, error) {
	if match == opening {
		const most = 40
		if runes := []rune(rest); len(runes) > most {
			rest = string(runes[:most]) + "…"
		}
		return Reference{}, fmt.Errorf("%q is a reference that is not closed; %s", rest, howToRefer)
	}
	parts := strings.Split(match[len(opening):len(match)-1], ".")
	for _, p := range parts {
		if strings.TrimSpace(p) == "" {
			return Reference{}, fmt.Errorf("%s is not a reference; %s", match, howToRefer)
		}
	}
	return Reference{ID: parts[0], Path: parts[1:]}, nil
}

// Strings calls visit for every string that can have placeholders of a plan tool's arguments, with
// its path in the plan: those in the arguments of calls, in their ask, and in the output. Invalid
// JSON is skipped, which Check reports.
func Strings(p api.Plan, visit func(path, s string)) {
	for i, c := range p.Calls {
		path := fmt.Sprintf("$.calls[%d]", i)
		visitJSON(c.Arguments, path+".arguments", visit)
		if c.Ask != "" {
			visit(path+".ask", c.Ask)
		}
	}
	visitJSON(p.Output, "$.output", visit)
}

func visitJSON(data json.RawMessage, path string, visit func(path, s string)) {
	if value, err := jsonvalue.Decode(data); len(data) > 0 && err == nil {
		jsonvalue.WalkStrings(value, path, visit)
	}
}

// referencesAsWritten returns the references in the strings of a value, in a fixed order, with
// repetitions and malformed ones.
func referencesAsWritten(value any) (found []string) {
	jsonvalue.WalkStrings(value, "", func(_, s string) {
		refs, err := referencesIn(s)
		for _, ref := range refs {
			found = append(found, ref.String())
		}
		if err != nil {
			found = append(found, err.Error())
		}
	})
	return found
}

// Resolve returns value with its references replaced by the results that lookup returns for call
// ids. A string that is one reference becomes the value itself; a reference within text becomes
// text. $${ is a literal ${. A malformed reference, an unknown id, or a path that does not exist is
// an error.
func Resolve(value any, lookup func(id string) (any, bool)) (any, error) {
	switch v := value.(type) {
	case string:
		return resolveString(v, lookup)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := Resolve(e, lookup)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range jsonvalue.SortedKeys(v) {
			r, err := Resolve(v[k], lookup)
			if err != nil {
				return nil, err
			}
			out[k] = r
		}
		return out, nil
	default:
		return value, nil
	}
}

// ResolvedSize returns about how many bytes of JSON a value has once its references are resolved,
// if size returns that of each reference. It resolves nothing.
func ResolvedSize(value any, size func(Reference) int) (bytes int) {
	jsonvalue.WalkStrings(value, "", func(_, s string) {
		refs, _ := referencesIn(s)
		for _, ref := range refs {
			bytes += size(ref)
		}
	})
	return bytes
}

// escapeReferences escapes every ${ in the strings of a value, so that Resolve returns the
// original.
func escapeReferences(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ReplaceAll(v, opening, escapedOpening)
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = escapeReferences(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range jsonvalue.SortedKeys(v) {
			out[k] = escapeReferences(v[k])
		}
		return out
	}
	return value
}

func resolveString(s string, lookup func(string) (any, bool)) (any, error) {
	var text strings.Builder
	end := 0
	for _, m := range referencePattern.FindAllStringIndex(s, -1) {
		text.WriteString(s[end:m[0]])
		end = m[1]
		match := s[m[0]:m[1]]
		if match == escapedOpening {
			text.WriteString(opening)
			continue
		}
		value, err := resolveOne(match, s[m[0]:], lookup)
		if err != nil {
			return nil, err
		}
		if match == s {
			return value, nil
		}
		text.WriteString(jsonvalue.Text(value))
	}
	return text.String() + s[end:], nil
}

func resolveOne(match, rest string, lookup func(string) (any, bool)) (any, error) {
	ref, err := parseReference(match, rest)
	if err != nil {
		return nil, err
	}
	value, ok := lookup(ref.ID)
	if !ok {
		return nil, fmt.Errorf("%s: there is no result of a call %q", ref, ref.ID)
	}
	value, depth, ok := jsonvalue.Lookup(value, ref.Path)
	if !ok {
		return nil, fmt.Errorf("%s: the result has no %q", ref, strings.Join(ref.Path[:depth+1],
			"."))
	}
	return value, nil
}
