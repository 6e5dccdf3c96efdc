package runlist

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The result does not depend on the order in which runs ended, and reading stops when no later page
// can contain one of them. Pages have the server's order: open runs by their start, then closed
// runs by their end.
func TestNewest_KeepsTheRunsThatStartedLast(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	type span struct{ began, ended int } // in minutes; 0 if it is open
	quick := make([]span, 100)
	for i := range quick {
		quick[i] = span{i + 1, i + 2}
	}
	for name, c := range map[string]struct {
		runs  []span
		limit int
		want  string
		pages int
	}{
		"short ones": {quick, 2, "[100 99]", 2},
		"old ones that ended last": {append([]span{{1, 900}, {2, 901}, {3, 902}}, quick...),
			2, "[100 99]", 3},
		"an old open one": {append([]span{{1, 0}}, quick...), 2, "[100 99]", 3},
		"many open ones": {[]span{{9, 0}, {8, 0}, {7, 0}, {6, 0}, {5, 0}, {1, 2}},
			3, "[9 8 7]", 3},
		"fewer than the limit":             {[]span{{3, 4}, {1, 9}, {2, 0}}, 5, "[3 2 1]", 2},
		"one that outlasted all the later": {[]span{{1, 900}, {50, 60}, {70, 80}}, 1, "[70]", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := func(minute int) time.Time {
				return start.Add(
					time.Duration(minute) * time.Minute)
			}
			n := newest{limit: c.limit}
			read := 0
			for _, over := range []bool{false, true} {
				runs := slices.DeleteFunc(slices.Clone(c.runs),
					func(s span) bool { return (s.ended > 0) != over })
				slices.SortFunc(runs,
					func(x, y span) int {
						return cmp.Or(cmp.Compare(y.ended, x.ended),
							cmp.Compare(y.began, x.began))
					})
				for page := range slices.Chunk(runs, 2) {
					var list []*workflowpb.WorkflowExecutionInfo
					for _, s := range page {
						e := &workflowpb.WorkflowExecutionInfo{
							Execution: &commonpb.WorkflowExecution{WorkflowId: fmt.Sprint(s.began)},
							StartTime: timestamppb.New(at(s.began))}
						if over {
							e.CloseTime = timestamppb.New(at(s.ended))
						}
						list = append(list, e)
					}
					read++
					if n.add(list) {
						break
					}
				}
			}
			n.cut()
			ids := []string{}
			for _, r := range n.runs {
				ids = append(ids, r.ID)
			}
			if got := fmt.Sprint(ids); got != c.want || read != c.pages {
				t.Errorf("got %s after %d pages, want %s after %d", got, read, c.want, c.pages)
			}
		})
	}
}
