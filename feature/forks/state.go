package forks

import (
	"encoding/json"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/compression"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

// State is what a forked run takes over of its source.
type State struct {
	// Messages are the conversation without system messages.
	Messages []api.Message `json:"messages"`
	// Labels, Calls and DescendantCalls are what policies know of the run.
	Labels          []string        `json:"labels,omitempty"`
	Calls           []api.PastCalls `json:"calls,omitempty"`
	DescendantCalls []api.PastCalls `json:"descendant_calls,omitempty"`
	// Instances are those with a recorded snapshot.
	Instances []api.InstanceState `json:"instances,omitempty"`
	Recorded  []RecordedCall      `json:"recorded,omitempty"`
}

// Part is one part of an encoded State.
type Part struct {
	// Index counts from 1; part 0 is the second input of the run.
	Index int    `json:"index"`
	Data  []byte `json:"data"`
}

// partBytes bounds one part, so that it fits a payload as base64.
const partBytes = 1 << 20

// Encode returns what a forked run takes over as gzipped JSON in parts of at most 1 MiB. It
// fails with validation_error if the JSON has more than 32 MiB, because Decode does.
func Encode(s State) ([][]byte, error) {
	plain, err := jsonvalue.Encode(s)
	if err != nil {
		return nil, err
	}
	if len(plain) > compression.MaxPlain {
		return nil, api.TooLarge("what the run takes over", len(plain), compression.MaxPlain,
			"fork it at an earlier point")
	}
	data, err := compression.Gzip(plain)
	return slices.Collect(slices.Chunk(data, partBytes)), err
}

// Decode is the inverse of Encode.
func Decode(parts [][]byte) (s State, err error) {
	plain, err := compression.Gunzip(slices.Concat(parts...), compression.MaxPlain)
	if err == nil {
		err = json.Unmarshal(plain, &s)
	}
	return s, err
}
