package api

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// packThreshold is the JSON size from which a Packed value is compressed, in bytes. Smaller values
// stay readable in the Temporal UI.
const packThreshold = 16 << 10

// maxUnpacked bounds the decompressed size of a value, in bytes. A workflow task decodes and checks
// so much in time.
const maxUnpacked = 32 << 20

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
	if len(plain) > maxUnpacked {
		return nil, TooLarge("the value", len(plain), maxUnpacked, "make it smaller")
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
// a quarter less of history than a Packed value, which is base64 in JSON. No messages give nil. It
// fails with validation_error if the JSON has more than 32 MiB, because DecodeMessages does.
func EncodeMessages(messages []Message) ([]byte, error) {
	if len(messages) == 0 {
		return nil, nil
	}
	plain, err := EncodeJSON(messages)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxUnpacked {
		return nil, TooLarge("the conversation", len(plain), maxUnpacked,
			"shorten its messages or leave out the oldest ones")
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

// MaxInputs bounds the inputs of one execution of a run together, in bytes. Servers reject 2 MiB,
// and codecs may add some bytes to each input.
const MaxInputs = 2<<20 - 32<<10

// MaxArguments bounds the arguments of one call, in bytes as a payload has them. The rest of
// MaxPayload is for what travels with them.
const MaxArguments = 5 << 18

// JSONSize returns at most how many bytes a JSON value takes in a payload, where some characters
// are escaped with six bytes.
func JSONSize(value []byte) int {
	return len(value) + 5*(bytes.Count(value, []byte{'<'})+bytes.Count(value, []byte{'>'})+
		bytes.Count(value, []byte{'&'})) + 3*bytes.Count(value, []byte("\u2028")) +
		3*bytes.Count(value, []byte("\u2029"))
}

// TextSize returns at most how many bytes a text takes in a payload, with its quotes.
func TextSize(text string) int {
	size := len(text) + 2
	for _, r := range text {
		switch r {
		case '"', '\\':
			size++
		case '<', '>', '&', utf8.RuneError:
			size += 5
		case '\u2028', '\u2029':
			size += 3
		default:
			if r < ' ' {
				size += 5
			}
		}
	}
	return size
}

// TooLarge returns the error of a value that is refused for its size. remedy says what to do.
func TooLarge(what string, size, limit int, remedy string) *Error {
	e := Errorf(ErrValidation, "%s: %d bytes as JSON, the limit is %d bytes; %s", what, size, limit,
		remedy)
	e.Phase = PhasePreValidation
	return e
}

const (
	// MaxInlineTimeout bounds the timeout of an inline tool, because the run decides nothing else
	// in the meantime.
	MaxInlineTimeout = Duration(5 * time.Second)
	// MaxInlineResult bounds the result of an inline call in bytes, whatever its tool's max_result,
	// and MaxInlineRecord its size in history, where JSON escapes some characters with six bytes.
	// Inline calls are recorded together, and a server bounds the size of a workflow task.
	MaxInlineResult = 64 << 10
	MaxInlineRecord = MaxInlineResult * 3 / 2
)

// InlineFault returns why calls of a tool on the lane inline are refused; nil if they are not, and
// for tools of other lanes. A lost worker repeats its inline calls, and an inline call cannot ask
// its run for anything, because the run waits for it.
func (t Tool) InlineFault() *Error {
	var why string
	switch {
	case t.Lane != LaneInline:
		return nil
	case t.Effect != EffectRead:
		why = fmt.Sprintf("it requires the effect read, but the effect is %s", t.Effect)
	case !t.Dispatch.TakesSlots():
		why = fmt.Sprintf("calls that are dispatched as %s cannot run on it", t.Dispatch)
	case t.AnswerWithin > 0:
		why = "calls that can ask people (answer_within) cannot run on it"
	case t.Timeout > MaxInlineTimeout:
		why = fmt.Sprintf("it allows timeouts of at most %s, but the timeout is %s",
			MaxInlineTimeout, t.Timeout)
	default:
		return nil
	}
	e := Errorf(ErrPreconditionFailed,
		"tool %q has the lane %s: %s; give its toolspec another lane", t.Name, LaneInline, why)
	e.Phase = PhasePreExecution
	return e
}

// InlineCall is the input of an inline call. It passes from the workflow to the activity within one
// process and is never encoded, so its size is not bounded. It is never modified.
type InlineCall struct {
	Execution
	ID string
	// Tool is the pinned tool, because an inline call cannot query its run.
	Tool Tool
	// Left is the remaining wall time of the run; zero is no bound.
	Left Duration
	// Apart says that the run's model steps do not run inline, so that the next step looks up the
	// call's message in the cache of its process.
	Apart bool
}

// HasValues and Get let the dynamic activity decode the call like one from a task queue.
func (c *InlineCall) HasValues() bool { return true }

// Get is part of the interface converter.EncodedValues; see HasValues.
func (c *InlineCall) Get(into ...any) error {
	if len(into) == 1 {
		if x, ok := into[0].(*Execution); ok {
			*x = c.Execution
			return nil
		}
	}
	return fmt.Errorf("an inline call has one Execution, but %T is expected", into)
}

// InlineStep is the input of an inline model step, with what it would otherwise query from its run.
// Like an InlineCall it is never encoded.
type InlineStep struct {
	ID       string
	Setup    *Setup
	Messages []Message
	// Admit, where set, has the step admit the calls that the model asks for, which saves a local
	// activity and its marker. It has everything but the calls.
	Admit *AdmissionRequest
	// Left is as in InlineCall.
	Left Duration
}

// InlineSummary is the summary of an inline call or step: its id, which a marker does not have
// otherwise, and a description.
func InlineSummary(id, line string) string { return id + " " + line }

// InlineID returns the id at the beginning of an InlineSummary.
func InlineID(summary string) string {
	id, _, _ := strings.Cut(summary, " ")
	return id
}

// StepTurn returns the turn of a model step, the inverse of TurnStepID; zero for other ids.
func StepTurn(id string) int {
	turn, err := strconv.Atoi(strings.TrimPrefix(id, "turn-"))
	if err != nil || TurnStepID(turn) != id {
		return 0
	}
	return turn
}
