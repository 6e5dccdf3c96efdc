package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// HiddenSecret replaces the value of a secret.
const HiddenSecret = "[secret]"

// leastHidden is the shortest value that is searched for in texts, in bytes. Shorter values occur
// by chance, and hiding those occurrences would reveal the value.
const leastHidden = 6

// Hider replaces values in texts. A nil Hider replaces nothing. It is immutable and safe for
// concurrent use.
type Hider struct {
	// words has the replacement for each form of a value.
	words map[string]string
	// forms are the keys of words, the longest first.
	forms   []string
	replace *strings.Replacer
}

// With returns a Hider that also replaces the values with word, in every form they take in headers,
// URLs and JSON. Values of fewer than six characters are ignored.
func (h *Hider) With(word string, values ...string) *Hider {
	words := map[string]string{}
	if h != nil {
		for _, form := range h.forms {
			words[form] = h.words[form]
		}
	}
	for _, v := range values {
		for _, form := range formsOf(v) {
			words[form] = cmp.Or(words[form], word)
		}
	}
	if len(words) == 0 || h != nil && len(words) == len(h.words) {
		return h
	}
	more := &Hider{words: words, forms: slices.SortedFunc(maps.Keys(words),
		func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })}
	var pairs []string
	for _, form := range more.forms {
		pairs = append(pairs, form, words[form])
	}
	// Of two values at the same position the first is replaced.
	more.replace = strings.NewReplacer(pairs...)
	return more
}

func formsOf(value string) []string {
	if len(value) < leastHidden {
		return nil
	}
	// Encoding a string cannot fail; text that is not UTF-8 is also hidden in its raw form.
	text, _ := EncodeJSON(value)
	return []string{value, string(text[1 : len(text)-1]), url.QueryEscape(value),
		url.PathEscape(value)}
}

// Text returns a text with the values replaced.
func (h *Hider) Text(text string) string {
	if h == nil {
		return text
	}
	return h.replace.Replace(text)
}

// Texts returns texts with the values replaced.
func (h *Hider) Texts(texts []string) []string {
	if h == nil {
		return texts
	}
	hidden := slices.Clone(texts)
	for i, t := range hidden {
		hidden[i] = h.Text(t)
	}
	return hidden
}

// Part is Text for the first part of a text: it also removes the beginning of a value at the end of
// the part.
func (h *Hider) Part(part string) string {
	shown, _ := h.Split(part)
	return shown
}

// Split is Text for a stream. rest is the end of the text if that may be the beginning of a value;
// prepend it to the next text.
func (h *Hider) Split(text string) (shown, rest string) {
	text = h.Text(text)
	if h == nil {
		return text, ""
	}
	started := 0
	for _, form := range h.forms {
		for n := min(len(form)-1, len(text)); n > started; n-- {
			if strings.HasSuffix(text, form[:n]) {
				started = n
			}
		}
	}
	return text[:len(text)-started], text[len(text)-started:]
}

// Value returns a decoded JSON value with the values replaced in strings, keys and numbers, and
// whether there were any. It may modify lists in place.
func (h *Hider) Value(value any) (hidden any, changed bool) {
	if h == nil {
		return value, false
	}
	switch value := value.(type) {
	case string, json.Number:
		plain := TextOf(value)
		if text := h.Text(plain); text != plain {
			return text, true
		}
	case []any:
		for i, e := range value {
			item, had := h.Value(e)
			value[i], changed = item, changed || had
		}
		return value, changed
	case map[string]any:
		return h.members(value)
	}
	return value, false
}

func (h *Hider) members(members map[string]any) (hidden map[string]any, changed bool) {
	hidden = make(map[string]any, len(members))
	// Names that become equal when hidden: the last in order stays, on every worker.
	for _, name := range sortedKeys(members) {
		member, had := h.Value(members[name])
		key := h.Text(name)
		hidden[key], changed = member, changed || had || key != name
	}
	return hidden, changed
}

// JSON returns a JSON text with the values replaced, and whether there were any. Invalid JSON is
// treated as plain text.
func (h *Hider) JSON(value json.RawMessage) (hidden json.RawMessage, changed bool) {
	if h == nil || len(value) == 0 {
		return value, false
	}
	decoded, err := DecodeJSON(value)
	if err != nil {
		text := h.Text(string(value))
		return json.RawMessage(text), text != string(value)
	}
	if decoded, changed = h.Value(decoded); !changed {
		return value, false
	}
	hidden, err = EncodeJSON(decoded)
	if err != nil {
		return json.RawMessage(`"` + Redacted + `"`), true
	}
	return hidden, true
}

// Error returns an error with the values replaced in all its texts; nil for nil.
func (h *Hider) Error(e *Error) *Error {
	if h == nil || e == nil {
		return e
	}
	hidden := *e
	hidden.Message = h.Text(e.Message)
	hidden.Problems = h.Problems(e.Problems)
	hidden.Near, hidden.Details = h.Texts(e.Near), h.Texts(e.Details)
	hidden.Notes = h.Texts(e.Notes)
	return &hidden
}

// Problems returns problems with the values replaced.
func (h *Hider) Problems(problems []Problem) []Problem {
	if h == nil {
		return problems
	}
	hidden := slices.Clone(problems)
	for i, p := range hidden {
		hidden[i].Path, hidden[i].Message = h.Text(p.Path), h.Text(p.Message)
	}
	return hidden
}

// Mask says which parts of a JSON value are sensitive. A nil Mask marks none.
type Mask struct {
	// All marks the whole value.
	All bool `json:"all,omitempty"`
	// Keys are the masks of an object's members, Items the mask of each element of a list.
	Keys  map[string]*Mask `json:"keys,omitempty"`
	Items *Mask            `json:"items,omitempty"`
}

// Redact returns the value with Redacted in place of its sensitive parts, and of their values where
// other parts repeat them. A value whose shape does not fit the mask is redacted as a whole, except
// null, and so is invalid JSON.
func (m *Mask) Redact(value json.RawMessage) json.RawMessage {
	if m == nil || len(value) == 0 {
		return value
	}
	decoded, err := DecodeJSON(value)
	if err != nil {
		return redactedJSON
	}
	var values []string
	shown := m.change(decoded, func(part any) any {
		values = leaves(part, values)
		return Redacted
	})
	shown, _ = (*Hider)(nil).With(Redacted, repeatable(values)...).Value(shown)
	redacted, err := EncodeJSON(shown)
	if err != nil {
		return redactedJSON
	}
	return redacted
}

var redactedJSON = json.RawMessage(`"` + Redacted + `"`)

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
	for _, k := range sortedKeys(members) {
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

// maxHidden bounds the number of sensitive values of one JSON value that are searched for in texts,
// and maxHiddenValue the length of one in bytes: texts do not repeat longer ones.
const (
	maxHidden      = 1000
	maxHiddenValue = 4 << 10
)

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
	decoded, err := DecodeJSON(value)
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
		values = append(values, TextOf(v))
	case []any:
		for _, e := range v {
			values = leaves(e, values)
		}
	case map[string]any:
		for _, k := range sortedKeys(v) {
			values = leaves(v[k], values)
		}
	}
	return values
}

// Deep reports whether the mask of an object has masks deeper than its members.
func (m *Mask) Deep() bool {
	if m == nil {
		return false
	}
	return m.All || m.Items != nil || slices.ContainsFunc(slices.Sorted(maps.Keys(m.Keys)),
		func(k string) bool { return !m.Keys[k].All })
}

var allMasked = &Mask{All: true}

// ArgumentMask returns which arguments of a call are sensitive.
func (t Tool) ArgumentMask() *Mask {
	if t.Mask != nil || len(t.Sensitive) == 0 {
		return t.Mask
	}
	m := &Mask{Keys: make(map[string]*Mask, len(t.Sensitive))}
	for _, name := range t.Sensitive {
		m.Keys[name] = allMasked
	}
	return m
}

// Redact returns a call's arguments without their sensitive parts.
func (t Tool) Redact(arguments json.RawMessage) json.RawMessage {
	return t.ArgumentMask().Redact(arguments)
}

// Summary describes a call of the tool in one line, without the sensitive parts of its arguments.
func (t Tool) Summary(arguments json.RawMessage) string {
	return Summary(t.Name, t.Redact(arguments), nil)
}
