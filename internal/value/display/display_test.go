package display

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The text before the note is within the limit, the result is no longer than the text, and no
// character is split.
func TestCutText_KeepsTheLimit(t *testing.T) {
	long := strings.Repeat("é漢", 200)
	for limit := -1; limit < len(long)+5; limit++ {
		cut := Cut(long, limit, "because")
		if !utf8.ValidString(cut) || len(cut) > len(long) || len(cut) > max(limit, 0)+70 &&
			cut != long {
			t.Fatalf("cut to %d bytes it has %d: %s", limit, len(cut), cut)
		}
	}
	if got := Cut(long, 4, "because"); got != "é… [998 of 1000 bytes are left out: because]" {
		t.Errorf("got %s", got)
	}
	if got := Cut("short", 2, "because"); got != "short" {
		t.Errorf("got %s", got)
	}
}
