package activities

import (
	"errors"

	"github.com/openai/openai-go/v3"
)

// failure tells what another attempt can cure, and when.
func (o *OpenAI) failure(err error) error {
	apiErr, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &ModelError{Message: o.shown(err.Error())}
	}
	r := serverRefusal{status: apiErr.StatusCode, message: apiErr.Message, overflow: apiErr.Code == codeOverflow, broke: apiErr.Code == "insufficient_quota"}
	if apiErr.Response != nil {
		r.header = apiErr.Response.Header
	}
	return o.secret.failure(r)
}
