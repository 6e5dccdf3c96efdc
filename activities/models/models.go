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
	// Ready reports why this process cannot reach the model; nil if it can.
	Ready() error
	// Answer makes one model step. Its error is a *ModelError, or any other for one that may pass.
	Answer(ctx context.Context, p Prompt) (api.ModelResponse, error)
}

// Prompt is what a model is asked.
type Prompt struct {
	Agent *api.Agent
	Turn  int
	// Before is how many of the turns belong to earlier runs of the conversation.
	Before   int
	Messages []api.Message
	// Tools are what the model may call; none when a limit was reached.
	Tools []Offer
	// Limit names the limit that was reached: the model is to answer with what is known.
	Limit string
	// Older, where set, are messages to be summed up in place of an answer. Messages say so
	// already, and tell what they say.
	Older []api.Message
	// Images are those in the results of calls, by the calls' ids.
	Images map[string][]Image
	// Live, where set, takes the text of the answer as it is produced, piece by piece. It never
	// waits.
	Live func(piece string)
}

// Offer is a tool as a model is shown it.
type Offer struct {
	Name        string
	Description string
	// Schema is JSON Schema 2020-12 of an object.
	Schema json.RawMessage
}

// ModelError is the failure of a model step.
type Error struct {
	Message string
	// Permanent says that no other attempt will do better.
	Permanent bool
	// Overflow says that the conversation is longer than the model reads. It is permanent for this
	// conversation.
	Overflow bool
	// RetryAfter is the earliest next attempt where the provider named one.
	RetryAfter time.Duration
	// unread says that the server took the request for a wrong one, as many do with one that is too
	// long.
	Unread bool
}

func (e *Error) Error() string { return e.Message }

// limitPrompt is what the model is told in place of tools when a limit was reached.
const LimitPrompt = "The limit of this run has been reached: %s. You cannot call tools any more. " +
	"Answer now with what is known so far, and say what is missing."

// Image is an image in the result of a call, as a model is shown it.
type Image struct {
	MIMEType string
	Data     []byte
}
