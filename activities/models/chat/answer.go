package chat

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
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

// text returns a member that is a text; empty if it is none.
func (m members) text(name string) (text string) {
	_ = json.Unmarshal(m[name], &text) // another value is no text
	return text
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
	attached pieces
	usage    api.Usage
	// ended is set once the server said that the answer is complete.
	ended bool
	// choices is set once there was anything of the answer.
	choices bool
}

func newAnswer(tools []models.Offer) *answer {
	a := &answer{}
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
		if a.content.text == "" && len(a.calls.list) == 0 { // else it repeats the deltas
			a.addMembers(choice.Message, true)
		}
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
	a.attached.add(m)
}

// Why an answer ended before its end: at a length, or because the server gave it up.
var (
	cutReasons    = []string{"length", "model_length", "max_tokens", "MAX_TOKENS"}
	brokenReasons = []string{"error", "abort", "insufficient_system_resource"}
)

// response returns what the model answered.
func (a *answer) response(endpoint, model string) (api.ModelResponse, error) {
	if !a.choices {
		return api.ModelResponse{}, &models.Error{Message: "the model's answer has no choices"}
	}
	if slices.Contains(brokenReasons, a.finish) {
		return api.ModelResponse{}, &models.Error{Message: models.ErrCutStream.Error() + ": " +
			a.finish}
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
	case slices.Contains(cutReasons, a.finish):
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
	for name, value := range a.attached.whole() {
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
	return models.Encode(out)
}

// thought returns the reasoning that people may read.
func (a *answer) thought() string {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		if text := a.attached.texts[name]; text != nil && text.Len() > 0 {
			return text.String()
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
			c.parts = append(c.parts, members{"type": models.Encode("text"), "text": models.Encode(text)})
		}
		return
	}
	var parts []members
	if json.Unmarshal(value, &parts) != nil {
		return
	}
	if c.parts == nil && c.text != "" {
		c.parts = []members{{"type": models.Encode("text"), "text": models.Encode(c.text)}}
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
		c.text += p.text("text")
	case "thinking":
		var inner []members
		_ = json.Unmarshal(p["thinking"], &inner) // another form is not shown
		for _, t := range inner {
			c.thought += t.text("text")
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

// pieces puts the members of an object together that come in pieces. Texts follow each other. So do
// lists, in which an object continues the last one if both have the same index and type
// (OpenRouter's reasoning_details). Of other values the last one holds.
type pieces struct {
	values members
	texts  map[string]*strings.Builder
	lists  map[string][]*pieces
}

// add adds a piece of the object.
func (p *pieces) add(m members) {
	if p.values == nil {
		*p = pieces{members{}, map[string]*strings.Builder{}, map[string][]*pieces{}}
	}
	for name, value := range m {
		var text string
		var list []members
		switch {
		case string(value) == "null":
		case p.lists[name] == nil && json.Unmarshal(value, &text) == nil:
			p.addText(name, text)
		case json.Unmarshal(value, &list) == nil:
			p.addList(name, list)
		default:
			p.values[name] = value
		}
	}
}

// naming are the texts of a part that name it: the last one holds.
var naming = []string{"type", "format", "id"}

func (p *pieces) addText(name, text string) {
	if p.texts[name] == nil || slices.Contains(naming, name) {
		p.texts[name] = &strings.Builder{}
	}
	p.texts[name].WriteString(text)
}

func (p *pieces) addList(name string, list []members) {
	for _, m := range list {
		parts := p.lists[name]
		if n := len(parts); n == 0 || !parts[n-1].continues(m) {
			p.lists[name] = append(parts, &pieces{})
		}
		p.lists[name][len(p.lists[name])-1].add(m)
	}
	if len(list) == 0 && p.lists[name] == nil {
		p.values[name] = json.RawMessage("[]")
	}
}

// continues reports whether m continues the object.
func (p *pieces) continues(m members) bool {
	kind := ""
	if t := p.texts["type"]; t != nil {
		kind = t.String()
	}
	return m["index"] != nil && bytes.Equal(m["index"], p.values["index"]) &&
		jsonvalue.Plain(m["type"]) == kind
}

// whole returns the object.
func (p *pieces) whole() members {
	all := members{}
	maps.Copy(all, p.values)
	for name, text := range p.texts {
		all[name] = models.Encode(text.String())
	}
	for name, list := range p.lists {
		parts := make([]members, len(list))
		for i, part := range list {
			parts[i] = part.whole()
		}
		all[name] = models.Encode(parts)
	}
	return all
}

// isBlank reports whether a text has nothing to read.
func isBlank(text string) bool { return strings.TrimSpace(text) == "" }
