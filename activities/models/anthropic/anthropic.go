package anthropic

import (
	"context"
	"errors"
	"net/http"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// Provider calls models with the Anthropic messages protocol, at Anthropic or a compatible server.
// Use New to make one.
type Provider struct {
	models.Secret
	client anthropic.Client
}

// New returns the provider configured by the environment: ANTHROPIC_API_KEY, or
// ANTHROPIC_API_KEY_FILE that names a file with the key, and ANTHROPIC_BASE_URL. The client's own
// retries are off, because Temporal owns retries.
func New() *Provider {
	key := models.SecretFrom("ANTHROPIC_API_KEY")
	// With a key given, whatever it is, the client looks for no other credentials.
	return &Provider{Secret: key, client: anthropic.NewClient(option.WithAPIKey("in each request"),
		option.WithMaxRetries(0),
		option.WithMiddleware(key.In("X-Api-Key", ""), models.Readable))}
}

const (
	// anthropicAnswer is how many tokens an answer may have where the agent does not say: the
	// protocol wants a number.
	anthropicAnswer = 8192
	// longAnswer is from where on an answer is streamed although no reader follows: servers cut
	// connections that are silent for as long as such an answer may take.
	longAnswer = 16 << 10
	// maxPauses is how often a model may pause in an answer and be asked to go on.
	maxPauses = 8
)

// Answer makes one request, and another one each time the model pauses in its answer.
func (a *Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	if err := a.Ready(); err != nil {
		return api.ModelResponse{}, &models.Error{Message: err.Error()}
	}
	params := anthropicParams(p)
	var whole anthropicReply
	for range maxPauses {
		if err := a.ask(ctx, params, p.Live, &whole); err != nil {
			return api.ModelResponse{}, a.failure(err)
		}
		if whole.stop != anthropic.StopReasonPauseTurn || whole.text.Len() == 0 {
			break
		}
		params.Messages = append(anthropicMessages(p),
			anthropic.NewAssistantMessage(anthropic.NewTextBlock(whole.text.String())))
	}
	response, err := whole.response()
	if err == nil {
		models.FinalizeUsage(p, &response)
	}
	return response, err
}

// ask makes one request and adds its answer to reply.
func (a *Provider) ask(ctx context.Context, params anthropic.MessageNewParams, live func(string),
	reply *anthropicReply) error {
	if live != nil || params.MaxTokens > longAnswer {
		return a.stream(ctx, params, live, reply)
	}
	message, err := a.client.Messages.New(ctx, params)
	if err == nil {
		reply.add(message)
	}
	return err
}

// stream makes a request whose answer comes in pieces; say, if any, takes those of its text. A
// server may also answer at once.
func (a *Provider) stream(ctx context.Context, params anthropic.MessageNewParams, say func(string),
	reply *anthropicReply) error {
	var response *http.Response
	opened := a.client.Messages.NewStreaming(ctx, params, option.WithResponseInto(&response))
	if opened.Err() != nil || !models.NotStreamed(response) {
		return reply.follow(opened, say)
	}
	defer func() { _ = opened.Close() }() // what was read is whole without it
	message, err := models.DecodeAnswer[anthropic.Message](response.Body)
	if err == nil {
		reply.add(message)
	}
	return err
}

// failure converts an error, with whether and when to retry.
func (a *Provider) failure(err error) error {
	apiErr, ok := errors.AsType[*anthropic.Error](err)
	if !ok {
		return &models.Error{Message: a.Shown(err.Error())}
	}
	r := models.ServerRefusal{Status: apiErr.StatusCode,
		Message: models.ServerMessage([]byte(apiErr.RawJSON())),
		Broke:   apiErr.Type() == anthropic.ErrorTypeBillingError}
	switch apiErr.Type() {
	case "request_too_large":
		r.Overflow = true
	case anthropic.ErrorTypeOverloadedError, anthropic.ErrorTypeAPIError,
		anthropic.ErrorTypeRateLimitError, anthropic.ErrorTypeTimeoutError:
		r.Passing = true // in the middle of an answer the status is 200
	}
	if apiErr.Response != nil {
		r.Header = apiErr.Response.Header
	}
	return a.Secret.Failure(r)
}
