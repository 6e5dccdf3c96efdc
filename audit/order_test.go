package audit_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// The order is that in which the calls were made, not that in which they ended.
func TestRecords_FollowTheOrderOfCalls(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) api.Timing {
		return api.Timing{Scheduled: noon.Add(time.Duration(seconds) * time.Second)}
	}
	for _, c := range []struct {
		name, want string
		records    []api.Record
	}{
		{"an agent's by turn and place, refused ones in theirs", "1.2 1.10 2.1", []api.Record{
			{CallID: "2.1", Turn: 2, Timing: at(2)}, {CallID: "1.10", Turn: 1, Timing: at(1)},
			{CallID: "1.2", Turn: 1}}},
		{"a plan's by the time, those that never were scheduled last", "b a c d", []api.Record{
			{CallID: "c"}, {CallID: "a", Timing: at(2)}, {CallID: "d"},
			{CallID: "b", Timing: at(1)}}},
	} {
		slices.SortStableFunc(c.records, audit.ByCall)
		var got []string
		for _, r := range c.records {
			got = append(got, r.CallID)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %v, want %s", c.name, got, c.want)
		}
	}
}
