package activities

import (
	"errors"

	"github.com/openai/openai-go/v3"
)

// failure tells what another attempt can cure, and when.
func (o *OpenAI) failure(err error) error {
	api, ok := errors.AsType[*openai.Error](err)
	if !ok {
		return &ModelError{Message: o.shown(err.Error())}
	}
	r := serverRefusal{status: api.StatusCode, message: api.Message, overflow: api.Code == codeOverflow, broke: api.Code == "insufficient_quota"}
	if api.Response != nil {
		r.header = api.Response.Header
	}
	return o.secret.failure(r)
}
