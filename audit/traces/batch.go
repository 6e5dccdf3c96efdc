package traces

import (
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Batch collects spans to be written or sent together.
type Batch struct {
	spans []*tracepb.Span
	bytes int
}

// Add adds a span. It returns all collected spans if the batch is full, otherwise nil.
func (b *Batch) Add(span *tracepb.Span) []*tracepb.Span {
	b.spans = append(b.spans, span)
	if b.bytes += proto.Size(span); len(b.spans) < batchSpans && b.bytes < batchBytes {
		return nil
	}
	return b.Take()
}

// Take returns the collected spans.
func (b *Batch) Take() []*tracepb.Span {
	spans := b.spans
	b.spans, b.bytes = nil, 0
	return spans
}
