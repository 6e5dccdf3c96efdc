package redaction

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Mask says which parts of a JSON value are sensitive. A nil Mask marks none.
type Mask struct {
	// All marks the whole value.
	All bool `json:"all,omitempty"`
	// Keys are the masks of an object's members, Items the mask of each element of a list.
	Keys  map[string]*Mask `json:"keys,omitempty"`
	Items *Mask            `json:"items,omitempty"`
}

// Redact returns the value with Word in place of its sensitive parts, and of their values where
// other parts repeat them. A value whose shape does not fit the mask is redacted as a whole, except
// null, and so is invalid JSON.
func (m *Mask) Redact(value json.RawMessage) json.RawMessage {
	if m == nil || len(value) == 0 {
		return value
	}
	decoded, err := jsonvalue.Decode(value)
	if err != nil {
		return redactedJSON
	}
	var values []string
	shown := m.change(decoded, func(part any) any {
		values = leaves(part, values)
		return Word
	})
	shown, _ = (*Hider)(nil).With(Word, repeatable(values)...).Value(shown)
	redacted, err := jsonvalue.Encode(shown)
	if err != nil {
		return redactedJSON
	}
	return redacted
}

// change replaces each sensitive part of a value with the result of changed.
func (m *Mask) change(value any, changed func(part any) any) any {
	members, isObject := value.(map[string]any)
	items, isList := value.([]any)
	switch {
	case value == nil && !m.All:
		return nil
	case isObject && m.Keys != nil:
		m.changeMembers(members, changed)
	case isList && m.Items != nil:
		for i := range items {
			items[i] = m.Items.change(items[i], changed)
		}
	default:
		return changed(value)
	}
	return value
}

func (m *Mask) changeMembers(members map[string]any, changed func(part any) any) {
	for _, k := range jsonvalue.SortedKeys(members) {
		if member := m.key(k); member != nil {
			members[k] = member.change(members[k], changed)
		}
	}
}

// key matches names in any case, because refused arguments are shown too, and a misspelt Password
// is still one.
func (m *Mask) key(name string) *Mask {
	if member := m.Keys[name]; member != nil {
		return member
	}
	for _, k := range slices.Sorted(maps.Keys(m.Keys)) {
		if strings.EqualFold(k, name) {
			return m.Keys[k]
		}
	}
	return nil
}

// repeatable returns those of the values that texts may repeat.
func repeatable(values []string) []string {
	values = slices.DeleteFunc(values, func(v string) bool { return len(v) > maxHiddenValue })
	return values[:min(len(values), maxHidden)]
}

// Values returns the strings and numbers in the sensitive parts of a value that texts may repeat,
// for a Hider.
func (m *Mask) Values(value json.RawMessage) []string {
	if m == nil || len(value) == 0 {
		return nil
	}
	decoded, err := jsonvalue.Decode(value)
	if err != nil {
		return nil
	}
	var values []string
	m.change(decoded, func(part any) any {
		values = leaves(part, values)
		return part
	})
	return repeatable(values)
}

// leaves appends the strings and numbers in a value.
func leaves(value any, values []string) []string {
	switch v := value.(type) {
	case string, json.Number:
		values = append(values, jsonvalue.Text(v))
	case []any:
		for _, e := range v {
			values = leaves(e, values)
		}
	case map[string]any:
		for _, k := range jsonvalue.SortedKeys(v) {
			values = leaves(v[k], values)
		}
	}
	return values
}

// IsDeep reports whether the mask of an object has masks deeper than its members.
func (m *Mask) IsDeep() bool {
	if m == nil {
		return false
	}
	return m.All || m.Items != nil || slices.ContainsFunc(slices.Sorted(maps.Keys(m.Keys)),
		func(k string) bool { return !m.Keys[k].All })
}

// Word replaces a sensitive value wherever values are shown.
const Word = "***"
