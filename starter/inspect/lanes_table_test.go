package inspect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
	"go.temporal.io/api/serviceerror"
)

// someLanes returns lanes of every kind, as the server and workers report them.
func someLanes() (*lanesView, []lanestate.State) {
	v := &lanesView{app: &cli.App{Format: cli.Format{Output: cli.OutputText,
		Color: cli.ColorNever}}, queue: api.DefaultTaskQueue, counts: &workerCounts{
		lanes: map[string]lanerules.Counts{
			"general": {Running: 3, Acquired: 40, Ended: 37, WaitMicros: 37_000,
				ExecutionMicros: 370_000},
			"inline": {Acquired: 8, Ended: 8, ExecutionMicros: 800},
		}, notes: []string{"3@host: it did not answer"}}}
	hosted := func(group int, worker string, counts lanerules.Counts) lanestate.Holder {
		return lanestate.Holder{Group: group, Served: true, Worker: worker,
			SlotsState: lanerules.SlotsState{Fence: 1, Slots: 2, Counts: counts}}
	}
	return v, []lanestate.State{
		{Lane: api.Lane{Name: "android", Limit: 1, Holders: 4, Key: "{{args.device}}"},
			Served: true, Queued: 5,
			Workers: []string{"1@host"}, Holders: []lanestate.Holder{hosted(0, "1@host",
				lanerules.Counts{}), hosted(1, "1@host", lanerules.Counts{}), {Group: 2},
				hosted(3, "2@host", lanerules.Counts{})},
			Counts: lanerules.Counts{Running: 12, Keys: 7, Acquired: 1000}},
		{Lane: api.Lane{Name: "general"}, Workers: []string{"1@host", "2@host"}, Queued: 2},
		{Lane: api.Lane{Name: "gpu"}},
		{Lane: api.Lane{Name: "printer", Limit: 1, Holders: 1}, Served: true,
			Workers: []string{"2@host"}, Holders: []lanestate.Holder{hosted(0, "2@host",
				lanerules.Counts{})},
			Queued: 1, Counts: lanerules.Counts{Running: 1, Waiting: 20, Acquired: 7, Rejected: 4,
				TimedOut: 2, Ended: 6, WaitMicros: 9_000_000, ExecutionMicros: 12_000_000}},
		{Lane: api.Lane{Name: "serial", Limit: 1, Holders: 1}},
	}
}

func (v *lanesView) reportOf(states []lanestate.State) lanesReport {
	r := lanesReport{TaskQueue: v.queue, Lanes: []laneLine{}}
	v.add(&r, states)
	return r
}

// Lanes with a limit are read from their holders, others from their workers. Unknown values are
// empty, and notes follow the table.
func TestLanesTable_ShowsHoldersAndWorkers(t *testing.T) {
	v, states := someLanes()
	v.verbose = true
	want := `
lane     limit  key                           holders  running  waiting  acquired  rejected  timed out  avg wait  avg execution  workers
android      1  {{args.device}} (7 in use)        3/4       12        5      1000         0          0         -              -  1@host ×2, 2@host
general      -  -                           2 workers        3        2        40         -          -       1ms           10ms  1@host, 2@host
gpu          -  -                           0 workers        0        0         0         -          -         -              -  -
inline       -  -                                   -        0        -         8         -          -        0s          100µs  -
printer      1  -                                 1/1        1       21         7         4          2     1.50s          2.00s  2@host
serial       1  -                                 0/1        -        0         -         -          -         -              -  -
! no worker serves the lane gpu
  start one: worker --lanes gpu
! no worker serves the lane serial
  start one: worker --lanes serial
! 3@host: it did not answer
`
	if got := "\n" + v.text(v.reportOf(states), cli.Palette{}); got != want {
		t.Errorf("got%s\nwant%s", got, want)
	}
	v.only = []string{"general"}
	if got := v.text(v.reportOf(states[1:2]), cli.Palette{}); strings.Contains(got, "inline") {
		t.Errorf("a lane that was not asked for is shown:\n%s", got)
	}
	v.only, v.counts = []string{"inline"}, nil
	if got := v.text(v.reportOf(nil), cli.Palette{}); !strings.Contains(got,
		"inline      -  -          -        -        -") {
		t.Errorf("the lane that was asked for:\n%s", got)
	}
}

// The output is one document.
func TestLanesJSON_OmitsUnknownValues(t *testing.T) {
	v, states := someLanes()
	v.app.Format.Output = cli.OutputJSON
	var out bytes.Buffer
	v.app.Out = &out
	if err := v.print(v.reportOf(states)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Lanes []map[string]any `json:"lanes"`
		Notes []string         `json:"notes"`
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Lanes) != 6 ||
		len(got.Notes) != 3 {
		t.Fatalf("%v: %s", err, out.String())
	}
	printer, general, serial := got.Lanes[4], got.Lanes[1], got.Lanes[5]
	if printer["waiting"] != 21.0 || printer["waiting_at_server"] != 1.0 ||
		printer["rejected"] != 4.0 || printer["wait_average"] != "1.5s" ||
		printer["served_groups"] != 1.0 {
		t.Errorf("a lane with a limit: %v", printer)
	}
	if _, known := general["rejected"]; known || general["running"] != 3.0 ||
		general["limit"] != nil {
		t.Errorf("a lane without: %v", general)
	}
	if _, known := serial["running"]; known || serial["groups"] != 1.0 {
		t.Errorf("a lane without a keeper: %v", serial)
	}
}

// A worker that did not answer is named.
func TestCounts_AddWorkersUp(t *testing.T) {
	counts := sumCounts([]workerreport.Lanes{
		{Worker: "a", Lanes: map[string]lanerules.Counts{"http": {Running: 1, Acquired: 2},
			"general": {Acquired: 1}}},
		{Worker: "b", Failure: "it did not answer"},
		{Worker: "c", Lanes: map[string]lanerules.Counts{"http": {Running: 2, Acquired: 3}}},
	})
	if got := counts.lanes["http"]; got.Running != 3 || got.Acquired != 5 ||
		len(counts.notes) != 1 || !strings.Contains(counts.notes[0], "b: it did not answer") {
		t.Errorf("got %+v", counts)
	}
}

// The drawing program ends, and the last table stays on the terminal completely.
func TestLanesScreen_FitsTheWindow(t *testing.T) {
	v, states := someLanes()
	report := v.reportOf(states)
	for _, size := range []struct{ width, height int }{{200, 24}, {40, 5}, {20, 2}} {
		m := &lanesModel{lanesText: lanesText{v.text(report, cli.Palette{})}, width: size.width,
			height: size.height}
		clitest.Fits(t, m.View().Content, size.width, size.height)
	}
	write, drawn := clitest.Terminal(t)
	v.app.Out = write
	screen := newLanesScreen(v)
	for range 3 {
		if err := screen.show(report); err != nil {
			t.Fatal(err)
		}
	}
	screen.close()
	if data := drawn(); !strings.HasSuffix(data, v.text(report, cli.Palette{})) {
		t.Errorf("the drawing ends with %q", data[max(0, len(data)-200):])
	}
	newLanesScreen(v).close() // before there was anything to draw
}

// The last state is shown meanwhile. Other failures end the command.
func TestWatchingLanes_WaitsForTheServer(t *testing.T) {
	v, states := someLanes()
	var shown []lanesReport
	fail := error(serviceerror.NewUnavailable("away"))
	w := &laneWatching{show: func(r lanesReport) error { shown = append(shown, r); return nil },
		last: v.reportOf(states)}
	look := func() error { return w.take(t.Context(), lanesReport{}, fail) }
	if err := look(); err != nil || len(shown) != 1 || len(shown[0].Lanes) != 6 ||
		!strings.Contains(shown[0].Notes[0], "does not answer") {
		t.Fatalf("%v: %+v", err, shown)
	}
	w.missing = time.Now().Add(-cli.GiveUpAfter)
	if err := look(); !errors.Is(err, fail) {
		t.Errorf("after too long: %v", err)
	}
	w.missing, fail = time.Time{}, errors.New("wrong")
	if err := look(); !errors.Is(err, fail) {
		t.Errorf("another failure: %v", err)
	}
}

// A worker that does not answer delays only the first table.
func TestCounts_WaitForSilentWorkersOnce(t *testing.T) {
	v, states := someLanes()
	before := v.counts
	v.askedAt, v.openQuestions = time.Now(), make(chan countsAnswer, 1)
	if err := v.refreshCounts(t.Context(), states, time.Now()); err != nil || v.counts != before ||
		v.openQuestions == nil {
		t.Errorf("without an answer: %v, %+v", err, v.counts)
	}
	v.openQuestions <- countsAnswer{counts: workerCounts{notes: []string{"new"}}}
	if err := v.refreshCounts(t.Context(), states, time.Now()); err != nil ||
		v.counts.notes[0] != "new" || v.openQuestions != nil {
		t.Errorf("with an answer: %v, %+v", err, v.counts)
	}
	v.counts, v.openQuestions = nil, make(chan countsAnswer)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := v.refreshCounts(ended, states, time.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted before the first answer: %v", err)
	}
}

// The table has a name for each of its columns that the help explains.
func TestLanesHelp_ExplainsTheColumns(t *testing.T) {
	v, _ := someLanes()
	header, _, _ := strings.Cut(v.text(lanesReport{Lanes: []laneLine{{}}}, cli.Palette{}), "\n")
	help := lanesCommand(v.app).Long
	for _, column := range regexp.MustCompile(` {2,}`).Split(header, -1)[3:] {
		if !strings.Contains(help, "\n  "+column+" ") && !strings.Contains(help, "\n  "+column+"\n") {
			t.Errorf("the help does not explain the column %q", column)
		}
	}
}
