package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// HiddenSecret stands where the value of a secret was.
const HiddenSecret = "[secret]"

// leastHidden is the length from which on a value is looked for in texts. Shorter ones are in many texts by chance, and
// hiding them there would tell what they are.
const leastHidden = 6

// Hider takes values that must not show out of texts. nil hides nothing. It does not change, and many goroutines may use
// it.
type Hider struct {
	// words are what stands in place of each form of a value.
	words map[string]string
	// forms are the keys of words, the longest first.
	forms   []string
	replace *strings.Replacer
}

// With returns a Hider that also puts word in place of the values, in every form that they take in headers, URLs and
// JSON. Values of fewer than six characters are left out.
func (h *Hider) With(word string, values ...string) *Hider {
	words := map[string]string{}
	if h != nil {
		maps.Copy(words, h.words)
	}
	for _, v := range values {
		for _, form := range formsOf(v) {
			words[form] = cmp.Or(words[form], word)
		}
	}
	if len(words) == 0 || h != nil && len(words) == len(h.words) {
		return h
	}
	more := &Hider{words: words, forms: slices.SortedFunc(maps.Keys(words), func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })}
	var pairs []string
	for _, form := range more.forms {
		pairs = append(pairs, form, words[form])
	}
	// Of two that begin at the same place the first is replaced.
	more.replace = strings.NewReplacer(pairs...)
	return more
}

func formsOf(value string) []string {
	if len(value) < leastHidden {
		return nil
	}
	// Encoding a string cannot fail; what is no UTF-8 is also hidden as it is.
	text, _ := EncodeJSON(value)
	return []string{value, string(text[1 : len(text)-1]), url.QueryEscape(value), url.PathEscape(value)}
}

// Text returns a text without the values.
func (h *Hider) Text(text string) string {
	if h == nil {
		return text
	}
	return h.replace.Replace(text)
}

// Texts returns texts without the values.
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

// Part is Text for the first part of a text: it also takes away the beginning of a value at the part's end.
func (h *Hider) Part(part string) string {
	shown, _ := h.Split(part)
	return shown
}

// Split is Text for a text of which more is to come: rest is its end where that may be the beginning of a value, to be put
// before what comes.
func (h *Hider) Split(text string) (shown, rest string) {
	text = h.Text(text)
	if h == nil {
		return text, ""
	}
	begun := 0
	for _, form := range h.forms {
		for n := min(len(form)-1, len(text)); n > begun; n-- {
			if strings.HasSuffix(text, form[:n]) {
				begun = n
			}
		}
	}
	return text[:len(text)-begun], text[len(text)-begun:]
}

// Value returns a decoded JSON value without the values, and whether it had one: in its texts, keys and numbers. It may
// change lists in place.
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
	for name, e := range members {
		member, had := h.Value(e)
		key := h.Text(name)
		hidden[key], changed = member, changed || had || key != name
	}
	return hidden, changed
}

// JSON returns a JSON value without the values, and whether it had one. What is no JSON is treated as a text.
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

// Error returns an error without the values in anything that it says; nil for nil.
func (h *Hider) Error(e *Error) *Error {
	if h == nil || e == nil {
		return e
	}
	hidden := *e
	hidden.Message = h.Text(e.Message)
	hidden.Problems = h.Problems(e.Problems)
	hidden.Near, hidden.Details = h.Texts(e.Near), h.Texts(e.Details)
	return &hidden
}

// Problems returns problems without the values in what they say.
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
