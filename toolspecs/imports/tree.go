package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// maxDocument bounds a document in bytes; the largest known ones have 15 MB.
const maxDocument = 64 << 20

// parsed reads a JSON or YAML document. Faults that do not prevent reading, such as repeated keys,
// become notes. The error is Faults if the document cannot be read.
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

// treeOf returns a JSON value with *object for objects and json.Number for numbers; nil if it is
// not JSON.
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
		o := jsontext.NewObject()
		for d.More() {
			key, _ := d.Token()
			name, _ := key.(string)
			o.Set(name, nextValue(d))
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
func encoded(value any) json.RawMessage { return jsontext.Encode(value, nil) }

// same reports whether two values are equal, keys in the same order.
func same(a, b any) bool {
	switch a := a.(type) {
	case *jsontext.Object:
		b, ok := b.(*jsontext.Object)
		return ok && slices.Equal(a.Names(), b.Names()) &&
			!slices.ContainsFunc(a.Names(), func(key string) bool {
				return !same(a.Members[key],
					b.Members[key])
			})
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, same)
	}
	switch b.(type) {
	case *jsontext.Object, []any:
		return false
	}
	return a == b
}

// pointed returns the target of a reference such as #/components/schemas/Pet. It does not follow a
// second reference.
func pointed(root any, ref string) (any, error) {
	fragment, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil, fmt.Errorf(
			"it refers to another document, %s; bundle the documents into one first", ref)
	}
	if unescaped, err := url.PathUnescape(fragment); err == nil {
		fragment = unescaped
	}
	if fragment == "" {
		return nil, nil
	}
	value, ok := jsontext.At(root, "/"+strings.TrimPrefix(fragment, "/"))
	if !ok {
		return nil, fmt.Errorf("it refers to %s, which does not exist", ref)
	}
	return value, nil
}

// chased follows references to a value. The error names the reference that failed.
func chased(root, value any) (*jsontext.Object, error) {
	for range 100 {
		o, ok := value.(*jsontext.Object)
		if !ok {
			return nil, fmt.Errorf("an object is expected, not %.80s", encoded(value))
		}
		ref, ok := o.Get("$ref").(string)
		if !ok {
			return o, nil
		}
		next, err := pointed(root, ref)
		if err != nil {
			return nil, err
		}
		value = next
	}
	return nil, fmt.Errorf("its references form a cycle")
}
