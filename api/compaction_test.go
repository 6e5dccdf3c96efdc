package api

import (
	"strings"
	"testing"
)

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
