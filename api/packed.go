package api

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/internal/value/compression"
)

// packThreshold is the JSON size from which a Packed value is compressed, in bytes. Smaller values
// stay readable in the Temporal UI.
const packThreshold = 16 << 10

// Packed is a value whose JSON is compressed if it is large: {"gzip":"<base64>"} instead of the
// value, which therefore must not be an object that begins with a key "gzip".
type Packed[T any] struct {
	Value T
	// encoded is the JSON of Value, where it is known already.
	encoded []byte
}

// Pack wraps a value.
func Pack[T any](v T) Packed[T] { return Packed[T]{Value: v} }

type gzipped struct {
	Gzip []byte `json:"gzip"`
}

// EncodeOnce returns p with its JSON, so that encoding it several times compresses it once. The
// value
// must not be changed afterwards. It fails with validation_error if the JSON has more than 32 MiB.
func (p Packed[T]) EncodeOnce() (Packed[T], error) {
	data, err := p.MarshalJSON()
	p.encoded = data
	return p, err
}

// Plain returns p with its JSON not compressed, for a size in workflow code: another version of the
// compression must not lead to another decision.
func (p Packed[T]) Plain() (Packed[T], error) {
	data, err := json.Marshal(p.Value)
	p.encoded = data
	return p, err
}

// Size returns the length of the JSON of a value that its methods return.
func (p Packed[T]) Size() int { return len(p.encoded) }

// MarshalJSON encodes the value, compressed if its JSON has 16 KiB or more. It refuses JSON of more
// than 32 MiB, because UnmarshalJSON does.
func (p Packed[T]) MarshalJSON() ([]byte, error) {
	if p.encoded != nil {
		return p.encoded, nil
	}
	plain, err := json.Marshal(p.Value)
	if err != nil || len(plain) < packThreshold {
		return plain, err
	}
	if len(plain) > compression.MaxPlain {
		return nil, TooLarge("the value", len(plain), compression.MaxPlain, "make it smaller")
	}
	compressed, err := compression.Gzip(plain)
	if err != nil {
		return nil, err
	}
	return json.Marshal(gzipped{Gzip: compressed})
}

// UnmarshalJSON decodes both forms.
func (p *Packed[T]) UnmarshalJSON(data []byte) error {
	if !bytes.HasPrefix(data, []byte(`{"gzip":`)) {
		return json.Unmarshal(data, &p.Value)
	}
	var g gzipped
	if err := json.Unmarshal(data, &g); err != nil {
		return err
	}
	plain, err := compression.Gunzip(g.Gzip, compression.MaxPlain)
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	return json.Unmarshal(plain, &p.Value)
}

// MaxInputs bounds the inputs of one execution of a run together, in bytes. Servers reject 2 MiB,
// and codecs may add some bytes to each input.
const MaxInputs = 2<<20 - 32<<10

// MaxArguments bounds the arguments of one call, in bytes as a payload has them. The rest of
// MaxPayload is for what travels with them.
const MaxArguments = 5 << 18
