package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

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

// Encoded returns p with its JSON, so that encoding it several times compresses it once. The value
// must not be changed afterwards. It fails with validation_error if the JSON has more than 32 MiB.
func (p Packed[T]) Encoded() (Packed[T], error) {
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

// Size returns the length of the JSON of a value that Encoded or Plain returned.
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

// MaxInputs bounds the inputs of one execution of a run together, in bytes. Servers reject 2 MiB,
// and codecs may add some bytes to each input.
const MaxInputs = 2<<20 - 32<<10

// MaxArguments bounds the arguments of one call, in bytes as a payload has them. The rest of
// MaxPayload is for what travels with them.
const MaxArguments = 5 << 18

// TooLarge returns the error of a value that is refused for its size. remedy says what to do.
func TooLarge(what string, size, limit int, remedy string) *Error {
	e := Errorf(ErrValidation, "%s: %d bytes as JSON, the limit is %d bytes; %s", what, size, limit,
		remedy)
	e.Phase = PhasePreValidation
	return e
}

// maxShared bounds the JSON of the values that are shared, per type and in bytes.
const maxShared = 16 << 20

// shared decodes JSON and keeps the values, so that the runs of one process that have equal agents
// and tools have one copy of them. What a value has by reference must not be changed.
type shared[T any] struct {
	mu     sync.Mutex
	size   int
	values map[string]T
}

// decode decodes data into a value, or copies the value that equal data gave before.
func (s *shared[T]) decode(data []byte, into *T, decode func([]byte) (T, error)) error {
	s.mu.Lock()
	value, known := s.values[string(data)]
	s.mu.Unlock()
	if known {
		*into = value
		return nil
	}
	value, err := decode(data)
	if err != nil {
		return err
	}
	*into = value
	s.keep(string(data), value)
	return nil
}

// keep keeps a value. If the values become too large, it forgets the others.
func (s *shared[T]) keep(data string, value T) {
	if len(data) > maxShared {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size += len(data); s.size > maxShared || s.values == nil {
		s.values, s.size = map[string]T{}, len(data)
	}
	s.values[data] = value
}

var (
	sharedAgents shared[*Agent]
	sharedPinned shared[Pinned]
)

// UnmarshalJSON decodes an input. Inputs whose agents have equal JSON share the agent, which must
// not be changed.
func (in *RunInput) UnmarshalJSON(data []byte) error {
	type plain RunInput
	apart := struct {
		*plain
		Agent json.RawMessage `json:"agent"`
	}{plain: (*plain)(in)}
	if err := json.Unmarshal(data, &apart); err != nil {
		return err
	}
	if apart.Agent == nil {
		return nil
	}
	return sharedAgents.decode(apart.Agent, &in.Agent, func(data []byte) (*Agent, error) {
		var a *Agent
		err := json.Unmarshal(data, &a)
		return a, err
	})
}

// UnmarshalJSON decodes what a run is pinned to. Values of equal JSON share what they have by
// reference. An append to one of their lists copies it.
func (p *Pinned) UnmarshalJSON(data []byte) error {
	return sharedPinned.decode(data, p, func(data []byte) (Pinned, error) {
		type plain Pinned
		var v plain
		err := json.Unmarshal(data, &v)
		v.Catalog.Tools = slices.Clip(v.Catalog.Tools)
		v.DescendantTools = slices.Clip(v.DescendantTools)
		v.Policies.Rules = slices.Clip(v.Policies.Rules)
		return Pinned(v), err
	})
}
