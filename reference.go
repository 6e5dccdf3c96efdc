package switchyard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Reference points into the result of an earlier call: ${id} is the whole result, ${id.items.0.name} a part of it.
type Reference struct {
	ID   string
	Path []string
}

func (r Reference) String() string {
	return "${" + strings.Join(append([]string{r.ID}, r.Path...), ".") + "}"
}

// referencePattern matches an escaped dollar or a reference. Path segments may hold any character but ., { and }.
var referencePattern = regexp.MustCompile(`\$\$\{|\$\{([^{}]*)\}`)

// References returns the references in the strings of a JSON value (of the types that encoding/json decodes into), in
// a fixed order, each once. A malformed one, such as ${}, is an error.
func References(value any) ([]Reference, error) {
	var found []Reference
	seen := map[string]bool{}
	err := walkStrings(value, func(s string) error {
		for _, m := range referencePattern.FindAllStringSubmatch(s, -1) {
			if m[0] == "$${" {
				continue
			}
			ref, err := parseReference(m[1])
			if err != nil {
				return err
			}
			if !seen[ref.String()] {
				seen[ref.String()] = true
				found = append(found, ref)
			}
		}
		return nil
	})
	return found, err
}

func parseReference(body string) (Reference, error) {
	parts := strings.Split(body, ".")
	for _, p := range parts {
		if strings.TrimSpace(p) == "" {
			return Reference{}, fmt.Errorf("${%s} is not a reference; write ${id} or ${id.field.0}", body)
		}
	}
	return Reference{ID: parts[0], Path: parts[1:]}, nil
}

func walkStrings(value any, visit func(string) error) error {
	switch v := value.(type) {
	case string:
		return visit(v)
	case []any:
		for _, e := range v {
			if err := walkStrings(e, visit); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if err := walkStrings(v[k], visit); err != nil {
				return err
			}
		}
	}
	return nil
}

// Resolve returns value with its references replaced by what lookup gives for a call's id. A string that is nothing
// but one reference becomes the value itself, of whatever type; a reference within text becomes text. $${ stands for
// a literal ${. An id that lookup does not know, or a path that leads nowhere, is an error.
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
		for _, k := range slices.Sorted(maps.Keys(v)) {
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

func resolveString(s string, lookup func(string) (any, bool)) (any, error) {
	if m := referencePattern.FindStringSubmatch(s); m != nil && m[0] == s && m[0] != "$${" {
		return resolveOne(m[1], lookup)
	}
	var failure error
	text := referencePattern.ReplaceAllStringFunc(s, func(m string) string {
		if m == "$${" {
			return "${"
		}
		v, err := resolveOne(m[2:len(m)-1], lookup)
		if err != nil {
			failure = err
			return m
		}
		return TextOf(v)
	})
	if failure != nil {
		return nil, failure
	}
	return text, nil
}

func resolveOne(body string, lookup func(string) (any, bool)) (any, error) {
	ref, err := parseReference(body)
	if err != nil {
		return nil, err
	}
	value, ok := lookup(ref.ID)
	if !ok {
		return nil, fmt.Errorf("%s: there is no result of a call %q", ref, ref.ID)
	}
	for i, key := range ref.Path {
		next, ok := step(value, key)
		if !ok {
			return nil, fmt.Errorf("%s: the result has no %q", ref, strings.Join(ref.Path[:i+1], "."))
		}
		value = next
	}
	return value, nil
}

// step goes one key into an object, or one index into an array.
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

// EncodeJSON encodes as encoding/json does, but leaves <, > and & as they are, and adds no line end.
func EncodeJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// DecodeJSON decodes one JSON value into the types any, map[string]any, []any, string, bool, nil and json.Number: big
// integers keep every digit. Anything after the value is an error.
func DecodeJSON(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err == io.EOF {
		return nil, errors.New("there is no JSON value, only nothing or blanks")
	} else if err != nil {
		return nil, err
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is something after the JSON value, at byte %d", end)
	}
	return v, nil
}
