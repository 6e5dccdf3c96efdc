package models

import (
	"github.com/switchyard/switchyard/activities/tokens"
	"github.com/switchyard/switchyard/api"
)

// CountUsage estimates the usage of a model step whose provider reports none.
func CountUsage(p Prompt, answer api.Message) api.Usage {
	model := ""
	if p.Agent != nil {
		model = p.Agent.Model.Name
	}
	u := api.Usage{OutputTokens: messageTokens(model, answer)}
	for _, m := range p.Messages {
		u.InputTokens += messageTokens(model, m)
	}
	for _, t := range p.Tools {
		u.InputTokens += tokens.CountFor(model, t.Name) + tokens.CountFor(model, t.Description) +
			tokens.CountFor(model, string(t.Schema))
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

func messageTokens(model string, m api.Message) int {
	n := tokens.CountFor(model, m.Text)
	for _, c := range m.Calls {
		n += tokens.CountFor(model, c.Tool) + tokens.CountFor(model, c.Arguments)
	}
	return n
}
