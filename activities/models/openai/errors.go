package openai

import (
	"errors"

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
