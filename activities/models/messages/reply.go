package messages

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// anthropicReply is what a model has answered so far: whole messages, or the events of streamed
// ones. The client's own way to put events together loses arguments that are no JSON, and the model
// is to be told of those.
type anthropicReply struct {
	text   strings.Builder
	blocks []*block
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

// block is a block of an answer.
type block struct {
	index int64
	kind  string
	// fields are the members as the block began, the rest what was added to them since.
	fields                               map[string]json.RawMessage
	text, thinking, signature, arguments strings.Builder
	citations                            []json.RawMessage
}

// newBlock returns a block from its JSON.
func newBlock(index int64, data string) *block {
	b := &block{index: index}
	_ = json.Unmarshal([]byte(data), &b.fields) // another form has no members
	b.kind = jsonvalue.Plain(b.fields["type"])
	for name, to := range map[string]*strings.Builder{"text": &b.text, "thinking": &b.thinking,
		"signature": &b.signature} {
		var text string
		_ = json.Unmarshal(b.fields[name], &text) // null is none
		to.WriteString(text)
	}
	return b
}

// argumentText returns the arguments of a call: those that came in pieces, else those that the
// block began with.
func (b *block) argumentText() string {
	if b.arguments.Len() > 0 {
		return b.arguments.String()
	}
	return string(b.fields["input"])
}

// native returns the block as the provider wants it back.
func (b *block) native() json.RawMessage {
	fields := maps.Clone(b.fields)
	switch b.kind {
	case "text":
		fields["text"] = models.Encode(b.text.String())
		if len(b.citations) > 0 {
			fields["citations"] = models.Encode(b.citations)
		}
	case "thinking":
		fields["thinking"], fields["signature"] = models.Encode(b.thinking.String()),
			models.Encode(b.signature.String())
	case "tool_use":
		fields["name"] = models.Encode(models.LegalName(jsonvalue.Plain(fields["name"])))
		fields["input"] = legalObject(b.argumentText())
	}
	return models.Encode(fields)
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
		r.blocks = append(r.blocks, newBlock(-1, b.RawJSON()))
		r.text.WriteString(b.Text)
	}
}

// natives returns the blocks so far as the provider wants them back. It refuses those without text,
// and reasoning that was cut off, which has no signature.
func (r *anthropicReply) natives() []json.RawMessage {
	natives := []json.RawMessage{}
	for i, b := range r.blocks {
		if cut := b.kind == "thinking" && b.signature.Len() == 0; cut && i == len(r.blocks)-1 {
			continue
		}
		if b.kind != "text" || !blank(b.text.String()) {
			natives = append(natives, b.native())
		}
	}
	return natives
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
		r.blocks = append(r.blocks, newBlock(e.Index, e.ContentBlock.RawJSON()))
		r.text.WriteString(e.ContentBlock.Text)
	case "content_block_delta":
		r.text.WriteString(e.Delta.Text)
		r.extend(e.Index, e.Delta)
	case "message_delta":
		r.end(e.Delta.StopReason, e.Delta.StopDetails)
		r.count(e.Usage)
	}
}

// extend adds a piece to the last block of that index.
func (r *anthropicReply) extend(index int64, d anthropic.MessageStreamEventUnionDelta) {
	for _, b := range slices.Backward(r.blocks) {
		if b.index != index {
			continue
		}
		b.text.WriteString(d.Text)
		b.thinking.WriteString(d.Thinking)
		b.signature.WriteString(d.Signature)
		b.arguments.WriteString(d.PartialJSON)
		if citation := d.Citation.RawJSON(); citation != "" && citation != "null" {
			b.citations = append(b.citations, json.RawMessage(citation))
		}
		return
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
		if b.kind == "tool_use" {
			calls = append(calls, api.Call{Tool: jsonvalue.Plain(b.fields["name"]),
				Arguments: b.argumentText()})
		}
	}
	return calls
}

// thought returns the reasoning that people may read.
func (r *anthropicReply) thought() string {
	var thoughts []string
	for _, b := range r.blocks {
		if text := b.thinking.String(); !blank(text) {
			thoughts = append(thoughts, text)
		}
	}
	return strings.Join(thoughts, "\n\n")
}

func (r *anthropicReply) usage() api.Usage {
	t := r.base.plus(r.last)
	return api.Usage{InputTokens: int(t.input + t.written + t.cached), OutputTokens: int(t.output),
		CachedTokens: int(t.cached), WrittenTokens: int(t.written)}
}

// response returns what the model answered.
func (r *anthropicReply) response() (api.ModelResponse, error) {
	response := api.ModelResponse{Message: api.Message{Text: r.text.String(), Calls: r.calls(),
		Thought: r.thought()},
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
		return response, nil
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
