package planrules

import "testing"

// A result that several references use counts for each of them.
func TestResolvedSize_CountsEveryReference(t *testing.T) {
	value := map[string]any{"a": "${x}", "b": []any{"${x}", "and ${x.part} of ${y}", 7}}
	sizes := map[string]int{"${x}": 100, "${x.part}": 10, "${y}": 1}
	if got := ResolvedSize(value, func(r Reference) int { return sizes[r.String()] }); got != 211 {
		t.Errorf("got %d bytes, want 211", got)
	}
}
