package chat

import (
	"maps"
	"regexp"
	"slices"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
)

// quirkUserAfterTool: no message of the user may follow a result (Mistral).
const quirkUserAfterTool = "a user after a tool"

// userAfterTool matches Mistral's "Unexpected role 'user' after role 'tool'".
var userAfterTool = regexp.MustCompile(`(?i)\buser\b.{0,20}\bafter\b.{0,20}\btool\b`)

// parameters are what a request goes without if the server refuses it by name, with what takes its
// place; empty for nothing. OpenAI wants max_completion_tokens, many servers know only max_tokens,
// and models that reason take no temperature.
var parameters = map[string]string{
	"max_completion_tokens": "max_tokens",
	"max_tokens":            "",
	"stream_options":        "",
	"parallel_tool_calls":   "",
	"temperature":           "",
	"tool_choice":           "",
}

// adapt takes from a request what the server refuses.
func adapt(r openai.Request, q *models.Quirks) {
	for _, name := range slices.Sorted(maps.Keys(parameters)) { // max_tokens comes second
		value, set := r[name]
		if !set || !q.Has(name) {
			continue
		}
		delete(r, name)
		if other := parameters[name]; other != "" && !q.Has(other) {
			r[other] = value
		}
	}
	if q.Has(openai.QuirkStream) {
		delete(r, "stream")
		delete(r, "stream_options")
	}
}

// standardMembers are the members of messages that every server knows.
var standardMembers = []string{"role", "content", "tool_calls", "tool_call_id"}

// findNamed returns what a refusal names of the messages of a request: members that the server
// itself has put into messages of the assistant, and the quirks with names of ours.
func findNamed(r openai.Request, refusal string) (names []string) {
	sent, _ := r["messages"].([]message)
	for _, m := range sent {
		for name := range m {
			if !slices.Contains(standardMembers, name) && models.Mentions(refusal, name) {
				names = append(names, name)
			}
		}
	}
	if userAfterTool.MatchString(refusal) {
		names = append(names, quirkUserAfterTool)
	}
	return names
}
