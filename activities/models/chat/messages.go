package chat

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// message is a message of a request.
type message map[string]any

// newMessages returns the conversation. Instructions are one message at its beginning, because some
// servers take no second one. The images of a turn's results follow them in a message of the user:
// the protocol takes none in results.
func newMessages(p models.Prompt, endpoint string, q *models.Quirks) []message {
	c := conversation{origin: api.Native{Dialect: api.DialectChat, Endpoint: endpoint,
		Model: p.Agent.Model.Name}, ids: map[string]string{}, quirks: q}
	var system []string
	paired := models.PairResults(p.Messages)
	forms, _ := p.Fidelities(paired, c.origin)
	for i, m := range paired {
		if m.Role == api.RoleSystem {
			system = append(system, m.Text)
			continue
		}
		if m.Role != api.RoleTool {
			c.show()
		}
		c.add(m, forms[i] == models.Verbatim)
		for _, i := range p.Images[m.CallID] {
			c.shown = append(c.shown,
				map[string]any{"type": "text", "text": "An image in the result of call " + m.CallID + ":"},
				map[string]any{"type": "image_url", "image_url": map[string]string{
					"url": "data:" + i.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(i.Data)}})
		}
	}
	c.show()
	if p.Limit != "" {
		c.limit(fmt.Sprintf(models.LimitPrompt, p.Limit))
	}
	if len(system) == 0 {
		return c.messages
	}
	return slices.Insert(c.messages, 0,
		message{"role": "system", "content": strings.Join(system, "\n\n")})
}

// conversation is the messages of a request in the making.
type conversation struct {
	origin   api.Native
	quirks   *models.Quirks
	messages []message
	// ids are the server's ids of calls by ours.
	ids map[string]string
	// shown are the images of the results so far that no message has yet.
	shown []map[string]any
}

// show adds a message with the images of the last results.
func (c *conversation) show() {
	if len(c.shown) > 0 {
		c.messages = append(c.messages, message{"role": "user", "content": c.shown})
		c.shown = nil
	}
}

// limit adds the words about a reached limit.
func (c *conversation) limit(words string) {
	last := len(c.messages) - 1
	if c.quirks.Has(quirkUserAfterTool) && last >= 0 && c.messages[last]["role"] == "tool" {
		c.messages[last]["content"] = fmt.Sprint(c.messages[last]["content"], "\n\n", words)
		return
	}
	c.messages = append(c.messages, message{"role": "user", "content": words})
}

func (c *conversation) add(m api.Message, verbatim bool) {
	switch m.Role {
	case api.RoleTool:
		c.messages = append(c.messages, message{"role": "tool", "content": m.Text,
			"tool_call_id": c.ids[m.CallID]})
	case api.RoleAssistant:
		c.messages = append(c.messages, c.assistant(m, verbatim))
	default:
		c.messages = append(c.messages, message{"role": "user", "content": m.Text})
	}
}

// assistant returns a model's message: as the server sent it, if it comes from there, else in the
// words that any model reads.
func (c *conversation) assistant(m api.Message, verbatim bool) message {
	if native, ok := c.native(m); verbatim && ok {
		return native
	}
	out := message{"role": "assistant"}
	if m.Text != "" || len(m.Calls) == 0 {
		out["content"] = m.Text
	}
	var calls []any
	for _, call := range m.Calls {
		id := models.CallID(call.ID)
		c.ids[call.ID] = id
		calls = append(calls, map[string]any{"id": id, "type": "function",
			"function": map[string]string{"name": models.LegalName(call.Tool),
				"arguments": models.LegalArguments(call.Arguments)}})
	}
	if calls != nil {
		out["tool_calls"] = calls
	}
	return out
}

// native returns a message as its server sent it.
func (c *conversation) native(m api.Message) (message, bool) {
	var fields map[string]json.RawMessage
	var calls []struct{ ID string }
	if m.Native == nil || json.Unmarshal(m.Native.Items, &fields) != nil {
		return nil, false
	}
	if text, ok := fields["tool_calls"]; ok && json.Unmarshal(text, &calls) != nil ||
		len(calls) != len(m.Calls) {
		return nil, false // calls were left out, because the answer was too long
	}
	for i, call := range m.Calls {
		c.ids[call.ID] = calls[i].ID
	}
	out := message{}
	for name, value := range fields {
		if !c.quirks.Has(name) {
			out[name] = value
		}
	}
	return out, true
}
