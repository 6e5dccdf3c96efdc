package inspect

import (
	"bytes"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/runlist"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

// If the server has deleted a part of a run, the spans of the rest are exported and a note is
// printed. A single run without any retained part is an error.
func TestTraces_ContainWhatIsRetained(t *testing.T) {
	gone := fmt.Errorf("%w: the sub-agent", audit.ErrNotFound)
	for name, tt := range map[string]struct {
		// spans are how many each run has before the deleted part.
		spans       []int
		given       int
		note, fault string
	}{
		"a part of the only run": {spans: []int{2}, given: 2, note: "run 0 is incomplete"},
		"all of the only run":    {spans: []int{0}, fault: "there is no run \"0\", or the server no longer has it\nList the runs: starter list"},
		"all of one of two runs": {spans: []int{0, 3}, given: 3, note: "run 0 is incomplete"},
		"parts of both, and many": {spans: []int{600, 3}, given: 603,
			note: "run 1 is incomplete"},
	} {
		t.Run(name, func(t *testing.T) {
			var note bytes.Buffer
			a := &cli.App{Stdio: cli.Stdio{Err: &note}}
			var list []runlist.Run
			for i := range tt.spans {
				list = append(list, runlist.Run{ID: fmt.Sprint(i), Calls: tt.spans[i]})
			}
			given := 0
			err := eachSpan(a, list, func(run runlist.Run) iter.Seq2[*tracepb.Span, error] {
				return func(yield func(*tracepb.Span, error) bool) {
					for range run.Calls {
						if !yield(&tracepb.Span{Name: "a"}, nil) {
							return
						}
					}
					yield(nil, gone)
				}
			}, &cli.Unread{}, func(spans []*tracepb.Span) error {
				given += len(spans)
				return nil
			})
			if given != tt.given || !strings.Contains(note.String(), tt.note) ||
				(err != nil) != (tt.fault != "") || err != nil && err.Error() != tt.fault {
				t.Errorf("%d were given, %v, and printed: %s", given, err, note.String())
			}
		})
	}
}
