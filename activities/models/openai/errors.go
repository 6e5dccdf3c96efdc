package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/openai/openai-go/v3"
	"github.com/switchyard/switchyard/activities/models"
)

// failure converts an error, with whether and when to retry.
func (o *Provider) failure(err error) error {
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &models.Error{Message: o.Shown(err.Error())}
	}
	r := models.ServerRefusal{Status: apiErr.StatusCode, Message: apiErr.Message,
		Overflow: apiErr.Code == codeOverflow, Broke: apiErr.Code == "insufficient_quota"}
	if apiErr.Response != nil {
		r.Header = apiErr.Response.Header
	}
	return o.Secret.Failure(r)
}

// bodyError returns the error that the body of a successful response, or an event of its stream,
// has in place of an answer; nil if it has none. OpenRouter and other proxies answer so when the
// provider behind them refuses: its status is the code, and its own words are in metadata.raw.
func bodyError(data []byte) error {
	var body struct {
		Error json.RawMessage
	}
	var reason struct {
		Message  string
		Code     any
		Metadata struct{ Raw any }
	}
	if json.Unmarshal(data, &body) != nil || len(body.Error) == 0 || string(body.Error) == "null" {
		return nil
	}
	if json.Unmarshal(body.Error, &reason) != nil {
		reason.Message = string(body.Error)
	}
	e := &openai.Error{StatusCode: http.StatusBadGateway, Message: reason.Message}
	if reason.Metadata.Raw != nil {
		e.Message = fmt.Sprint(e.Message, ": ", reason.Metadata.Raw)
	}
	if reason.Code != nil {
		e.Code = fmt.Sprint(reason.Code)
	}
	if status, _ := strconv.Atoi(e.Code); status >= http.StatusBadRequest {
		e.StatusCode = status
	}
	return e
}
