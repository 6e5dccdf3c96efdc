package api

import (
	"fmt"
	"strings"
)

// DefaultCompactAt is the share of the model's window at which older turns are summarised by
// default.
const DefaultCompactAt = 0.8

// DefaultRepeats is the default limit of equal failures in a row.
const DefaultRepeats = 5

// Compaction asks a model step to summarise part of the conversation instead of answering it. The
// original messages stay in history; the model sees the summary from then on.
type Compaction struct {
	// From and To bound the messages to summarise; To is exclusive.
	From int `json:"from"`
	To   int `json:"to"`
	// Task is the index of the message with the task. It is kept as it is, also between From and
	// To; -1 if there is none.
	Task int `json:"task"`
	// MaxTranscript bounds the messages shown to the model and MaxSummary the summary, both in
	// bytes.
	MaxTranscript int `json:"max_transcript"`
	MaxSummary    int `json:"max_summary"`
}

// Compacted describes what a model step with a Compaction did.
type Compacted struct {
	// Messages is how many messages were summarised.
	Messages int `json:"messages"`
	// Cut is how many of them were too long to be shown to the model in full.
	Cut int `json:"cut,omitempty"`
}

// CompactStepID returns the activity id of a run's nth summarising model step, from 1.
func CompactStepID(n int) string { return fmt.Sprintf("compact-%d", n) }

// summaryHead is the beginning of a summary message.
const summaryHead = "[Summary of the conversation so far"

// SummaryMessage returns the message that replaces the summarised ones. It has the role user, which
// every provider accepts at that place.
func SummaryMessage(text string, c Compacted) Message {
	head := fmt.Sprintf("%s: %d earlier messages, which you are not shown any more.", summaryHead, c.Messages)
	if c.Cut > 0 {
		head += fmt.Sprintf(" %d of them were too long to be read whole for it.", c.Cut)
	}
	return Message{Role: RoleUser, Text: head + " The run's record has them whole.]\n" + text}
}

// IsSummary reports whether the message was made by SummaryMessage.
func (m Message) IsSummary() bool {
	return m.Role == RoleUser && strings.HasPrefix(m.Text, summaryHead)
}

// CutText returns the beginning of a text, at most limit bytes, and a note on how much was left out
// and why. It returns the text itself if that is not longer.
func CutText(text string, limit int, why string) string {
	end := max(min(limit, len(text)), 0)
	for end > 0 && end < len(text) && text[end]&0xC0 == 0x80 {
		end--
	}
	cut := fmt.Sprintf("%s… [%d of %d bytes are left out: %s]", text[:end], len(text)-end, len(text), why)
	if len(cut) >= len(text) {
		return text
	}
	return cut
}
