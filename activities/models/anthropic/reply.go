package anthropic

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// anthropicReply is what a model has answered so far: whole messages, or the events of streamed
// ones. The client's own way to put events together loses arguments that are no JSON, and the model
// is to be told of those.
type anthropicReply struct {
	text   strings.Builder
	blocks []*callBlock
	model  string
	stop   anthropic.StopReason
	// why is what the provider says of a refusal.
	why string
	// base counts the tokens of the messages before the last one, last those of the last one.
	base, last tokenCounts
}

type tokenCounts struct{ input, written, cached, output int64 }

func (t tokenCounts) plus(o tokenCounts) tokenCounts {
	return tokenCounts{t.input + o.input, t.written + o.written, t.cached + o.cached, t.output +
		o.output}
}

// callBlock is a block of the message that is being streamed: a call, or anything else, which has
// no name.
type callBlock struct {
	index     int64
	name      string
	arguments strings.Builder
}

// begin starts a message.
func (r *anthropicReply) begin(m *anthropic.Message) {
	r.base, r.last = r.base.plus(r.last), tokenCounts{}
	r.model = m.Model
	u := m.Usage
	r.last = tokenCounts{u.InputTokens, u.CacheCreationInputTokens, u.CacheReadInputTokens,
		u.OutputTokens}
}

func (r *anthropicReply) end(stop anthropic.StopReason, details anthropic.RefusalStopDetails) {
	if stop != "" {
		r.stop, r.why = stop, details.Explanation
	}
}

// add takes a whole message.
func (r *anthropicReply) add(m *anthropic.Message) {
	r.begin(m)
	r.end(m.StopReason, m.StopDetails)
	for _, b := range m.Content {
		switch b.Type {
		case "text":
			r.text.WriteString(b.Text)
		case "tool_use":
			call := &callBlock{name: b.Name}
			call.arguments.Write(b.Input)
			r.blocks = append(r.blocks, call)
		}
	}
}

// follow takes the events of a streamed message; live, if any, takes its text as it comes.
func (r *anthropicReply) follow(events *ssestream.Stream[anthropic.MessageStreamEventUnion],
	live func(string)) error {
	before := r.text.Len()
	ended := false
	for !ended && events.Next() {
		event := events.Current()
		ended = event.Type == "message_stop"
		r.event(event)
		if live != nil && r.text.Len() > before {
			live(r.text.String()[before:])
			before = r.text.Len()
		}
	}
	err := errors.Join(events.Err(), events.Close())
	switch {
	case ended:
		return nil
	case err == nil, errors.Is(err, io.ErrUnexpectedEOF):
		return models.ErrCutStream
	}
	return err
}

func (r *anthropicReply) event(e anthropic.MessageStreamEventUnion) {
	switch e.Type {
	case "message_start":
		r.begin(&e.Message)
		r.end(e.Message.StopReason, e.Message.StopDetails)
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			r.blocks = append(r.blocks, &callBlock{index: e.Index, name: e.ContentBlock.Name})
		}
		r.text.WriteString(e.ContentBlock.Text)
	case "content_block_delta":
		r.text.WriteString(e.Delta.Text)
		r.argument(e.Index, e.Delta.PartialJSON)
	case "message_delta":
		r.end(e.Delta.StopReason, e.Delta.StopDetails)
		r.count(e.Usage)
	}
}

// argument adds to the arguments of the call that is the block of that index.
func (r *anthropicReply) argument(index int64, piece string) {
	if n := len(r.blocks); piece != "" && n > 0 {
		for i := n - 1; i >= 0; i-- {
			if r.blocks[i].index == index {
				r.blocks[i].arguments.WriteString(piece)
				return
			}
		}
	}
}

// count applies the totals at the end of a message; missing ones keep their earlier values.
func (r *anthropicReply) count(u anthropic.MessageDeltaUsage) {
	for _, c := range []struct {
		to    *int64
		given bool
		value int64
	}{
		{&r.last.output, u.JSON.OutputTokens.Valid(), u.OutputTokens},
		{&r.last.input, u.JSON.InputTokens.Valid(), u.InputTokens},
		{&r.last.written, u.JSON.CacheCreationInputTokens.Valid(), u.CacheCreationInputTokens},
		{&r.last.cached, u.JSON.CacheReadInputTokens.Valid(), u.CacheReadInputTokens},
	} {
		if c.given {
			*c.to = c.value
		}
	}
}

func (r *anthropicReply) calls() []api.Call {
	var calls []api.Call
	for _, b := range r.blocks {
		calls = append(calls, api.Call{Tool: b.name, Arguments: b.arguments.String()})
	}
	return calls
}

func (r *anthropicReply) usage() api.Usage {
	t := r.base.plus(r.last)
	return api.Usage{InputTokens: int(t.input + t.written + t.cached), OutputTokens: int(t.output),
		CachedTokens: int(t.cached), WrittenTokens: int(t.written)}
}

// response returns what the model answered.
func (r *anthropicReply) response() (api.ModelResponse, error) {
	response := api.ModelResponse{Message: api.Message{Text: r.text.String(), Calls: r.calls()},
		Stop: api.StopAnswer, Model: r.model, Usage: r.usage()}
	m := &response.Message
	switch r.stop {
	case "":
		return api.ModelResponse{}, &models.Error{Message: models.ErrCutStream.Error() +
			": it does not say why it stopped"}
	case anthropic.StopReasonModelContextWindowExceeded:
		return api.ModelResponse{}, &models.Error{Overflow: true,
			Message: "the conversation and the answer together are longer than the model's window"}
	case anthropic.StopReasonRefusal:
		// Calls begun before the refusal do not count.
		response.Stop, m.Calls = api.StopRefusal, nil
		m.Text = refusalText(m.Text, r.why)
		return response, nil
	case anthropic.StopReasonMaxTokens, anthropic.StopReasonPauseTurn:
		response.Stop = api.StopLength
	}
	if len(m.Calls) > 0 {
		response.Stop = api.StopCalls
	}
	return response, nil
}

// refusalText returns the words of a refusal: the model's, and the provider's.
func refusalText(text, why string) string {
	switch {
	case why == "" && blank(text):
		return "the provider withheld the answer"
	case why == "":
		return text
	case blank(text):
		return why
	}
	return fmt.Sprintf("%s [%s]", text, why)
}
