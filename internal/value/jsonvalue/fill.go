package jsonvalue

import (
	"bytes"
	"encoding/json"
)

// FillObjects returns a value in which empty lists are empty objects, as PHP encodes these: the
// value itself and its members, down to a depth. It reports whether there are any; a value without
// is not returned.
func FillObjects(value json.RawMessage, depth int) (json.RawMessage, bool) {
	if isEmptyList(value) {
		return json.RawMessage(`{}`), true
	}
	var members map[string]json.RawMessage
	if depth == 0 || !bytes.Contains(value, []byte("[")) || json.Unmarshal(value, &members) != nil {
		return nil, false
	}
	changed := false
	for name, member := range members {
		if filled, ok := FillObjects(member, depth-1); ok {
			members[name], changed = filled, true
		}
	}
	if !changed {
		return nil, false
	}
	filled, err := Encode(members)
	return filled, err == nil
}

func isEmptyList(value json.RawMessage) bool {
	value = bytes.TrimSpace(value)
	return len(value) > 1 && value[0] == '[' && len(bytes.TrimSpace(value[1:])) == 1
}
