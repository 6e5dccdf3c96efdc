package inspect

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// If the server has deleted a part of a run, the spans of the rest are exported and a note is
// printed. A run without any retained part is an error.
func TestTraces_ContainWhatIsRetained(t *testing.T) {
	gone := fmt.Errorf("%w: the sub-agent", audit.ErrNotFound)
	for spans, note := range map[int]string{0: "", 2: "the trace is incomplete",
		600: "the trace is incomplete"} {
		var noted bytes.Buffer
		given := 0
		n, err := inBatches(&cli.App{Stdio: cli.Stdio{Err: &noted}},
			func(yield func(*tracepb.Span, error) bool) {
				for range spans {
					if !yield(&tracepb.Span{Name: "a"}, nil) {
						return
					}
				}
				yield(nil, gone)
			}, func(some []*tracepb.Span) error {
				given += len(some)
				return nil
			})
		if given != spans || n != spans || !strings.Contains(noted.String(), note) ||
			errors.Is(err, audit.ErrNotFound) != (spans == 0) {
			t.Errorf("%d spans: %d were given, %v, and printed: %s", spans, given, err, &noted)
		}
	}
}
