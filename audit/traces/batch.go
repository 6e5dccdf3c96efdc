package traces

import (
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Batch collects spans until there are enough to be written or sent at once.
type Batch struct {
	spans []*tracepb.Span
	bytes int
}

// Add adds a span, and returns all that were collected when there are enough; else nil.
func (b *Batch) Add(span *tracepb.Span) []*tracepb.Span {
	b.spans = append(b.spans, span)
	if b.bytes += proto.Size(span); len(b.spans) < batchSpans && b.bytes < batchBytes {
		return nil
	}
	return b.Take()
}

// Take returns what was collected.
func (b *Batch) Take() []*tracepb.Span {
	spans := b.spans
	b.spans, b.bytes = nil, 0
	return spans
}
