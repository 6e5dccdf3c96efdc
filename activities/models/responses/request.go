package responses

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
)

// optional are parameters that a request goes without if the server refuses them by name: models
// that reason take no temperature, others no include, and compatible servers know fewer.
var optional = []string{"include", "max_output_tokens", "parallel_tool_calls", "prompt_cache_key",
	"store", "stream_options", "temperature", "tool_choice"}

// newRequest returns the request for a prompt, whose conversation is items, to a server with these
// quirks. The instructions are
// the first item: the field instructions would be put behind the conversation and never come from
// the cache.
func newRequest(p models.Prompt, items []any, q *models.Quirks) openai.Request {
	model := p.Agent.Model
	r := openai.Request{"model": model.Name, "input": items, "store": false,
		"include": []string{"reasoning.encrypted_content"}}
	if p.Key != "" {
		r["prompt_cache_key"] = p.Key
	}
	if model.Temperature != nil {
		r["temperature"] = *model.Temperature
	}
	if model.MaxTokens > 0 {
		r["max_output_tokens"] = model.MaxTokens
	}
	if p.Live != nil {
		r["stream"], r["stream_options"] = true, map[string]bool{"include_obfuscation": false}
	}
	offer(r, p)
	for _, name := range optional {
		if q.Has(name) {
			delete(r, name)
		}
	}
	if q.Has(openai.QuirkStream) {
		delete(r, "stream")
		delete(r, "stream_options")
	}
	return r
}

// offer adds the tools, and how the model is to choose among them where that is not the provider's
// own default.
func offer(r openai.Request, p models.Prompt) {
	var tools []any
	for _, t := range p.Declared() {
		tools = append(tools, map[string]any{"type": "function", "name": t.Name,
			"description": t.Description, "parameters": t.Schema, "strict": false})
	}
	if len(tools) == 0 {
		return
	}
	r["tools"] = tools
	switch choice := p.Choice(); choice {
	case api.ChoiceAuto:
	case api.ChoiceRequired, api.ChoiceNone:
		r["tool_choice"] = choice
	default:
		r["tool_choice"] = map[string]string{"type": "function", "name": choice}
	}
	if p.Single() {
		r["parallel_tool_calls"] = false
	}
}

// item is an item of a conversation.
type item map[string]any

// newItems returns the conversation, and its digest for Native.Prefix.
func newItems(p models.Prompt, endpoint string) (items []any, prefix string) {
	paired := models.PairResults(p.Messages)
	forms, prefix := p.Fidelities(paired, api.Native{Dialect: api.DialectResponses,
		Endpoint: endpoint, Model: p.Agent.Model.Name})
	ids := map[string]string{}
	for i, m := range paired {
		switch m.Role {
		case api.RoleSystem:
			items = append(items, item{"role": "developer", "content": m.Text})
		case api.RoleTool:
			items = append(items, item{"type": "function_call_output", "call_id": ids[m.CallID],
				"output": output(m, p.Images[m.CallID])})
		case api.RoleAssistant:
			items = append(items, assistant(m, forms[i], ids)...)
		default:
			items = append(items, item{"role": "user", "content": m.Text})
		}
	}
	if p.Limit != "" {
		items = append(items, item{"role": "user",
			"content": fmt.Sprintf(models.LimitPrompt, p.Limit)})
	}
	return items, prefix
}

// output returns the result of a call: its text, followed by its images.
func output(m api.Message, images []models.Image) any {
	if len(images) == 0 {
		return m.Text
	}
	parts := []item{{"type": "input_text", "text": m.Text}}
	for _, i := range images {
		parts = append(parts, item{"type": "input_image", "image_url": "data:" + i.MIMEType +
			";base64," + base64.StdEncoding.EncodeToString(i.Data)})
	}
	return parts
}

// assistant returns a model's message: as the server sent it, if it comes from there, else in the
// words that any model reads. It adds the server's ids of its calls to ids.
func assistant(m api.Message, form models.Fidelity, ids map[string]string) (items []any) {
	if native, ok := readNative(m, ids); form != models.Projected && ok {
		return sendNative(native, form)
	}
	if m.Text != "" {
		items = append(items, item{"role": "assistant", "content": m.Text})
	}
	for _, c := range m.Calls {
		ids[c.ID] = models.CallID(c.ID)
		items = append(items, item{"type": "function_call", "call_id": ids[c.ID],
			"name": models.LegalName(c.Tool), "arguments": models.LegalArguments(c.Arguments)})
	}
	return items
}

// callsAnew reports whether the item is a call with an id that is not among others.
func (i nativeItem) callsAnew(others []string) bool {
	return i.Type == "function_call" && i.CallID != "" && !slices.Contains(others, i.CallID)
}

// sendNative returns the items of a message that are sent again. Without its reasoning, an item has
// no id: the server would look for the reasoning that it kept with it.
func sendNative(native []nativeItem, form models.Fidelity) (items []any) {
	whole := !slices.ContainsFunc(native, func(i nativeItem) bool { return !i.isSent(form) })
	for _, i := range native {
		switch {
		case whole:
			items = append(items, i.data)
		case i.isSent(form):
			items = append(items, i.withoutID())
		}
	}
	return items
}

// withoutID returns the item without its id.
func (i nativeItem) withoutID() json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(i.data, &members) != nil {
		return i.data
	}
	delete(members, "id")
	return models.Encode(members)
}

// nativeItem is an item as the server sent it, and what this package reads of it.
type nativeItem struct {
	data             json.RawMessage
	Type             string
	CallID           string `json:"call_id"`
	EncryptedContent string `json:"encrypted_content"`
}

// isSent reports whether the item is sent again. Reasoning that the server did not encrypt is
// nowhere, because it keeps nothing.
func (i nativeItem) isSent(form models.Fidelity) bool {
	return i.Type != "reasoning" || form == models.Verbatim && i.EncryptedContent != ""
}

// readNative returns the items of a message as the server sent it.
func readNative(m api.Message, ids map[string]string) (items []nativeItem, ok bool) {
	var list []json.RawMessage
	if m.Native == nil || json.Unmarshal(m.Native.Items, &list) != nil {
		return nil, false
	}
	var calls []string // none twice, so that results can be told apart
	for _, data := range list {
		i := nativeItem{data: data}
		if json.Unmarshal(data, &i) != nil {
			return nil, false
		}
		items = append(items, i)
		if i.callsAnew(calls) {
			calls = append(calls, i.CallID)
		}
	}
	if len(calls) != len(m.Calls) {
		return nil, false // calls were left out, because the answer was too long
	}
	for n, c := range m.Calls {
		ids[c.ID] = calls[n]
	}
	return items, true
}
