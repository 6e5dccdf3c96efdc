package api

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
		cut := CutText(long, limit, "because")
		if !utf8.ValidString(cut) || len(cut) > len(long) || len(cut) > max(limit, 0)+70 &&
			cut != long {
			t.Fatalf("cut to %d bytes it has %d: %s", limit, len(cut), cut)
		}
	}
	if got := CutText(long, 4, "because"); got != "é… [998 of 1000 bytes are left out: because]" {
		t.Errorf("got %s", got)
	}
	if got := CutText("short", 2, "because"); got != "short" {
		t.Errorf("got %s", got)
	}
}

func TestSummaryMessage_IsRecognized(t *testing.T) {
	m := SummaryMessage("the code is 7", Compacted{Messages: 12, Cut: 2})
	if !m.IsSummary() || !strings.HasSuffix(m.Text, "\nthe code is 7") || !strings.Contains(m.Text,
		"12 earlier messages") || !strings.Contains(m.Text, "2 of them were too long") {
		t.Errorf("got %+v", m)
	}
	m.Role = RoleAssistant
	if m.IsSummary() || (Message{Role: RoleUser, Text: "Summary"}).IsSummary() {
		t.Error("another message is taken for a summary")
	}
}
