package responses

import (
	"context"
	"errors"
	"net/http"

	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/models/openai"
	"github.com/switchyard/switchyard/api"
)

// Provider calls models with responses. Use New to make one.
type Provider struct{ *openai.Server }

// New returns the provider of a server.
func New(s *openai.Server) Provider { return Provider{s} }

// Answer makes a model step. If the server cannot read the reasoning in earlier messages, the
// request is made again without. It counts tokens that the server does not report.
func (o Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	response, err := o.answer(ctx, p)
	if e, ok := errors.AsType[*models.Error](err); ok && e.Thoughts {
		p.Thoughtless = true
		response, err = o.answer(ctx, p)
		response.ReasoningLost = true
	}
	if err == nil {
		models.FinalizeUsage(p, &response)
	}
	return response, err
}

func (o Provider) answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	var a *answer
	items, prefix := newItems(p, o.Endpoint)
	err := o.Do(ctx, openai.Exchange{Path: "responses", Model: p.Agent.Model.Name,
		Request: func(q *models.Quirks) openai.Request { return newRequest(p, items, q) },
		Read: func(r *http.Response) error {
			a = &answer{}
			if models.NotStreamed(r) {
				return a.decode(r.Body)
			}
			return a.follow(r, p.Say)
		},
		Parameters: optional})
	if err != nil {
		return api.ModelResponse{}, err
	}
	response, err := a.response()
	if err == nil && response.Stop != api.StopRefusal {
		response.Message.Native = &api.Native{Dialect: api.DialectResponses, Endpoint: o.Endpoint,
			Model: p.Agent.Model.Name, Prefix: prefix, Alone: p.Thoughtless,
			Items: models.Encode(legalItems(a.Output, response.Stop == api.StopLength))}
	}
	return response, err
}
