package api

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
)

// Role is the author of a Message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`
	// Calls are the tool calls that an assistant's message asks for.
	Calls []Call `json:"calls,omitempty"`
	// CallID is the call that a tool's message answers.
	CallID string `json:"call_id,omitempty"`
	// Failed marks a tool's message about a failure.
	Failed bool `json:"failed,omitempty"`
}

// Digest identifies the content of the message: 16 characters, equal in every process.
func (m Message) Digest() string {
	b := make([]byte, 0, m.Size()+len(m.CallID)+64*(1+len(m.Calls)))
	b = appendField(b, string(m.Role))
	b = appendField(b, m.Text)
	b = appendField(b, m.CallID)
	if m.Failed {
		b = appendField(b, "failed")
	}
	for _, c := range m.Calls {
		b = appendField(b, c.ID)
		b = appendField(b, c.Tool)
		b = appendField(b, c.Arguments)
	}
	return Digest(b)
}

// NextChain returns the digest of a conversation with digest chain after one more message.
func NextChain(chain, messageDigest string) string {
	return Digest(appendField(appendField(make([]byte, 0, 64), chain), messageDigest))
}

// appendField writes the length before the text, so that different lists of fields give different
// bytes.
func appendField(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...)
}

// Digest returns a digest of data, 16 characters, for comparing content. It is not for security.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return base64.RawURLEncoding.EncodeToString(sum[:12])
}

// Message returns the conversation's message for the call. Worker and workflow compute the same
// text, so that their digests agree.
func (o CallOutcome) Message() Message {
	m := Message{Role: RoleTool, CallID: o.ID}
	switch {
	case o.Error != nil:
		m.Text, m.Failed = o.Error.ForModel(), true
	case o.Result != nil:
		m.Text = o.Result.ForModel()
	}
	return m
}

// Page is a part of a conversation.
type Page struct {
	// From is the index of the first message.
	From     int               `json:"from"`
	Messages Packed[[]Message] `json:"messages"`
	// Total is the number of messages in the whole conversation.
	Total int `json:"total"`
	// Turn is the current turn of the run.
	Turn int `json:"turn,omitempty"`
	// Labels are the labels the run has collected.
	Labels []string `json:"labels,omitempty"`
}

// pageBytes is the approximate text size of one Page; a single longer message makes a longer page.
const pageBytes = 1 << 20

// PageOf returns the page that starts at message from. An index beyond the end gives an empty page.
func PageOf(messages []Message, from int) Page {
	from = min(max(from, 0), len(messages))
	to, size := from, 0
	for to < len(messages) {
		if size += messages[to].Size(); size > pageBytes && to > from {
			break
		}
		to++
	}
	return Page{From: from, Messages: Pack(messages[from:to]), Total: len(messages)}
}

// Size is the approximate size of the message in bytes.
func (m Message) Size() int {
	n := len(m.Text)
	for _, c := range m.Calls {
		n += len(c.Arguments)
	}
	return n
}
