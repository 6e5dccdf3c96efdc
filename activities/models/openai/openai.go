package openai

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/api"
)

// Provider calls models with OpenAI chat completions, at OpenAI or a compatible server. Use New to
// make one.
type Provider struct {
	models.Secret
	client openai.Client
	// unstreamed are the names of the models that do not stream.
	unstreamed sync.Map
}

// New returns the provider configured by the environment: OPENAI_API_KEY, or OPENAI_API_KEY_FILE
// that names a file with the key, OPENAI_BASE_URL and the official client's other variables. The
// client's own retries are off, because Temporal owns retries.
func New() *Provider {
	key := models.SecretFrom("OPENAI_API_KEY")
	return &Provider{Secret: key, client: openai.NewClient(option.WithMaxRetries(0),
		option.WithMiddleware(key.In("Authorization", "Bearer "), models.Readable))}
}

// Answer makes one request, and a second one if the server refuses to stream. It counts tokens that
// the server does not report.
func (o *Provider) Answer(ctx context.Context, p models.Prompt) (api.ModelResponse, error) {
	if err := o.Ready(); err != nil {
		return api.ModelResponse{}, &models.Error{Message: err.Error()}
	}
	completion, err := o.complete(ctx, p)
	if err != nil {
		return api.ModelResponse{}, o.failure(err)
	}
	if len(completion.Choices) == 0 {
		return api.ModelResponse{}, &models.Error{Message: "the model's answer has no choices"}
	}
	response := openAIResponse(completion)
	models.FinalizeUsage(p, &response)
	return response, nil
}

func openAIParams(p models.Prompt) openai.ChatCompletionNewParams {
	model := p.Agent.Model
	params := openai.ChatCompletionNewParams{Model: model.Name}
	if model.Temperature != nil {
		params.Temperature = openai.Float(*model.Temperature)
	}
	if model.MaxTokens > 0 {
		params.MaxCompletionTokens = openai.Int(int64(model.MaxTokens))
	}
	params.Messages = openAIMessages(p)
	if p.Limit != "" {
		params.Messages = append(params.Messages, openai.UserMessage(fmt.Sprintf(models.LimitPrompt,
			p.Limit)))
	}
	for _, t := range p.Tools {
		var schema openai.FunctionParameters
		if json.Unmarshal(t.Schema, &schema) != nil {
			continue // a compiled toolspec's schema is an object
		}
		params.Tools = append(params.Tools,
			openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{
				Name: t.Name, Description: openai.String(t.Description), Parameters: schema,
			}))
	}
	openAIChoice(&params, p)
	return params
}

// openAIChoice says how the model is to choose among the tools; nothing where that is the
// provider's own default.
func openAIChoice(params *openai.ChatCompletionNewParams, p models.Prompt) {
	if len(params.Tools) == 0 {
		return
	}
	switch choice := p.Choice(); choice {
	case api.ChoiceAuto:
	case api.ChoiceRequired, api.ChoiceNone:
		params.ToolChoice.OfAuto = openai.String(choice)
	default:
		params.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(
			openai.ChatCompletionNamedToolChoiceFunctionParam{Name: choice})
	}
	if p.Single() {
		params.ParallelToolCalls = openai.Bool(false)
	}
}

// openAIMessages returns the conversation. The images of a turn's results follow them in a message
// of the user: the protocol takes none in results.
func openAIMessages(p models.Prompt) []openai.ChatCompletionMessageParamUnion {
	var messages []openai.ChatCompletionMessageParamUnion
	var shown []openai.ChatCompletionContentPartUnionParam
	show := func() {
		if len(shown) > 0 {
			messages, shown = append(messages, openai.UserMessage(shown)), nil
		}
	}
	for _, m := range models.PairResults(p.Messages) {
		if m.Role != api.RoleTool {
			show()
		}
		messages = append(messages, openAIMessage(m))
		for _, i := range p.Images[m.CallID] {
			shown = append(shown, openai.TextContentPart("An image in the result of call "+m.CallID+
				":"),
				openai.ImageContentPart(
					openai.ChatCompletionContentPartImageImageURLParam{URL: "data:" + i.MIMEType +
						";base64," + base64.StdEncoding.EncodeToString(i.Data)}))
		}
	}
	show()
	return messages
}

func openAIMessage(m api.Message) openai.ChatCompletionMessageParamUnion {
	switch m.Role {
	case api.RoleSystem:
		return openai.SystemMessage(m.Text)
	case api.RoleTool:
		return openai.ToolMessage(m.Text, m.CallID)
	case api.RoleAssistant:
		message := openai.ChatCompletionAssistantMessageParam{}
		if m.Text != "" {
			message.Content.OfString = openai.String(m.Text)
		}
		for _, c := range m.Calls {
			call := openai.ChatCompletionMessageFunctionToolCallParam{ID: c.ID}
			call.Function.Name = models.LegalName(c.Tool)
			call.Function.Arguments = models.LegalArguments(c.Arguments)
			message.ToolCalls = append(message.ToolCalls,
				openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &call})
		}
		return openai.ChatCompletionMessageParamUnion{OfAssistant: &message}
	default:
		return openai.UserMessage(m.Text)
	}
}

func openAIResponse(c *openai.ChatCompletion) api.ModelResponse {
	choice := c.Choices[0]
	response := api.ModelResponse{
		Message: api.Message{Text: choice.Message.Content},
		Stop:    api.StopAnswer,
		Model:   c.Model,
		Usage: api.Usage{InputTokens: int(c.Usage.PromptTokens),
			OutputTokens: int(c.Usage.CompletionTokens),
			CachedTokens: int(c.Usage.PromptTokensDetails.CachedTokens)},
	}
	for _, call := range choice.Message.ToolCalls {
		response.Message.Calls = append(response.Message.Calls, api.Call{Tool: call.Function.Name,
			Arguments: call.Function.Arguments})
	}
	switch {
	case choice.Message.Refusal != "":
		response.Message.Text, response.Stop = choice.Message.Refusal, api.StopRefusal
	case choice.FinishReason == "content_filter":
		response.Stop = api.StopRefusal
		if response.Message.Text == "" {
			response.Message.Text = "the provider's content filter withheld the answer"
		}
	case len(response.Message.Calls) > 0:
		response.Stop = api.StopCalls
	case choice.FinishReason == "length":
		response.Stop = api.StopLength
	}
	return response
}
