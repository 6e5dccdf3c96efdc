package inspect

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/starter/cli"
)

// Counts of a lane with a limit come from its holders, those of other lanes from the workers.
// Unknown ones are a dash.
func TestLanesTable_ShowsHoldersAndCounts(t *testing.T) {
	limited := lanestate.State{Lane: api.Lane{Name: "android", Limit: 1, Holders: 2,
		Key: "{{args.device}}"}, Served: true, Counted: true, Queued: 2,
		Workers: []string{"a"}, Holders: []lanestate.Holder{{Served: true, Worker: "a"}, {}},
		Counts: lanerules.Counts{Running: 1, Waiting: 3, Keys: 2, Acquired: 7, Ended: 2,
			WaitMicros: 3_000_000, ExecutionMicros: 40_000}}
	counts := map[string]lanerules.Counts{api.LaneInline: {Acquired: 3},
		"general": {Running: 2, Acquired: 9}}
	states := func() []lanestate.State {
		return []lanestate.State{limited, {Lane: api.Lane{Name: "general"},
			Workers: []string{"a", "b"}}, {Lane: api.Lane{Name: "serial", Limit: 1, Holders: 1}}}
	}
	for _, tt := range []struct {
		counts map[string]lanerules.Counts
		want   []string
	}{
		{counts, []string{
			"android 1 {{args.device}} (2 in use) 1/2 1 5 7 0 0 1.50s 20ms",
			"general - - 2 workers 2 0 9 - - - -",
			"inline - - - 0 - 3 - - - -",
			"serial 1 - 0/1 - 0 - - - - -"}},
		{nil, []string{
			"android 1 {{args.device}} (2 in use) 1/2 1 5 7 0 0 1.50s 20ms",
			"general - - 2 workers - 0 - - - - -",
			"serial 1 - 0/1 - 0 - - - - -"}},
	} {
		text := lanesText(lanesReport{Lanes: addCounts(states(), tt.counts, true),
			Notes: []string{"a note"}}, cli.Palette{})
		var got []string
		for line := range strings.Lines(text) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		want := append(append([]string{"lane limit key holders running waiting acquired rejected " +
			"timed out avg wait avg execution"}, tt.want...), "! a note")
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestLanesHelp_ExplainsTheColumns(t *testing.T) {
	header, _, _ := strings.Cut(lanesText(lanesReport{}, cli.Palette{}), "\n")
	for _, column := range strings.Split(header, "  ") {
		if !strings.Contains(lanesHelp, strings.TrimSpace(column)) {
			t.Errorf("the help does not explain %q", column)
		}
	}
}
