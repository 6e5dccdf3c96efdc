package models

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Choice returns how the model chooses among the prompt's tools: api.ChoiceAuto,
// ChoiceRequired, ChoiceNone, or the name of a tool. A requirement holds until the model has met it
// since the last user message; after that the choice is free, because a model that must always call
// a tool could never answer.
func (p Prompt) Choice() string {
	choice := p.Agent.Model.ToolChoice
	if p.Limit != "" || len(p.Tools) == 0 {
		return api.ChoiceNone
	}
	switch choice {
	case "", api.ChoiceAuto:
		return api.ChoiceAuto
	case api.ChoiceNone:
		return choice
	}
	if choice != api.ChoiceRequired && !slices.ContainsFunc(p.Tools,
		func(o Offer) bool { return o.Name == choice }) {
		return api.ChoiceAuto // it was disabled since
	}
	if p.met(choice) {
		return api.ChoiceAuto
	}
	return choice
}

// Declared returns the tools that a request declares: those that the model may call, else those
// that
// the conversation has calls of, because some providers refuse calls of undeclared tools.
func (p Prompt) Declared() []Offer {
	if len(p.Tools) > 0 {
		return p.Tools
	}
	var called []Offer
	for _, m := range p.Messages {
		for _, c := range m.Calls {
			name := LegalName(c.Tool)
			if !slices.ContainsFunc(called, func(o Offer) bool { return o.Name == name }) {
				called = append(called, Offer{Name: name,
					Schema: json.RawMessage(`{"type":"object","properties":{}}`)})
			}
		}
	}
	return called
}

// met reports whether the model has made the required call. Summarized messages count as having met
// it.
func (p Prompt) met(choice string) bool {
	for _, m := range slices.Backward(p.Messages) {
		if m.Role == api.RoleUser {
			return m.IsSummary()
		}
		if slices.ContainsFunc(m.Calls,
			func(c api.Call) bool { return choice == api.ChoiceRequired || c.Tool == choice }) {
			return true
		}
	}
	return false
}

// Single reports whether the model may request only one call at a time.
func (p Prompt) Single() bool {
	parallel := p.Agent.Model.ParallelCalls
	return parallel != nil && !*parallel
}

// PairResults returns a conversation in the form that providers accept: each message with calls is
// followed by their results, once each and in the order of the calls. A note replaces a missing
// result; a result without a call becomes a user message.
func PairResults(messages []api.Message) []api.Message {
	whole := make([]api.Message, 0, len(messages))
	for len(messages) > 0 {
		m := messages[0]
		rest := messages[1:]
		end := slices.IndexFunc(rest,
			func(m api.Message) bool { return m.Role == api.RoleAssistant })
		if end < 0 {
			end = len(rest)
		}
		if m.Role != api.RoleAssistant {
			whole, messages = append(whole, loose(m)), rest
			continue
		}
		whole = append(append(whole, m), answersTo(m.Calls, rest[:end])...)
		messages = rest[end:]
	}
	return whole
}

// answersTo returns the results of calls in their order, followed by all other following messages.
func answersTo(calls []api.Call, following []api.Message) []api.Message {
	at := make(map[string]int, len(following))
	for i, m := range following {
		if _, twice := at[m.CallID]; !twice && m.Role == api.RoleTool {
			at[m.CallID] = i
		}
	}
	taken := make([]bool, len(following))
	answers := make([]api.Message, 0, len(following))
	for _, c := range calls {
		i, ok := at[c.ID]
		if !ok {
			answers = append(answers, api.Message{Role: api.RoleTool, CallID: c.ID, Failed: true,
				Text: "This call has no result."})
			continue
		}
		taken[i] = true
		answers = append(answers, following[i])
	}
	for i, m := range following {
		if !taken[i] {
			answers = append(answers, loose(m))
		}
	}
	return answers
}

// loose converts a message that answers no call of the message before it.
func loose(m api.Message) api.Message {
	if m.Role == api.RoleTool {
		return api.Message{Role: api.RoleUser, Text: "The result of call " + m.CallID + ": " +
			m.Text}
	}
	return m
}

// LegalName replaces illegal characters of a tool name that a model produced with _, because
// providers validate the conversation they are sent.
func LegalName(name string) string {
	if api.CheckToolName(name) == nil {
		return name
	}
	legal := strings.Map(func(r rune) rune {
		if api.CheckToolName(string(r)) == nil {
			return r
		}
		return '_'
	}, name)
	return legal[:min(len(legal), api.MaxToolName)] + strings.Repeat("_", max(0, 1-len(legal)))
}

// CallID returns the id of a call by which providers know it that did not give it one: nine letters
// and digits, because Mistral's models take no others.
func CallID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:9]
}

// UnwrapArguments returns the arguments of a call that a server has encoded twice, as a text that
// has the object (Granite and GLM behind vLLM); others unchanged.
func UnwrapArguments(text string) string {
	var inner string
	if json.Unmarshal([]byte(text), &inner) != nil {
		return text
	}
	if trimmed := strings.TrimSpace(inner); strings.HasPrefix(trimmed, "{") &&
		json.Valid([]byte(trimmed)) {
		return trimmed
	}
	return text
}

// Encode encodes a value that has a JSON form.
func Encode(value any) json.RawMessage {
	data, err := jsonvalue.Encode(value)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// LegalArguments replaces arguments that are not JSON by an object that quotes them.
func LegalArguments(text string) string {
	if strings.TrimSpace(text) == "" {
		return "{}" // as admission reads it
	}
	if json.Valid([]byte(text)) {
		return text
	}
	quoted, err := jsonvalue.Encode(map[string]string{"not_json": text})
	if err != nil {
		return "{}"
	}
	return string(quoted)
}
