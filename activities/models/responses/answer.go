package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
)

// answer is a response, whole or from its events.
type answer struct {
	Model             string
	Status            string
	Output            []json.RawMessage
	Error             json.RawMessage
	IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
	Usage             struct {
		InputTokens        int `json:"input_tokens"`
		OutputTokens       int `json:"output_tokens"`
		InputTokensDetails struct {
			CachedTokens     int `json:"cached_tokens"`
			CacheWriteTokens int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
	}
	// InputTransformations lists what the server took out of the request, such as reasoning that is
	// bound to another prefix.
	InputTransformations []struct{ Type string } `json:"input_transformations"`
	// items are those of a stream so far, by their places.
	items []json.RawMessage
}

// maxItems bounds the items of a streamed answer.
const maxItems = 10_000

// event is an event of a streamed response.
type event struct {
	Type        string
	Delta       string
	OutputIndex int `json:"output_index"`
	Item        json.RawMessage
	Response    json.RawMessage
}

// decode reads a response that is not streamed.
func (a *answer) decode(body io.Reader) error {
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, a); err != nil {
		return err
	}
	return a.check()
}

// check returns the error that a response has in place of an answer; nil for an answer.
func (a *answer) check() error {
	if len(a.Error) > 0 && string(a.Error) != "null" {
		return openai.DecodeError(a.Error)
	}
	if a.Status == "failed" || a.Status == "cancelled" {
		return &models.Error{Message: "the model's server answered that the response is " + a.Status}
	}
	return nil
}

// follow reads a streamed response to its end; say takes the pieces of its text.
func (a *answer) follow(response *http.Response, say func(string)) error {
	events := ssestream.NewDecoder(response)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if len(data) == 0 || bytes.HasPrefix(data, []byte("[DONE]")) {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return &models.Error{Message: "the model's server sent an event that is no JSON: " +
				err.Error()}
		}
		if ended, err := a.take(e, data, say); ended || err != nil {
			return err
		}
	}
	return cmp.Or(events.Err(), error(models.ErrCutStream))
}

// take takes an event, whose JSON is data, and reports whether it is the last one.
func (a *answer) take(e event, data []byte, say func(string)) (ended bool, err error) {
	switch e.Type {
	case "response.output_text.delta", "response.refusal.delta":
		say(e.Delta)
	case "response.output_item.done":
		return false, a.place(e)
	case "error":
		return true, cmp.Or(openai.BodyError(data), openai.DecodeError(data))
	case "response.completed", "response.incomplete", "response.failed":
		if err := json.Unmarshal(e.Response, a); err != nil {
			return true, err
		}
		if len(a.Output) == 0 {
			a.Output = slices.DeleteFunc(a.items, func(i json.RawMessage) bool { return i == nil })
		}
		return true, a.check()
	}
	return false, nil
}

// place puts an item where it belongs.
func (a *answer) place(e event) error {
	if e.OutputIndex < 0 || e.OutputIndex >= maxItems {
		return &models.Error{Message: "the model's server sent an item at an impossible place"}
	}
	a.items = append(a.items, slices.Repeat([]json.RawMessage{nil},
		max(0, e.OutputIndex+1-len(a.items)))...)
	a.items[e.OutputIndex] = e.Item
	return nil
}

// outputItem is what this package reads of an item of a response.
type outputItem struct {
	Type, Name, Arguments string
	CallID                string `json:"call_id"`
	Content               []struct{ Type, Text, Refusal string }
	Summary               []struct{ Text string }
}

// response returns what the model answered.
func (a *answer) response() (api.ModelResponse, error) {
	r := api.ModelResponse{Model: a.Model, Stop: api.StopAnswer,
		Usage: api.Usage{InputTokens: a.Usage.InputTokens, OutputTokens: a.Usage.OutputTokens,
			CachedTokens:  a.Usage.InputTokensDetails.CachedTokens,
			WrittenTokens: a.Usage.InputTokensDetails.CacheWriteTokens},
		ReasoningLost: slices.ContainsFunc(a.InputTransformations,
			func(t struct{ Type string }) bool { return t.Type == "reasoning" })}
	m := &r.Message
	refusal, err := a.read(m)
	if err != nil {
		return r, err
	}
	switch {
	case refusal != "", a.IncompleteDetails.Reason == "content_filter":
		m.Text = cmp.Or(refusal, m.Text, "the provider's content filter withheld the answer")
		m.Calls, r.Stop = nil, api.StopRefusal
		return r, nil
	case a.Status == "incomplete":
		r.Stop = api.StopLength
	case len(m.Calls) > 0:
		r.Stop = api.StopCalls
	}
	return r, nil
}

// read reads the items into a message, and returns the words of a refusal.
func (a *answer) read(m *api.Message) (refusal string, err error) {
	var thoughts []string
	for _, data := range a.Output {
		var i outputItem
		if err := json.Unmarshal(data, &i); err != nil {
			return "", &models.Error{Message: "the model's server sent an item that is none: " +
				err.Error()}
		}
		for _, part := range i.Content {
			if i.Type == "message" {
				m.Text += part.Text
				refusal += part.Refusal
			}
		}
		for _, s := range i.Summary {
			thoughts = append(thoughts, s.Text)
		}
		if i.Type == "function_call" {
			m.Calls = append(m.Calls, api.Call{Tool: i.Name, Arguments: i.Arguments})
		}
	}
	m.Thought = strings.Join(thoughts, "\n\n")
	return refusal, nil
}

// legalItems returns items that the server takes back: it refuses calls of its own models whose
// names or arguments are not legal, and, of an answer that was cut off, reasoning that nothing
// follows.
func legalItems(items []json.RawMessage, cut bool) []json.RawMessage {
	for cut && len(items) > 0 && isReasoning(items[len(items)-1]) {
		items = items[:len(items)-1]
	}
	legal := make([]json.RawMessage, len(items))
	for n, data := range items {
		legal[n] = legalItem(data)
	}
	return legal
}

func legalItem(data json.RawMessage) json.RawMessage {
	var i outputItem
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &i) != nil || i.Type != "function_call" ||
		json.Unmarshal(data, &members) != nil {
		return data
	}
	name, arguments := models.LegalName(i.Name), models.LegalArguments(i.Arguments)
	if name == i.Name && arguments == i.Arguments {
		return data // byte for byte
	}
	members["name"], members["arguments"] = models.Encode(name), models.Encode(arguments)
	return models.Encode(members)
}

func isReasoning(data json.RawMessage) bool {
	var i outputItem
	return json.Unmarshal(data, &i) == nil && i.Type == "reasoning"
}
