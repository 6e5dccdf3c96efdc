package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// maxDocument bounds a document in bytes; the largest known ones have 15 MB.
const maxDocument = 64 << 20

// object is a JSON object with its keys in the document's order: models are shown arguments in that order. A nil object
// is empty.
type object struct {
	keys   []string
	values map[string]any
}

func newObject() *object { return &object{values: map[string]any{}} }

func (o *object) names() []string {
	if o == nil {
		return nil
	}
	return o.keys
}

func (o *object) get(key string) any {
	if o == nil {
		return nil
	}
	return o.values[key]
}

func (o *object) has(key string) bool {
	if o == nil {
		return false
	}
	_, ok := o.values[key]
	return ok
}

func (o *object) set(key string, value any) {
	if _, again := o.values[key]; !again {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

func (o *object) drop(key string) {
	if o.has(key) {
		delete(o.values, key)
		o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
	}
}

// copied returns an object with the same keys and values, which can be changed by itself.
func (o *object) copied() *object {
	c := newObject()
	for _, key := range o.names() {
		c.set(key, o.values[key])
	}
	return c
}

// as returns the member of that key if it has the type T, else T's zero value.
func as[T any](o *object, key string) T {
	value, _ := o.get(key).(T)
	return value
}

// parsed reads a JSON or YAML document; what is odd in it and can be read all the same, such as a repeated key, becomes a
// note. The error is Faults and says where the document cannot be read.
func parsed(file string, data []byte) (root any, notes []string, err error) {
	doc, faults := strictyaml.ParseOne(file, data, maxDocument)
	if err := faults.Err(); err != nil {
		return nil, nil, err
	}
	var raw json.RawMessage
	doc.Decode(&raw)
	for _, fault := range doc.Faults() {
		notes = append(notes, fault.String())
	}
	return treeOf(raw), notes, nil
}

// treeOf is a JSON value with *object for objects and json.Number for numbers; nil where it is no JSON.
func treeOf(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return nextValue(d)
}

func nextValue(d *json.Decoder) any {
	token, err := d.Token()
	if err != nil {
		return nil
	}
	switch token {
	case json.Delim('{'):
		o := newObject()
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			o.set(name, nextValue(d))
		}
		_, _ = d.Token() // the closing brace
		return o
	case json.Delim('['):
		list := []any{}
		for d.More() {
			list = append(list, nextValue(d))
		}
		_, _ = d.Token()
		return list
	}
	return token
}

// encoded writes a value as compact JSON.
func encoded(value any) json.RawMessage { return appendJSON(nil, value) }

func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case *object:
		b = append(b, '{')
		for i, key := range v.names() {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSON(b, key), ':')
			b = appendJSON(b, v.values[key])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, e)
		}
		return append(b, ']')
	}
	if text, ok := value.(string); ok && plainASCII(text) {
		return append(append(append(b, '"'), text...), '"')
	}
	// What is left are strings, numbers, truths and null: they can always be encoded.
	data, _ := api.EncodeJSON(value)
	return append(b, data...)
}

// plainASCII reports whether a string stands in JSON as it is.
func plainASCII(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			return false
		}
	}
	return true
}

// same reports whether two values are equal, keys in the same order.
func same(a, b any) bool {
	switch a := a.(type) {
	case *object:
		b, ok := b.(*object)
		return ok && slices.Equal(a.names(), b.names()) &&
			!slices.ContainsFunc(a.names(), func(key string) bool { return !same(a.values[key], b.values[key]) })
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	}
	switch b.(type) {
	case *object, []any:
		return false
	}
	return a == b
}

// pointed returns what a reference such as #/components/schemas/Pet leads to. It does not follow a second one.
func pointed(root any, ref string) (any, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf("it refers to another document, %s; bundle the documents into one first", ref)
	}
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	value := root
	for token := range strings.SplitSeq(strings.TrimPrefix(fragment, "/"), "/") {
		next, ok := entry(value, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if !ok && fragment != "" {
			return nil, fmt.Errorf("it refers to %s, and there is nothing at that place", ref)
		}
		value = next
	}
	return value, nil
}

func entry(value any, token string) (any, bool) {
	switch v := value.(type) {
	case *object:
		return v.get(token), v.has(token)
	case []any:
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(v) {
			return nil, false
		}
		return v[i], true
	}
	return nil, false
}

// chased follows references until there is something else. The error says of which reference nothing came.
func chased(root, value any) (*object, error) {
	for range 100 {
		o, ok := value.(*object)
		if !ok {
			return nil, fmt.Errorf("an object is expected, not %.80s", encoded(value))
		}
		ref, ok := o.get("$ref").(string)
		if !ok {
			return o, nil
		}
		next, err := pointed(root, ref)
		if err != nil {
			return nil, err
		}
		value = next
	}
	return nil, fmt.Errorf("its references lead in a circle")
}
