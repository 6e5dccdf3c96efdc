package api

import (
	"encoding/json"
	"testing"
)

// TestHider proves that values go from texts in every form that they take there, that each has its
// own word, the longest goes first, short ones stay, and that nothing to hide changes nothing.
func TestHider(t *testing.T) {
	var none *Hider
	h := none.With(HiddenSecret, `to"ken/42`, "short").With(Redacted, "4111 1111",
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
	if none.With(HiddenSecret, "short") != nil || h.With(Redacted, "short") != h {
		t.Error("a Hider was made of nothing")
	}
}

// TestHiderJSON proves that values go from texts, keys and numbers of a JSON value at any depth,
// however they are escaped, that a value without them keeps every byte, and that what is no JSON is
// a text.
func TestHiderJSON(t *testing.T) {
	var none *Hider
	h := none.With(Redacted, "hunter22", "12345678901234567890", "a/b/c/d")
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

// TestHiderSplit proves that of a text that comes in pieces, however it is cut, nothing of a value
// is told.
func TestHiderSplit(t *testing.T) {
	var none *Hider
	h := none.With(Redacted, "hunter22")
	const text = "say hunter22, hunted hunter2 and hunter22hunter22 hunt"
	for size := 1; size < len(text); size++ {
		told, kept := "", ""
		for at := 0; at < len(text); at += size {
			var shown string
			shown, kept = h.Split(kept + text[at:min(at+size, len(text))])
			told += shown
		}
		if got := told + kept; got != "say ***, hunted hunter2 and ****** hunt" {
			t.Errorf("in pieces of %d: got %q", size, got)
		}
	}
}

// TestHiderError proves that nothing that an error says has the values, and that the error itself
// stays as it is.
func TestHiderError(t *testing.T) {
	var none *Hider
	e := &Error{Type: ErrValidation, Message: "m hunter22",
		Problems: []Problem{{Path: "$.hunter22", Rule: "r", Message: "p hunter22"}},
		Near:     []string{"n hunter22"}, Details: []string{"d hunter22"}}
	before, _ := json.Marshal(e)
	got, _ := json.Marshal(none.With(Redacted, "hunter22").Error(e))
	if after, _ := json.Marshal(e); string(after) != string(before) {
		t.Errorf("the error was changed: %s", after)
	}
	want := `{"type":"validation_error","message":"m ***","problems":[{"path":"$.***","rule":"r","message":"p ***"}],"details":["d ***"],"near":["n ***"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if none.Error(e) != e || none.With(Redacted, "hunter22").Error(nil) != nil {
		t.Error("nothing to hide changed something")
	}
}
