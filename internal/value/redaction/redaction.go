// Package redaction replaces secrets and sensitive values in texts and JSON.
package redaction

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/value/jsonvalue"
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
		for _, form := range encodings(v) {
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

func encodings(value string) []string {
	if len(value) < leastHidden {
		return nil
	}
	// Encoding a string cannot fail; text that is not UTF-8 is also hidden in its raw form.
	text, _ := jsonvalue.Encode(value)
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
		plain := jsonvalue.Text(value)
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
	for _, name := range jsonvalue.SortedKeys(members) {
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
	decoded, err := jsonvalue.Decode(value)
	if err != nil {
		text := h.Text(string(value))
		return json.RawMessage(text), text != string(value)
	}
	if decoded, changed = h.Value(decoded); !changed {
		return value, false
	}
	hidden, err = jsonvalue.Encode(decoded)
	if err != nil {
		return json.RawMessage(`"` + Word + `"`), true
	}
	return hidden, true
}

var redactedJSON = json.RawMessage(`"` + Word + `"`)

// maxHidden bounds the number of sensitive values of one JSON value that are searched for in texts,
// and maxHiddenValue the length of one in bytes: texts do not repeat longer ones.
const (
	maxHidden      = 1000
	maxHiddenValue = 4 << 10
)
