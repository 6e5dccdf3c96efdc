package api

import (
	"fmt"
	"strings"
)

// DefaultCompactAt is how full the model's window gets before older turns are summed up, where the agent says nothing.
const DefaultCompactAt = 0.8

// DefaultRepeats is the limit of equal failures in a row where an agent names none.
const DefaultRepeats = 5

// Compaction asks a model step to sum up a part of the conversation in place of answering it. What is summed up stays in
// history: only what the model is shown from then on is shorter.
type Compaction struct {
	// From and To bound the messages that are summed up, To itself not among them.
	From int `json:"from"`
	To   int `json:"to"`
	// Task is the message with what the run is to do. It stays as it is, also where it lies between From and To; -1 where
	// there is none.
	Task int `json:"task"`
	// MaxTranscript bounds what the model is told of the messages, MaxSummary what it makes of them, both in bytes.
	MaxTranscript int `json:"max_transcript"`
	MaxSummary    int `json:"max_summary"`
}

// Compacted says what a model step that was asked for a Compaction did.
type Compacted struct {
	// Messages is how many were summed up.
	Messages int `json:"messages"`
	// Cut is how many of them the model was shown in part, or not at all, because they are long.
	Cut int `json:"cut,omitempty"`
}

// CompactStepID returns the activity id of a run's nth (from 1) model step that sums up.
func CompactStepID(n int) string { return fmt.Sprintf("compact-%d", n) }

// summaryHead begins the message that stands for the messages that were summed up.
const summaryHead = "[Summary of the conversation so far"

// SummaryMessage returns the message that stands for what was summed up: a user's, because every provider takes one there.
func SummaryMessage(text string, c Compacted) Message {
	head := fmt.Sprintf("%s: %d earlier messages, which you are not shown any more.", summaryHead, c.Messages)
	if c.Cut > 0 {
		head += fmt.Sprintf(" %d of them were too long to be read whole for it.", c.Cut)
	}
	return Message{Role: RoleUser, Text: head + " The run's record has them whole.]\n" + text}
}

// IsSummary reports whether the message is one by SummaryMessage.
func (m Message) IsSummary() bool {
	return m.Role == RoleUser && strings.HasPrefix(m.Text, summaryHead)
}

// CutText returns the beginning of a text, limit bytes long or a little less, and a note on what was left out and why; the
// text itself where that would not be shorter.
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
