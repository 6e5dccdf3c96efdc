package chat

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
)

// Provider calls models with chat completions. Use New to make one.
type Provider struct{ *openai.Server }

// New returns the provider of a server.
func New(s *openai.Server) Provider { return Provider{s} }

// Answer makes a model step. It counts tokens that the server does not report.
func (o Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	var a *answer
	err := o.Do(ctx, openai.Exchange{Path: "chat/completions", Model: p.Agent.Model.Name,
		Request: func(q *models.Quirks) openai.Request { return newRequest(p, o.Endpoint, q) },
		Read: func(r *http.Response) error {
			a = newAnswer(p.Tools)
			if models.NotStreamed(r) {
				return a.decode(r.Body)
			}
			return a.follow(r, p.Say)
		},
		Parameters: slices.Sorted(maps.Keys(parameters)), Named: findNamed})
	if err != nil {
		return api.ModelResponse{}, err
	}
	response, err := a.response(o.Endpoint, p.Agent.Model.Name)
	if err == nil {
		models.FinalizeUsage(p, &response)
	}
	return response, err
}

// newRequest returns the request for a prompt to a server with these quirks.
func newRequest(p models.Prompt, endpoint string, q *models.Quirks) openai.Request {
	model := p.Agent.Model
	r := openai.Request{"model": model.Name, "messages": newMessages(p, endpoint, q)}
	if model.Temperature != nil {
		r["temperature"] = *model.Temperature
	}
	if model.MaxTokens > 0 {
		r["max_completion_tokens"] = model.MaxTokens
	}
	if p.Live != nil {
		r["stream"], r["stream_options"] = true, map[string]bool{"include_usage": true}
	}
	offer(r, p)
	adapt(r, q)
	return r
}

// offer adds the tools, and how the model is to choose among them where that is not the provider's
// own default.
func offer(r openai.Request, p models.Prompt) {
	var tools []any
	for _, t := range p.Declared() {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Description, "parameters": t.Schema}})
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
		r["tool_choice"] = map[string]any{"type": "function",
			"function": map[string]string{"name": choice}}
	}
	if p.Single() {
		r["parallel_tool_calls"] = false
	}
}
