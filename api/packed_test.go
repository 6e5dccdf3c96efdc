package api

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/value/compression"
	"pgregory.net/rapid"
)

// Small values are readable, and large ones are compressed.
func TestPacked_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.StringN(1, 8, -1).Draw(t, "piece"),
			rapid.IntRange(0, 6000).Draw(t, "times"))
		data, err := json.Marshal(Pack([]string{text}))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		if large := len(plain) >= packThreshold; large != bytes.HasPrefix(data,
			[]byte(`{"gzip":`)) {
			t.Fatalf("%d bytes are written as %.30s", len(plain), data)
		}
		var back Packed[[]string]
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(back.Value)
		if err != nil || !bytes.Equal(again, plain) {
			t.Fatalf("came back otherwise: %v", err)
		}
	})
}

// gzipOf returns the compressed form of text in a Packed value.
func gzipOf(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Data that only looks packed is refused with a reason.
func TestPacked_RefusesForgeries(t *testing.T) {
	good := gzipOf(t, `["a"]`)
	encode := base64.StdEncoding.EncodeToString
	tests := []struct {
		name, data string
		is         func(error) bool
	}{
		{"not base64", `{"gzip":"%%"}`, typed[base64.CorruptInputError]},
		{"not gzip", `{"gzip":"` + encode([]byte("plain text, no gzip")) + `"}`,
			wraps(gzip.ErrHeader)},
		{"empty", `{"gzip":""}`, wraps(io.EOF)},
		{"cut off", `{"gzip":"` + encode(good[:len(good)-6]) + `"}`, wraps(io.ErrUnexpectedEOF)},
		{"changed", `{"gzip":"` + encode(append(bytes.Clone(good[:len(good)-8]), 0, 0, 0, 0, 0, 0,
			0, 0)) + `"}`, wraps(gzip.ErrChecksum)},
		{"not the type", `{"gzip":"` + encode(gzipOf(t, `{"a":1}`)) + `"}`,
			typed[*json.UnmarshalTypeError]},
		{"not JSON inside", `{"gzip":"` + encode(gzipOf(t, `[`)) + `"}`, typed[*json.SyntaxError]},
		{"plain, not the type", `"text"`, typed[*json.UnmarshalTypeError]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p Packed[[]string]
			if err := json.Unmarshal([]byte(tt.data), &p); !tt.is(err) {
				t.Errorf("error %v (%T)", err, err)
			}
		})
	}
}

func typed[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

func wraps(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

// A value that cannot be decoded afterwards is not encoded.
func TestPacked_RefusesValuesAboveTheDecodersLimit(t *testing.T) {
	large := Pack(strings.Repeat("x", compression.MaxPlain-1))
	_, err := large.EncodeOnce()
	if e, ok := errors.AsType[*Error](err); !ok || e.Type != ErrValidation {
		t.Errorf("Encoded gives %v", err)
	}
	if _, err := json.Marshal(large); err == nil {
		t.Error("the value was written")
	}
	data, err := json.Marshal(Pack(strings.Repeat("x", compression.MaxPlain-2)))
	if err != nil {
		t.Fatal(err)
	}
	var back Packed[string]
	if err := json.Unmarshal(data, &back); err != nil || len(back.Value) != compression.MaxPlain-2 {
		t.Errorf("at the limit: %d bytes, %v", len(back.Value), err)
	}
}

func TestPacked_ReportsValuesThatJSONCannotEncode(t *testing.T) {
	if _, err := json.Marshal(Pack(func() {})); err == nil {
		t.Error("a function was packed")
	}
}
