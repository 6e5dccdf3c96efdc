// Package codec encodes conversations for histories.
package codec

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/compression"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// EncodeMessages returns messages as gzipped JSON, the second input of an agent run. Raw bytes take
// a quarter less of history than a Packed value, which is base64 in JSON. No messages give nil. It
// fails with validation_error if the JSON has more than 32 MiB, because DecodeMessages does.
func EncodeMessages(messages []api.Message) ([]byte, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	plain, err := jsonvalue.Encode(messages)
	if err != nil {
		return nil, err
	}
	if len(plain) > compression.MaxPlain {
		return nil, api.TooLarge("the conversation", len(plain), compression.MaxPlain,
			"shorten its messages or leave out the oldest ones")
	}
	return compression.Gzip(plain)
}

// WithoutNatives returns messages without their native forms, which are the first to go where a
// conversation is too long to be carried over: models read the words in their place.
func WithoutNatives(messages []api.Message) []api.Message {
	bare := slices.Clone(messages)
	for i := range bare {
		bare[i].Native = nil
	}
	return bare
}

// DecodeMessages is the inverse of EncodeMessages; nil gives no messages.
func DecodeMessages(data []byte) ([]api.Message, error) {
	if len(data) == 0 {
		return nil, nil
	}
	plain, err := compression.Gunzip(data, compression.MaxPlain)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	var messages []api.Message
	err = json.Unmarshal(plain, &messages)
	return messages, err
}
