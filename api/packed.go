package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// packThreshold is the JSON size from which a Packed value is compressed, in bytes. Smaller values
// stay readable in the Temporal UI.
const packThreshold = 16 << 10

// maxUnpacked bounds the decompressed size of a value, in bytes.
const maxUnpacked = 256 << 20

// Packed is a value whose JSON is compressed if it is large: {"gzip":"<base64>"} instead of the
// value, which therefore must not be an object that begins with a key "gzip".
type Packed[T any] struct{ Value T }

// Pack wraps a value.
func Pack[T any](v T) Packed[T] { return Packed[T]{Value: v} }

type gzipped struct {
	Gzip []byte `json:"gzip"`
}

// MarshalJSON encodes the value, compressed if its JSON has 16 KiB or more.
func (p Packed[T]) MarshalJSON() ([]byte, error) {
	plain, err := json.Marshal(p.Value)
	if err != nil || len(plain) < packThreshold {
		return plain, err
	}
	compressed, err := compress(plain)
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
	plain, err := gunzip(g.Gzip, maxUnpacked)
	if err != nil {
		return fmt.Errorf("decompress: %w", err)
	}
	return json.Unmarshal(plain, &p.Value)
}

// EncodeMessages returns messages as gzipped JSON, the second input of an agent run. Raw bytes take
// a quarter less of history than a Packed value, which is base64 in JSON. No messages give nil.
func EncodeMessages(messages []Message) ([]byte, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	plain, err := EncodeJSON(messages)
	if err != nil {
		return nil, err
	}
	return compress(plain)
}

// DecodeMessages is the inverse of EncodeMessages; nil gives no messages.
func DecodeMessages(data []byte) ([]Message, error) {
	if len(data) == 0 {
		return nil, nil
	}
	plain, err := gunzip(data, maxUnpacked)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	var messages []Message
	err = json.Unmarshal(plain, &messages)
	return messages, err
}

func compress(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := w.Write(plain); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return b.Bytes(), nil
}

func gunzip(data []byte, limit int) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, err
	}
	if len(plain) > limit {
		return nil, fmt.Errorf("the value has more than %d bytes", limit)
	}
	return plain, nil
}

// Duration is a time.Duration that is text ("1m30s") in YAML, JSON and histories.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText formats d as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses text as time.ParseDuration does. Negative values are errors.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration; write a number and a unit, such as 500ms, 30s or 2h",
			text)
	}
	if v < 0 {
		return fmt.Errorf("the duration %q is negative; write a positive one, such as %s", text,
			-v)
	}
	*d = Duration(v)
	return nil
}

// IsZero makes encoding/json's omitzero leave out an unset duration.
func (d Duration) IsZero() bool { return d == 0 }
