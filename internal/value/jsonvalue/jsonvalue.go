// Package jsonvalue reads and writes JSON values whose numbers keep every digit, and finds
// values in them by path.
package jsonvalue

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
	"unicode"
	"unicode/utf8"
)

// Plain returns the content of a JSON string, or the compact JSON of any other value. It is the
// same before and after the value passed through encoding/json, which escapes some characters.
func Plain(value json.RawMessage) string {
	var s string
	if bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte{'"'}) &&
		json.Unmarshal(value, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return unescape(b.String())
}

// escapes are the escapes that encoding/json writes although JSON does not require them.
var escapes = map[string]string{"u003c": "<", "u003e": ">", "u0026": "&", "u2028": "\u2028",
	"u2029": "\u2029"}

func unescape(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		if plain, ok := escapes[text[i+1:min(i+6, len(text))]]; ok {
			b.WriteString(plain)
			i += 5
			continue
		}
		b.WriteString(text[i : i+2])
		i++
	}
	return b.String()
}

// plainKey matches keys that need no quotes in a path.
var plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// KeyPath returns the path of an object's member, as in Problem.Path: $.name, or $["two words"]
// where key is not an identifier. path is that of the object.
func KeyPath(path, key string) string {
	if plainKey.MatchString(key) {
		return path + "." + key
	}
	quoted, err := Encode(key)
	if err != nil {
		quoted = []byte(strconv.Quote(key))
	}
	return path + "[" + string(quoted) + "]"
}

// IndexPath returns the path of an array's element, as in Problem.Path: $[2]. path is that of the
// array.
func IndexPath(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// WalkStrings visits the strings of a value with their paths, object members in the order of their
// keys.
func WalkStrings(value any, path string, visit func(path, s string)) {
	switch v := value.(type) {
	case string:
		visit(path, v)
	case []any:
		for i, e := range v {
			WalkStrings(e, IndexPath(path, i), visit)
		}
	case map[string]any:
		for _, k := range SortedKeys(v) {
			WalkStrings(v[k], KeyPath(path, k), visit)
		}
	}
}

// SortedKeys returns the keys of an object, sorted.
func SortedKeys(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// Lookup follows a path into a value. If it does not exist, depth is the index of the first missing
// key.
func Lookup(value any, path []string) (found any, depth int, ok bool) {
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

// Text returns a decoded JSON value as text: a string as it is, anything else as compact JSON.
func Text(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, err := Encode(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(data)
}

// Encode encodes as encoding/json does, without escaping <, > and &, and without a line end.
func Encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Decode decodes one JSON value into the types any, map[string]any, []any, string, bool, nil
// and json.Number, so that large integers keep every digit. Data after the value is an error.
func Decode(data []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err == io.EOF {
		return nil, errors.New("the JSON value is missing")
	} else if err != nil {
		return nil, unreadable(data, err)
	}
	end := d.InputOffset()
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("unexpected text after the JSON value, at byte %d", end)
	}
	return v, nil
}

// maxDepth is the depth limit of encoding/json.
const maxDepth = 10000

// unreadable describes the position where data is not valid JSON; err is the decoder's error.
func unreadable(data []byte, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON value is incomplete")
	}
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || wrong.Offset < 1 || wrong.Offset > int64(len(data)) {
		return err
	}
	if before := data[:wrong.Offset]; bytes.Count(before, []byte("["))+
		bytes.Count(before, []byte("{")) > maxDepth {
		return fmt.Errorf("it is nested more than %d levels deep", maxDepth)
	}
	found, _ := utf8.DecodeRune(data[wrong.Offset-1:])
	hint := ""
	if found == '\'' || unicode.IsLetter(found) {
		hint = "; names and strings need double quotes"
	}
	return fmt.Errorf("unexpected %q at byte %d%s", found, wrong.Offset, hint)
}
