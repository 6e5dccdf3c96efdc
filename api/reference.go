package api

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
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
	walkStrings(value, "", func(_, s string) {
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
func CheckReferences(value any, path, absent string, known func(id string) bool) []Problem {
	var problems []Problem
	walkStrings(value, path, func(at, s string) {
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
		problems = append(problems, Problem{Path: at, Rule: ruleReference,
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
func (p Plan) Strings(visit func(path, s string)) {
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
	if value, err := DecodeJSON(data); len(data) > 0 && err == nil {
		walkStrings(value, path, visit)
	}
}

// referencesAsWritten returns the references in the strings of a value, in a fixed order, with
// repetitions and malformed ones.
func referencesAsWritten(value any) (found []string) {
	walkStrings(value, "", func(_, s string) {
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

// walkStrings visits the strings of a value with their paths, object members in the order of their
// keys.
func walkStrings(value any, path string, visit func(path, s string)) {
	switch v := value.(type) {
	case string:
		visit(path, v)
	case []any:
		for i, e := range v {
			walkStrings(e, IndexPath(path, i), visit)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			walkStrings(v[k], KeyPath(path, k), visit)
		}
	}
}

func sortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

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
		for _, k := range sortedKeys(v) {
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
	walkStrings(value, "", func(_, s string) {
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
		for _, k := range sortedKeys(v) {
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
		text.WriteString(TextOf(value))
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
	value, depth, ok := walk(value, ref.Path)
	if !ok {
		return nil, fmt.Errorf("%s: the result has no %q", ref, strings.Join(ref.Path[:depth+1],
			"."))
	}
	return value, nil
}

// walk follows a path into a value. If it does not exist, depth is the index of the first missing
// key.
func walk(value any, path []string) (found any, depth int, ok bool) {
	for i, key := range path {
		if value, ok = step(value, key); !ok {
			return nil, i, false
		}
	}
	return value, 0, true
}

// step follows one key of an object, or one index of an array.
func step(value any, key string) (any, bool) {
	switch v := value.(type) {
	case map[string]any:
		next, ok := v[key]
		return next, ok
	case []any:
		i, err := strconv.Atoi(key)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	default:
		return nil, false
	}
}

// TextOf returns a decoded JSON value as text: a string as it is, anything else as compact JSON.
func TextOf(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := EncodeJSON(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// EncodeJSON encodes as encoding/json does, without escaping <, > and &, and without a line end.
func EncodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeJSON decodes one JSON value into the types any, map[string]any, []any, string, bool, nil
// and json.Number, so that large integers keep every digit. Data after the value is an error.
func DecodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err == io.EOF {
		return nil, errors.New("the JSON value is missing")
	} else if err != nil {
		return nil, unreadableJSON(data, err)
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("unexpected text after the JSON value, at byte %d", end)
	}
	return v, nil
}

// maxJSONDepth is the depth limit of encoding/json.
const maxJSONDepth = 10000

// unreadableJSON describes the position where data is not valid JSON; err is the decoder's error.
func unreadableJSON(data []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON value is incomplete")
	}
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || wrong.Offset < 1 || wrong.Offset > int64(len(data)) {
		return err
	}
	if before := data[:wrong.Offset]; bytes.Count(before, []byte("["))+
		bytes.Count(before, []byte("{")) > maxJSONDepth {
		return fmt.Errorf("it is nested more than %d levels deep",
			maxJSONDepth)
	}
	found, _ := utf8.DecodeRune(data[wrong.Offset-1:])
	hint := ""
	if found == '\'' || unicode.IsLetter(found) {
		hint = "; names and strings need double quotes"
	}
	return fmt.Errorf("unexpected %q at byte %d%s", found, wrong.Offset, hint)
}
