package messages

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"sync"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// Provider calls models with the Anthropic messages protocol, at Anthropic or a compatible server.
// Use New to make one.
type Provider struct {
	models.Secret
	client   anthropic.Client
	endpoint string
	// quirks are what models refuse, by their names.
	quirks sync.Map
}

// New returns the provider configured by the environment: ANTHROPIC_API_KEY, or
// ANTHROPIC_API_KEY_FILE that names a file with the key, and ANTHROPIC_BASE_URL. The client's own
// retries are off, because Temporal owns retries.
func New() *Provider {
	key := models.SecretFrom("ANTHROPIC_API_KEY")
	// With a key given, whatever it is, the client looks for no other credentials.
	return &Provider{Secret: key, endpoint: models.EndpointFrom("ANTHROPIC_BASE_URL", "anthropic"),
		client: anthropic.NewClient(option.WithAPIKey("in each request"),
			option.WithMaxRetries(0),
			option.WithMiddleware(key.In("X-Api-Key", ""), models.Readable))}
}

const (
	// anthropicAnswer is how many tokens an answer may have where the agent does not say: the
	// protocol wants a number, and reasoning counts. Models of the third generation, oldAnswer,
	// give
	// no more.
	anthropicAnswer = 32_000
	oldAnswer       = 4096
	// longAnswer is from where on an answer is streamed although no reader follows: servers cut
	// connections that are silent for as long as such an answer may take.
	longAnswer = 16 << 10
	// maxPauses is how often a model may pause in an answer and be asked to go on.
	maxPauses = 8
)

// Answer makes one request, and another one each time the model pauses in its answer. If the
// provider refuses the reasoning in earlier messages, the request is made again without.
func (a *Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	if err := a.Ready(); err != nil {
		return api.ModelResponse{}, &models.Error{Message: err.Error()}
	}
	response, err := a.answer(ctx, p)
	if e, ok := errors.AsType[*models.Error](err); ok && e.Thoughts {
		p.Thoughtless = true
		response, err = a.answer(ctx, p)
		response.ReasoningLost = true
	}
	if err == nil {
		models.FinalizeUsage(p, &response)
	}
	return response, err
}

func (a *Provider) answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	params, prefix := anthropicParams(p, a.endpoint)
	history := params.Messages
	var whole anthropicReply
	for range maxPauses {
		if err := a.ask(ctx, params, p.Live, &whole); err != nil {
			return api.ModelResponse{}, a.failure(err)
		}
		if whole.stop != anthropic.StopReasonPauseTurn || len(whole.blocks) == 0 {
			break
		}
		params.Messages = append(slices.Clip(history), anthropic.MessageParam{
			Role: anthropic.MessageParamRoleAssistant, Content: toParams(whole.natives(), true)})
	}
	response, err := whole.response()
	if err == nil && response.Stop != api.StopRefusal {
		response.Message.Native = &api.Native{Dialect: api.DialectMessages, Endpoint: a.endpoint,
			Model: p.Agent.Model.Name, Prefix: prefix, Alone: p.Thoughtless,
			Items: models.Encode(whole.natives())}
	}
	return response, err
}

// optional are parameters that a request goes without if the model refuses them by name: models
// that reason take no temperature and no forced choice.
var optional = []string{"temperature", "tool_choice"}

// ask makes one request and adds its answer to reply. A model may refuse optional parameters.
func (a *Provider) ask(ctx context.Context, params anthropic.MessageNewParams, live func(string),
	reply *anthropicReply) error {
	known, _ := a.quirks.Load(params.Model)
	q, _ := known.(*models.Quirks)
	for {
		var without []option.RequestOption
		for _, name := range optional {
			if q.Has(name) {
				without = append(without, option.WithJSONDel(name))
			}
		}
		err := a.request(ctx, params, live, reply, without...)
		next := learn(q, err, params)
		if next == nil {
			return err
		}
		q = next
		a.quirks.Store(params.Model, q)
	}
}

// learn returns the quirks that explain why the model refused a request with err, beside those of
// q; nil if nothing does.
func learn(q *models.Quirks, err error, params anthropic.MessageNewParams) *models.Quirks {
	apiErr, ok := errors.AsType[*anthropic.Error](err)
	if !ok || apiErr.StatusCode != http.StatusBadRequest {
		return nil
	}
	sent := map[string]bool{"temperature": params.Temperature.Valid(),
		"tool_choice": params.ToolChoice.GetType() != nil}
	var named []string
	for _, name := range optional {
		if sent[name] && models.Refuses(apiErr.RawJSON(), name) {
			named = append(named, name)
		}
	}
	return q.With(named...)
}

// request makes one request.
func (a *Provider) request(ctx context.Context, params anthropic.MessageNewParams,
	live func(string), reply *anthropicReply, without ...option.RequestOption) error {
	if live != nil || params.MaxTokens > longAnswer {
		return a.stream(ctx, params, live, reply, without...)
	}
	message, err := a.client.Messages.New(ctx, params, without...)
	if err == nil {
		reply.add(message)
	}
	return err
}

// stream makes a request whose answer comes in pieces; say, if any, takes those of its text. A
// server may also answer at once.
func (a *Provider) stream(ctx context.Context, params anthropic.MessageNewParams, say func(string),
	reply *anthropicReply, without ...option.RequestOption) error {
	var response *http.Response
	opened := a.client.Messages.NewStreaming(ctx, params,
		append(without, option.WithResponseInto(&response))...)
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

// thoughts matches the words with which the provider refuses the reasoning in earlier messages, for
// example "messages.1.content.0: Invalid signature in thinking block".
var thoughts = regexp.MustCompile("(?i)thinking`?.*(block|signature)|(block|signature).*thinking")

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
	e := a.Secret.Failure(r)
	e.Thoughts = apiErr.StatusCode == http.StatusBadRequest && thoughts.MatchString(r.Message)
	return e
}
