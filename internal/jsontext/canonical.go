package jsontext

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Canonical returns a JSON text without white space, with sorted keys, minimal escapes and
// every digit of its numbers. Texts of the same value give the same bytes. It returns an error for
// texts that Arguments would reject as JSON.
func Canonical(text string) (json.RawMessage, error) {
	v, err := Parse(text)
	if err != nil {
		return nil, err
	}
	return Encode(v, nil), nil
}

// Layout defines the order in which members of objects are written. A nil Layout sorts them by key.
type Layout interface {
	// Order returns all keys of an object, in order.
	Order(members map[string]any) []string
	// Member returns the layout of the member with the key, Element that of an array's elements.
	Member(key string) Layout
	Element() Layout
}

func order(l Layout, members map[string]any) []string {
	if l == nil {
		return slices.Sorted(maps.Keys(members))
	}
	return l.Order(members)
}

func memberLayout(l Layout, key string) Layout {
	if l == nil {
		return nil
	}
	return l.Member(key)
}

func elementLayout(l Layout) Layout {
	if l == nil {
		return nil
	}
	return l.Element()
}

// Encode returns a value as compact JSON. Values are those that Parse and ParseOrdered return. The
// keys of a map are in the order of the layout, those of an Object in its own.
func Encode(v any, l Layout) json.RawMessage {
	var b bytes.Buffer
	writeValue(&b, v, l)
	return b.Bytes()
}

func writeValue(b *bytes.Buffer, v any, l Layout) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case json.Number:
		b.WriteString(string(v))
	case string:
		writeString(b, v)
	case []any:
		writeElements(b, v, elementLayout(l))
	case map[string]any:
		writeMembers(b, order(l, v), v, l)
	case *Object:
		if v == nil {
			b.WriteString("{}")
			return
		}
		writeMembers(b, v.Keys, v.Members, nil)
	default:
		// The remaining types are Go's own numbers and similar, which can always be encoded.
		data, _ := jsonvalue.Encode(v)
		b.Write(data)
	}
}

func writeElements(b *bytes.Buffer, list []any, l Layout) {
	b.WriteByte('[')
	for i, e := range list {
		comma(b, i)
		writeValue(b, e, l)
	}
	b.WriteByte(']')
}

func writeMembers(b *bytes.Buffer, keys []string, members map[string]any, l Layout) {
	b.WriteByte('{')
	for i, k := range keys {
		comma(b, i)
		writeString(b, k)
		b.WriteByte(':')
		writeValue(b, members[k], memberLayout(l, k))
	}
	b.WriteByte('}')
}

func comma(b *bytes.Buffer, i int) {
	if i > 0 {
		b.WriteByte(',')
	}
}

// writeString writes a JSON string; plain text, the usual case, without an encoder.
func writeString(b *bytes.Buffer, s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			// A string of a parsed text is valid UTF-8, so that encoding it cannot fail.
			data, _ := jsonvalue.Encode(s)
			b.Write(data)
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
}

// Compact returns a JSON text in canonical form, but with its keys in their own order.
func Compact(data []byte) (json.RawMessage, error) {
	tree, jsonErr := ParseOrdered(data)
	if jsonErr != nil {
		return nil, jsonErr
	}
	return Encode(tree, nil), nil
}
