package api

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
		raw, err := EncodeJSON(map[string]any{"value": text})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := json.Marshal(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := JSONSize(raw); got != len(whole) {
			t.Errorf("JSONSize(%s) = %d, want %d", raw, got, len(whole))
		}
	}
}

// A result that several references use counts for each of them.
func TestResolvedSize_CountsEveryReference(t *testing.T) {
	value := map[string]any{"a": "${x}", "b": []any{"${x}", "and ${x.part} of ${y}", 7}}
	sizes := map[string]int{"${x}": 100, "${x.part}": 10, "${y}": 1}
	if got := ResolvedSize(value, func(r Reference) int { return sizes[r.String()] }); got != 211 {
		t.Errorf("got %d bytes, want 211", got)
	}
}

// A packed value that knows its JSON is not encoded again.
func TestPacked_EncodedOnce(t *testing.T) {
	packed, err := Pack(strings.Repeat("x", 64<<10)).Encoded()
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(packed)
	if err != nil || len(data) != packed.Size() {
		t.Fatalf("%d bytes, want %d: %v", len(data), packed.Size(), err)
	}
	var again Packed[string]
	if err := json.Unmarshal(data, &again); err != nil || again.Value != packed.Value {
		t.Errorf("decoded %d bytes: %v", len(again.Value), err)
	}
}

// Only small variables are part of the input of every call.
func TestOrigin_PassesLargeVariablesByDigest(t *testing.T) {
	small := Origin{Run: "r", Variables: map[string]any{"a": 1.0}}
	if p := small.Passed(); p.VariablesDigest != "" || len(p.Variables) != 1 {
		t.Errorf("small variables are passed as %+v", p)
	}
	large := Origin{Run: "r", Variables: map[string]any{"a": strings.Repeat("x", 8<<10)}}
	if p := large.Passed(); p.VariablesDigest == "" || p.Variables != nil {
		t.Errorf("large variables are passed as %+v", p)
	}
	if len(large.Variables) != 1 {
		t.Error("the origin itself was changed")
	}
}
