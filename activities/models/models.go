package models

import (
	"context"
	"encoding/json"
	_ "image/gif" // the formats that models see
	_ "image/jpeg"
	_ "image/png"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Model answers conversations.
type Model interface {
	// Ready returns why this process cannot reach the model; nil if it can.
	Ready() error
	// Answer executes one model step. It returns an *Error, or any other error for a transient
	// failure.
	Answer(ctx context.Context, p Prompt) (api.ModelResponse, error)
}

// Prompt is the input of one model step.
type Prompt struct {
	Agent *api.Agent
	Turn  int
	// Before is how many of the turns belong to earlier runs of the conversation.
	Before   int
	Messages []api.Message
	// Tools are the tools that the model may call. They are the same in every step of a run,
	// because
	// providers cache a request from its beginning.
	Tools []Offer
	// Limit names the limit that was reached: the model must answer with what is known and call no
	// tools.
	Limit string
	// Thoughtless has the reasoning in earlier messages left out, because the provider has refused
	// it.
	Thoughtless bool
	// Older, if set, are messages to summarize instead of answering. Messages already contains that
	// request and their text.
	Older []api.Message
	// Images are the images in the results of calls, by call ID.
	Images map[string][]Image
	// Key identifies the conversation to the provider's cache.
	Key string
	// Live, if set, receives the text of the answer in pieces as it is produced. It never blocks.
	Live func(piece string)
}

// Say passes a piece of the answer's text to Live, if set.
func (p Prompt) Say(piece string) {
	if p.Live != nil && piece != "" {
		p.Live(piece)
	}
}

// Offer is a tool as shown to a model.
type Offer struct {
	Name        string
	Description string
	// Schema is that of a Declaration.
	Schema json.RawMessage
	// Keys restores the names of arguments.
	Keys *Keys
}

// Error is the failure of a model step.
type Error struct {
	Message string
	// Permanent means that a retry cannot succeed.
	Permanent bool
	// Overflow means that the conversation exceeds the model's window. It is permanent for this
	// conversation.
	Overflow bool
	// RetryAfter is the minimum delay of the next attempt, if the provider named one.
	RetryAfter time.Duration
	// Thoughts means that the server refused the reasoning in an earlier message.
	Thoughts bool
	// Unread means that the server rejected the request as invalid, as many servers do with a
	// request that is too long.
	Unread bool
}

func (e *Error) Error() string { return e.Message }

// LimitPrompt ends the prompt after a limit was reached.
const LimitPrompt = "The limit of this run has been reached: %s. You cannot call tools any more. " +
	"Answer now with what is known so far, and say what is missing."

// Image is an image in the result of a call, as shown to a model.
type Image struct {
	MIMEType string
	Data     []byte
}
