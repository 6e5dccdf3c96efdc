package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// codeBroke is the code of an account without funds.
const codeBroke = "insufficient_quota"

// failure converts an error, with whether and when to retry.
func (o *Provider) failure(err error) error {
	if refused, ok := errors.AsType[*refusedAnswer](err); ok {
		return o.Secret.Failure(refused.ServerRefusal)
	}
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &models.Error{Message: o.Shown(err.Error())}
	}
	r := models.ServerRefusal{Status: apiErr.StatusCode, Message: apiErr.Message,
		Overflow: apiErr.Code == codeOverflow, Broke: apiErr.Code == codeBroke}
	if apiErr.Response != nil {
		r.Header = apiErr.Response.Header
	}
	return o.Secret.Failure(r)
}

// refusedAnswer is an error that a successful response has in place of an answer.
type refusedAnswer struct{ models.ServerRefusal }

func (r *refusedAnswer) Error() string { return r.Message }

// checkAnswer returns the error that a successful response has in place of an answer; nil for an
// answer.
func checkAnswer(c *openai.ChatCompletion) error {
	switch {
	case len(c.Choices) == 0:
		return bodyError([]byte(c.RawJSON()))
	case c.Choices[0].FinishReason == "error":
		return bodyError([]byte(c.Choices[0].RawJSON()))
	}
	return nil
}

// bodyError returns the error in the body of a successful response, or in an event of its stream;
// nil if it has none. OpenRouter and other proxies answer so when the provider behind them refuses:
// its status is the code, and its own words are in metadata.raw.
func bodyError(data []byte) error {
	var body struct {
		Error json.RawMessage
	}
	var reason struct {
		Message  string
		Code     any
		Metadata struct{ Raw json.RawMessage }
	}
	if json.Unmarshal(data, &body) != nil || len(body.Error) == 0 || string(body.Error) == "null" {
		return nil
	}
	if json.Unmarshal(body.Error, &reason) != nil {
		reason.Message = jsonvalue.Plain(body.Error)
	}
	r := models.ServerRefusal{Status: http.StatusBadGateway, Message: reason.Message,
		Overflow: reason.Code == codeOverflow, Broke: reason.Code == codeBroke}
	if raw := reason.Metadata.Raw; len(raw) > 0 {
		r.Message += ": " + jsonvalue.Plain(raw)
	}
	status, err := strconv.Atoi(fmt.Sprint(reason.Code))
	if err == nil && status >= http.StatusBadRequest && status < 600 {
		r.Status = status
	}
	return &refusedAnswer{r}
}
