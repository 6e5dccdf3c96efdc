package chat

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// completion is an answer, or an event of a streamed one. Choices have a message or a delta.
type completion struct {
	Model   string
	Choices []struct {
		Index        int64
		Message      members
		Delta        members
		FinishReason string `json:"finish_reason"`
	}
	Usage *struct {
		PromptTokens        int `json:"prompt_tokens"`
		CompletionTokens    int `json:"completion_tokens"`
		TotalTokens         int `json:"total_tokens"`
		PromptTokensDetails struct {
			CachedTokens int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		CompletionTokensDetails struct {
			ReasoningTokens int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
}

// members are the members of a JSON object.
type members map[string]json.RawMessage

// take returns a member and removes it; nil for a missing or null one.
func (m members) take(name string) json.RawMessage {
	value := m[name]
	delete(m, name)
	if string(value) == "null" {
		return nil
	}
	return value
}

// takeText is take for a text; empty if the member is none.
func (m members) takeText(name string) (text string) {
	_ = json.Unmarshal(m.take(name), &text) // another value is no text
	return text
}

// answer puts an answer together, from one piece or many.
type answer struct {
	model, finish, refusal string
	content                content
	calls                  calls
	// attached is what else the message has, such as reasoning, which the server wants back.
	attached members
	usage    api.Usage
	// ended is set once the server said that the answer is complete.
	ended bool
	// choices is set once there was anything of the answer.
	choices bool
}

func newAnswer(tools []models.Offer) *answer {
	a := &answer{attached: members{}}
	for _, t := range tools {
		a.calls.tools = append(a.calls.tools, t.Name)
	}
	return a
}

// decode reads an answer that is not streamed.
func (a *answer) decode(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		return err
	}
	if err := checkBody(data, &c); err != nil {
		return err
	}
	a.ended = true
	a.add(&c)
	return nil
}

// checkBody returns the error that a successful response has in place of an answer; nil for an
// answer.
func checkBody(data []byte, c *completion) error {
	switch {
	case len(c.Choices) == 0:
		return openai.BodyError(data)
	case c.Choices[0].FinishReason == "error":
		var body struct{ Choices []json.RawMessage }
		if json.Unmarshal(data, &body) == nil && len(body.Choices) > 0 {
			return openai.BodyError(body.Choices[0])
		}
	}
	return nil
}

// follow reads a streamed answer to its end; say takes the pieces of its text.
func (a *answer) follow(response *http.Response, say func(string)) error {
	events := ssestream.NewDecoder(response)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if len(data) == 0 {
			continue
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			a.ended = true
			break
		}
		if err := a.take(data, say); err != nil {
			return err
		}
	}
	if err := events.Err(); err != nil {
		return err
	}
	if !a.ended && a.finish == "" {
		return models.ErrCutStream
	}
	return nil
}

// take takes an event of a stream.
func (a *answer) take(data []byte, say func(string)) error {
	var c completion
	if err := json.Unmarshal(data, &c); err != nil {
		return &models.Error{Message: "the model's server sent a piece of an answer that is no JSON: " +
			err.Error()}
	}
	if err := openai.BodyError(data); err != nil {
		return err
	}
	before := len(a.content.text) + len(a.refusal)
	a.add(&c)
	if text := a.content.text + a.refusal; len(text) > before {
		say(text[before:])
	}
	return nil
}

// add adds a piece: what it has of the first choice, the only one that was asked for.
func (a *answer) add(c *completion) {
	if c.Model != "" {
		a.model = c.Model
	}
	if u := c.Usage; u != nil && u.TotalTokens+u.PromptTokens+u.CompletionTokens > 0 {
		a.usage = api.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens,
			CachedTokens: u.PromptTokensDetails.CachedTokens}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		a.choices = true
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		a.addMembers(choice.Delta, false)
		a.addMembers(choice.Message, true)
	}
}

// unreturned are members of an answer that no request has.
var unreturned = []string{"role", "annotations", "audio", "function_call"}

// addMembers adds the members of a delta, or of a whole message.
func (a *answer) addMembers(m members, whole bool) {
	for _, name := range unreturned {
		delete(m, name)
	}
	a.content.add(m.take("content"))
	a.refusal += m.takeText("refusal")
	var list []members
	if json.Unmarshal(m.take("tool_calls"), &list) == nil {
		for _, call := range list {
			a.calls.add(call, whole)
		}
	}
	for name, value := range m {
		if string(value) != "null" {
			a.attached[name] = join(a.attached[name], value)
		}
	}
}

// response returns what the model answered.
func (a *answer) response(endpoint, model string) (api.ModelResponse, error) {
	if !a.choices {
		return api.ModelResponse{}, &models.Error{Message: "the model's answer has no choices"}
	}
	a.calls.finish()
	r := api.ModelResponse{Model: a.model, Usage: a.usage, Stop: api.StopAnswer,
		Message: api.Message{Text: a.content.text, Thought: a.thought()}}
	for _, c := range a.calls.list {
		r.Message.Calls = append(r.Message.Calls, api.Call{Tool: c.name, Arguments: c.arguments})
	}
	switch {
	case a.refusal != "":
		r.Message.Text, r.Message.Calls, r.Stop = a.refusal, nil, api.StopRefusal
		return r, nil
	case a.finish == "content_filter":
		r.Stop, r.Message.Calls = api.StopRefusal, nil
		if r.Message.Text == "" {
			r.Message.Text = "the provider's content filter withheld the answer"
		}
		return r, nil
	case a.finish == "length":
		r.Stop = api.StopLength
	case len(r.Message.Calls) > 0:
		r.Stop = api.StopCalls
	}
	r.Message.Native = &api.Native{Dialect: api.DialectChat, Endpoint: endpoint, Model: model,
		Items: a.native()}
	return r, nil
}

// native returns the message as the server wants it back.
func (a *answer) native() json.RawMessage {
	out := message{"role": "assistant"}
	for name, value := range a.attached {
		out[name] = value
	}
	if content := a.content.native(); content != nil || len(a.calls.list) == 0 {
		out["content"] = content
	}
	if len(a.calls.list) > 0 {
		var list []any
		for _, c := range a.calls.list {
			list = append(list, c.native())
		}
		out["tool_calls"] = list
	}
	return openai.Encode(out)
}

// thought returns the reasoning that people may read.
func (a *answer) thought() string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text string
		if json.Unmarshal(a.attached[name], &text) == nil && text != "" {
			return text
		}
	}
	return a.content.thought
}

// content is the content of a message: a text, or a list of parts (Mistral), of which those that
// are texts are the answer.
type content struct {
	text, thought string
	parts         []members
}

// add adds a piece of content.
func (c *content) add(value json.RawMessage) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		c.text += text
		if c.parts != nil && text != "" {
			c.parts = append(c.parts, members{"type": openai.Encode("text"), "text": openai.Encode(text)})
		}
		return
	}
	var parts []members
	if json.Unmarshal(value, &parts) != nil {
		return
	}
	if c.parts == nil && c.text != "" {
		c.parts = []members{{"type": openai.Encode("text"), "text": openai.Encode(c.text)}}
	}
	for _, p := range parts {
		c.parts = append(c.parts, p)
		c.show(p)
	}
}

// show adds the texts of a part to those that people and other models read.
func (c *content) show(p members) {
	switch kind := jsonvalue.Plain(p["type"]); kind {
	case "text", "output_text":
		c.text += jsonvalue.Plain(p["text"])
	case "thinking":
		var inner []members
		_ = json.Unmarshal(p["thinking"], &inner) // another form is not shown
		for _, t := range inner {
			c.thought += jsonvalue.Plain(t["text"])
		}
	}
}

// native returns the content as the server wants it back; nil for none.
func (c *content) native() any {
	switch {
	case c.parts != nil:
		return c.parts
	case c.text == "":
		return nil
	}
	return c.text
}

// join adds a piece of a member to the pieces before it. Texts follow each other. So do lists, in
// which an object continues the last one if both have the same index and type (OpenRouter's
// reasoning_details). Of other values the last one holds.
func join(before, piece json.RawMessage) json.RawMessage {
	var head, tail string
	if json.Unmarshal(before, &head) == nil && json.Unmarshal(piece, &tail) == nil {
		return openai.Encode(head + tail)
	}
	var list, more []members
	if json.Unmarshal(before, &list) != nil || json.Unmarshal(piece, &more) != nil {
		return piece
	}
	for _, m := range more {
		if last := len(list) - 1; last >= 0 && continues(list[last], m) {
			list[last] = joinMembers(list[last], m)
		} else {
			list = append(list, m)
		}
	}
	return openai.Encode(list)
}

// continues reports whether a part continues the one before it.
func continues(before, part members) bool {
	return part["index"] != nil && bytes.Equal(part["index"], before["index"]) &&
		bytes.Equal(part["type"], before["type"])
}

// joinMembers adds a piece of a part to the pieces before it: its texts follow each other, except
// those that name the part.
func joinMembers(before, piece members) members {
	for name, value := range piece {
		if string(value) == "null" || slices.Contains([]string{"type", "format", "id", "index"}, name) {
			continue
		}
		before[name] = join(before[name], value)
	}
	return before
}

// isBlank reports whether a text has nothing to read.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
