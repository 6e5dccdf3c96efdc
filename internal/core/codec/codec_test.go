package codec

import (
	"errors"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/compression"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// Messages that cannot be decoded afterwards are not encoded.
func TestEncodeMessages_RefusesMoreThanTheDecoderAccepts(t *testing.T) {
	messages := []api.Message{{Role: api.RoleUser}}
	empty, err := jsonvalue.Encode(messages)
	if err != nil {
		t.Fatal(err)
	}
	// ,"text":"" is what an empty message lacks.
	messages[0].Text = strings.Repeat("x", compression.MaxPlain-len(empty)-len(`,"text":""`))
	data, err := EncodeMessages(messages)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := DecodeMessages(data); err != nil || len(back) != 1 ||
		len(back[0].Text) != len(messages[0].Text) {
		t.Errorf("at the limit: %d messages, %v", len(back), err)
	}
	messages[0].Text += "x"
	_, err = EncodeMessages(messages)
	if e, ok := errors.AsType[*api.Error](err); !ok || e.Type != api.ErrValidation {
		t.Errorf("one byte over the limit: %v", err)
	}
}
