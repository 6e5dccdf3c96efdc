package api

import (
	"encoding/json"
	"strings"
	"testing"
)

// A packed value that knows its JSON is not encoded again.
func TestPacked_EncodedOnce(t *testing.T) {
	packed, err := Pack(strings.Repeat("x", 64<<10)).EncodeOnce()
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
	if p := small.ToActivityInput(); p.VariablesDigest != "" || len(p.Variables) != 1 {
		t.Errorf("small variables are passed as %+v", p)
	}
	large := Origin{Run: "r", Variables: map[string]any{"a": strings.Repeat("x", 8<<10)}}
	if p := large.ToActivityInput(); p.VariablesDigest == "" || p.Variables != nil {
		t.Errorf("large variables are passed as %+v", p)
	}
	if len(large.Variables) != 1 {
		t.Error("the origin itself was changed")
	}
}
