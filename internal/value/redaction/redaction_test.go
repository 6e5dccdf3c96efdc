package redaction

import (
	"encoding/json"
	"testing"
)

// Values are replaced in every form that they have in texts, the longest first, each by its own
// word. Short values stay, and a text without values is unchanged.
func TestHider_ReplacesValuesInTexts(t *testing.T) {
	var none *Hider
	h := none.With(HiddenSecret, `to"ken/42`, "short").With(Word, "4111 1111",
		`to"ken/42 and more`)
	for text, want := range map[string]string{
		`a to"ken/42 b`:            "a [secret] b",
		`{"a":"to\"ken/42"}`:       `{"a":"[secret]"}`,
		"?q=to%22ken%2F42&p=short": "?q=[secret]&p=short",
		"4111+1111 4111%201111":    "*** ***",
		`to"ken/42 and more`:       "***",
		"":                         "",
	} {
		if got := h.Text(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
		if got := none.Text(text); got != text {
			t.Errorf("%s: got %s", text, got)
		}
	}
	if none.With(HiddenSecret, "short") != nil || h.With(Word, "short") != h {
		t.Error("a Hider was made of nothing")
	}
}

// Values are replaced in texts, keys and numbers at any depth and with any escapes. JSON without
// them keeps every byte, and invalid JSON is a text.
func TestHider_ReplacesValuesInJSON(t *testing.T) {
	var none *Hider
	h := none.With(Word, "hunter22", "12345678901234567890", "a/b/c/d")
	for value, want := range map[string]string{
		`{"x":["<hunter22>",{"hunter22":1}]}`: `{"x":["<***>",{"***":1}]}`,
		`12345678901234567890`:                `"***"`,
		`"a\/b\/c\/d"`:                        `"***"`,
		`"\u0068unter22"`:                     `"***"`,
		`hunter22 {`:                          `*** {`,
	} {
		if got, changed := h.JSON(json.RawMessage(value)); string(got) != want || !changed {
			t.Errorf("%s: got %s, %t, want %s", value, got, changed, want)
		}
	}
	const plain = `{ "b": 1.50, "a": [true, null] }`
	if got, changed := h.JSON(json.RawMessage(plain)); string(got) != plain || changed {
		t.Errorf("got %s, %t", got, changed)
	}
	if got, changed := none.JSON(json.RawMessage(plain)); string(got) != plain || changed {
		t.Errorf("got %s, %t", got, changed)
	}
}

// However a text is split into parts, no part of a value is shown.
func TestHider_ReplacesValuesInParts(t *testing.T) {
	var none *Hider
	h := none.With(Word, "hunter22")
	const text = "say hunter22, hunted hunter2 and hunter22hunter22 hunt"
	for size := 1; size < len(text); size++ {
		shownSoFar, rest := "", ""
		for at := 0; at < len(text); at += size {
			var shown string
			shown, rest = h.Split(rest + text[at:min(at+size, len(text))])
			shownSoFar += shown
		}
		if got := shownSoFar + rest; got != "say ***, hunted hunter2 and ****** hunt" {
			t.Errorf("in pieces of %d: got %q", size, got)
		}
	}
}
