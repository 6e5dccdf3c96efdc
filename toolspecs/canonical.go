package toolspecs

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/switchyard/switchyard/api"
)

// CanonicalJSON returns a JSON text without white space, keys sorted, strings escaped no more than needed and every
// digit of its numbers kept: two texts of the same value give the same bytes. Texts that Arguments would refuse as
// JSON are an error.
func CanonicalJSON(text string) (json.RawMessage, error) {
	v, err := parseJSON(text)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	writeValue(&b, v, nil)
	return b.Bytes(), nil
}

// writeValue writes a value of the kinds that the parser makes. The keys of a map are in the order in which the shape
// declares them, then sorted.
func writeValue(b *bytes.Buffer, v any, s *shape) {
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
		b.WriteByte('[')
		for i, e := range v {
			comma(b, i)
			writeValue(b, e, s.item())
		}
		b.WriteByte(']')
	case map[string]any:
		writeMembers(b, s.order(v), v, s)
	case *object:
		writeMembers(b, v.keys, v.members, s)
	}
}

func writeMembers(b *bytes.Buffer, keys []string, members map[string]any, s *shape) {
	b.WriteByte('{')
	for i, k := range keys {
		comma(b, i)
		writeString(b, k)
		b.WriteByte(':')
		writeValue(b, members[k], s.property(k))
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
			data, _ := api.EncodeJSON(s)
			b.Write(data)
			return
		}
	}
	b.WriteByte('"')
	b.WriteString(s)
	b.WriteByte('"')
}

// order returns the keys of an object: declared ones first, as declared, then the others sorted.
func (s *shape) order(members map[string]any) []string {
	keys := make([]string, 0, len(members))
	if s != nil {
		for _, p := range s.properties {
			if _, ok := members[p.name]; ok {
				keys = append(keys, p.name)
			}
		}
	}
	if len(keys) == len(members) {
		return keys
	}
	return append(keys, s.others(members)...)
}

// others returns the keys that are not declared, sorted.
func (s *shape) others(members map[string]any) []string {
	var keys []string
	for k := range members {
		if !s.has(k) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys
}

// canonicalSpec returns the JSON of a spec: fields in their declared order, keys within schemas and defaults as
// written. Reading it and writing it again gives the same bytes.
func canonicalSpec(s Spec) (json.RawMessage, error) {
	data, err := api.EncodeJSON(s)
	if err != nil {
		return nil, err
	}
	return reordered(data)
}

// digestOfSpec returns the digest of a spec whose JSON is data. How a long script is compressed differs between versions
// of Go, so the script counts as it is.
func digestOfSpec(s Spec, data json.RawMessage) (string, error) {
	if s.Entry.Agent == nil || s.Entry.Agent.Model.Script == nil {
		return api.Digest(data), nil
	}
	agent := *s.Entry.Agent
	script := agent.Model.Script.Value
	agent.Model.Script, s.Entry.Agent = nil, &agent
	plain, err := canonicalSpec(s)
	if err != nil {
		return "", err
	}
	played, err := api.EncodeJSON(script)
	if err != nil {
		return "", err
	}
	played, err = reordered(played)
	return api.Digest(append(plain, played...)), err
}

// reordered returns a JSON text in canonical form, but with its keys in their own order.
func reordered(data []byte) (json.RawMessage, error) {
	tree, jsonErr := parseOrdered(data)
	if jsonErr != nil {
		return nil, jsonErr
	}
	var b bytes.Buffer
	writeValue(&b, tree, nil)
	return b.Bytes(), nil
}
