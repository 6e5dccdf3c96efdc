package jsonvalue

import (
	"encoding/json"
	"strings"
	"testing"
)

// Sizes are computed without encoding, and are never too small.
func TestSize_BoundsJSON(t *testing.T) {
	for _, text := range []string{"", "plain", "a<b>&c", `quoted "text" and \\`, "line\nand\ttab\x01",
		"\u2028 and \u2029", "ünïcode 漢字", "broken \xff\xfe", strings.Repeat("<", 1000)} {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := TextSize(text); got < len(want) || got > len(want)+8 {
			t.Errorf("TextSize(%q) = %d, want %d", text, got, len(want))
		}
		raw, err := Encode(map[string]any{"value": text})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := json.Marshal(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := PayloadSize(raw); got != len(whole) {
			t.Errorf("JSONSize(%s) = %d, want %d", raw, got, len(whole))
		}
	}
}
