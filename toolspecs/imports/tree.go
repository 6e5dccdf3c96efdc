package imports

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs"
)

// maxDocument bounds a document in bytes; the largest known ones have 15 MB.
const maxDocument = 64 << 20

// parse reads a JSON or YAML document. Faults that do not prevent reading, such as repeated keys,
// become notes. The error is Faults if the document cannot be read.
func parse(file string, data []byte) (root any, notes []string, err error) {
	doc, faults := strictyaml.ParseOne(file, data, maxDocument)
	if err := faults.Err(); err != nil {
		return nil, nil, err
	}
	var raw json.RawMessage
	doc.Decode(&raw)
	for _, fault := range doc.Faults() {
		notes = append(notes, fault.String())
	}
	if len(raw) == 0 {
		return nil, notes, nil
	}
	root, wrong := jsontext.ParseOrdered(raw)
	if wrong != nil {
		return nil, nil, toolspecs.Faults{{File: file, Message: wrong.Error()}}
	}
	return root, notes, nil
}

// treeOf returns a JSON text as objects, lists and values; nil if it is not JSON.
func treeOf(raw json.RawMessage) any {
	tree, err := jsontext.ParseOrdered(raw)
	if err != nil {
		return nil
	}
	return tree
}

// encoded writes a value as compact JSON.
func encoded(value any) json.RawMessage { return jsontext.Encode(value, nil) }

// object returns an object of names and values in turn.
func object(pairs ...any) *jsontext.Object {
	o := jsontext.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		o.Set(pairs[i].(string), pairs[i+1])
	}
	return o
}

// textAt, flagAt, listAt and objectAt return a member of an object, if it has that type.
func textAt(o any, key string) string { return jsontext.Member[string](o, key) }

func flagAt(o any, key string) bool { return jsontext.Member[bool](o, key) }

func listAt(o any, key string) []any { return jsontext.Member[[]any](o, key) }

func objectAt(o any, key string) *jsontext.Object {
	return jsontext.Member[*jsontext.Object](o, key)
}

// texts returns the strings of a list.
func texts(value any) []string {
	list, _ := value.([]any)
	var found []string
	for _, e := range list {
		if text, ok := e.(string); ok {
			found = append(found, text)
		}
	}
	return found
}

// target returns what a reference such as #/components/schemas/Pet names. It does not follow a
// second reference.
func target(root any, ref string) (any, error) {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil, fmt.Errorf(
			"it refers to another document, %s; bundle the documents into one first", ref)
	}
	if unescaped, err := url.PathUnescape(pointer); err == nil {
		pointer = unescaped
	}
	value, ok := jsontext.At(root, "/"+pointer)
	if !ok {
		return nil, fmt.Errorf("it refers to %s, which does not exist", ref)
	}
	return value, nil
}

// follow follows references to an object. The error names the reference that failed.
func follow(root, value any) (*jsontext.Object, error) {
	for range 100 {
		o, ok := value.(*jsontext.Object)
		if !ok {
			return nil, fmt.Errorf("an object is expected, not %.80s", encoded(value))
		}
		ref, ok := o.Get(keyRef).(string)
		if !ok {
			return o, nil
		}
		next, err := target(root, ref)
		if err != nil {
			return nil, err
		}
		value = next
	}
	return nil, fmt.Errorf("its references form a cycle")
}
