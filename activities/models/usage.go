package models

import (
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
)

// CountUsage estimates the usage of a model step whose provider reports none.
func CountUsage(p Prompt, answer api.Message) api.Usage {
	u := api.Usage{OutputTokens: messageTokens(answer)}
	for _, m := range p.Messages {
		u.InputTokens += messageTokens(m)
	}
	for _, t := range p.Tools {
		u.InputTokens += tokens.Count(t.Name) + tokens.Count(t.Description) +
			tokens.Count(string(t.Schema))
	}
	return u
}

// FinalizeUsage sets the usage of a response to our own count if the provider reports none.
func FinalizeUsage(p Prompt, response *api.ModelResponse) {
	own := CountUsage(p, response.Message)
	switch {
	case response.Usage.InputTokens+response.Usage.OutputTokens == 0:
		response.Usage = own
	case len(p.Images) == 0:
		response.Estimated = own.InputTokens + own.OutputTokens
	}
}

func messageTokens(m api.Message) int {
	n := tokens.Count(m.Text)
	for _, c := range m.Calls {
		n += tokens.Count(c.Tool) + tokens.Count(c.Arguments)
	}
	return n
}
