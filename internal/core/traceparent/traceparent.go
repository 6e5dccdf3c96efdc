// Package traceparent derives the trace and span IDs of runs and calls, in the format of W3C
// Trace Context.
package traceparent

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"

	"github.com/switchyard/switchyard/api"
)

var pattern = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$`)

// Parse reads a W3C traceparent; false if it is none, or has an ID of zeros.
func Parse(text string) (SpanContext, bool) {
	m := pattern.FindStringSubmatch(text)
	if m == nil || strings.Trim(m[1], "0") == "" || strings.Trim(m[2], "0") == "" {
		return SpanContext{}, false
	}
	c := SpanContext{Flags: m[3]}
	_, errTrace := fmt.Sscanf(m[1], "%x", &c.Trace)
	_, errSpan := fmt.Sscanf(m[2], "%x", &c.Span)
	return c, errTrace == nil && errSpan == nil
}

// TraceID returns the ID of the trace of a tree of runs without a traceparent. root is the ID of
// the first execution of the run at the top.
func TraceID(root string) []byte { return spanDigest("trace", root)[:16] }

// SpanID returns the ID of the span of a part of a run, which is the ID of its first execution. The
// part of the run itself is empty, that of a call is CallSpan.
func SpanID(run, part string) []byte { return spanDigest("span", run, part)[:8] }

// CallSpan returns the part of a run that is a call.
func CallSpan(callID string) string { return "call " + callID }

// spanDigest returns the SHA-256 of texts with their lengths, so that different lists differ.
func spanDigest(parts ...string) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p) // a hash never fails
	}
	return h.Sum(nil)
}

// Format returns the W3C traceparent for requests on behalf of a call: in the trace of the
// call, below its span. It depends on what is recorded only, so that each attempt and each replay
// has the same.
func Format(o api.Origin, callID string) string {
	c, ok := Parse(o.Trace)
	if !ok {
		c = SpanContext{Trace: TraceID(o.Run), Flags: "01"}
	}
	return fmt.Sprintf("00-%x-%x-%s", c.Trace, SpanID(o.Run, CallSpan(callID)), c.Flags)
}

// SpanContext is the place of a request in a trace.
type SpanContext struct {
	// Trace and Span are IDs of 16 and 8 bytes.
	Trace, Span []byte
	// Flags are two hexadecimal digits, such as 01 for a trace that is recorded.
	Flags string
}
