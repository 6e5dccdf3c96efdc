package api

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
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
	// Thought is what a model shows of its reasoning, for people only.
	Thought string `json:"thought,omitempty"`
	// Native is a model's message in the form of its provider; nil in other messages.
	Native *Native `json:"native,omitempty"`
}

// Native is a model's message exactly as its provider sent it, with reasoning and signatures that
// only the provider can read. It goes back to the same model at the same endpoint in place of the
// other fields, which are what people, policies and other models read.
type Native struct {
	Dialect  Dialect `json:"dialect"`
	Endpoint string  `json:"endpoint"`
	Model    string  `json:"model"`
	// Prefix is the digest of the request before this message, where the dialect binds reasoning to
	// it. The reasoning is void once the request before the message is another one.
	Prefix string `json:"prefix,omitempty"`
	// Alone is set if the messages before it were sent without their reasoning.
	Alone bool `json:"alone,omitempty"`
	// Items are JSON in the form of the dialect. No workflow reads them.
	Items json.RawMessage `json:"items"`
}

// Dialect is the protocol of a model's server.
type Dialect string

// The dialects.
const (
	// DialectChat: OpenAI chat completions.
	DialectChat Dialect = "chat"
	// DialectResponses: OpenAI responses.
	DialectResponses Dialect = "responses"
	// DialectMessages: Anthropic messages.
	DialectMessages Dialect = "messages"
)

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
	if n := m.Native; n != nil {
		b = appendField(b, string(n.Dialect))
		b = appendField(b, n.Endpoint)
		b = appendField(b, n.Model)
		b = appendField(b, n.Prefix)
		b = appendField(b, string(n.Items))
	}
	return Digest(b)
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

// NewPage returns the page that starts at message from. An index beyond the end gives an empty
// page.
func NewPage(messages []Message, from int) Page {
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
	n := m.TextSize() + len(m.Thought)
	if m.Native != nil {
		n += len(m.Native.Items)
	}
	return n
}

// TextSize is the approximate size of what any model reads of the message, in bytes.
func (m Message) TextSize() int {
	n := len(m.Text)
	for _, c := range m.Calls {
		n += len(c.Arguments)
	}
	return n
}

// LoadConversationRequest asks for the messages of a conversation's earlier runs.
type LoadConversationRequest struct {
	// Conversation is the workflow id of the runs.
	Conversation string `json:"conversation"`
	// Started is when the run started, by the server's clock.
	Started time.Time `json:"started"`
	// LastRun is that of the run's input.
	LastRun *LastRun `json:"last_run,omitempty"`
}

// LastRun identifies the run of a conversation that ended last.
type LastRun struct {
	// RunID is its run id; empty if the server has no run of the conversation.
	RunID string `json:"run_id,omitempty"`
	// At is when it was looked up, before the server answered.
	At time.Time `json:"at"`
}

// LoadedConversation is what a run in an existing conversation starts with.
type LoadedConversation struct {
	// Messages are encoded by EncodeMessages, without system messages; nil if there are none.
	Messages []byte `json:"messages,omitempty"`
	// Turn is the last turn of the earlier runs. The run counts on from there, so that call ids are
	// unique in the conversation.
	Turn int `json:"turn,omitempty"`
	// WorkflowID and RunID identify the run of the messages; empty if there is none.
	WorkflowID string `json:"workflow_id,omitempty"`
	RunID      string `json:"run_id,omitempty"`
	// Dropped is how many of the oldest messages were too long to load; a message says so in their
	// place.
	Dropped int `json:"dropped,omitempty"`
	// Labels are the labels of the earlier runs.
	Labels []string `json:"labels,omitempty"`
	// Problems, if any, say why the run cannot continue the conversation.
	Problems []Problem `json:"problems,omitempty"`
}

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

// summaryHead is the beginning of a summary message.
const summaryHead = "[Summary of the conversation so far"

// SummaryMessage returns the message that replaces the summarised ones. It has the role user, which
// every provider accepts at that place.
func SummaryMessage(text string, c Compacted) Message {
	head := fmt.Sprintf("%s: %d earlier messages, which are no longer shown to you.", summaryHead,
		c.Messages)
	if c.Cut > 0 {
		head += fmt.Sprintf(" %d of them were too long to be summarized in full.", c.Cut)
	}
	return Message{Role: RoleUser, Text: head + " The run's record has them in full.]\n" + text}
}

// IsSummary reports whether the message was made by SummaryMessage.
func (m Message) IsSummary() bool {
	return m.Role == RoleUser && strings.HasPrefix(m.Text, summaryHead)
}
