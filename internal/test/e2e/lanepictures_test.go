package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/timeline"
	"go.temporal.io/sdk/client"
)

var updatePictures = flag.Bool("update-pictures", false, "redraw docs/lanes")

// laneScene is a picture of docs/lanes.md: the runs of examples/lanes that it shows, and what it
// must show.
type laneScene struct {
	name  string
	title string
	// units labels the axis in tenths of a second.
	units bool
	// millis labels it in milliseconds.
	millis bool
	play   func(y *laneYard) []timeline.Group
	// holds reports whether the calls, in the order of their start, show what the page says.
	holds func(calls []api.Record) bool
}

var laneScenes = []laneScene{
	{
		name: "limit", title: "A limit of three over two workers: two runs with six calls each share three slots",
		play: func(y *laneYard) []timeline.Group {
			y.start("first", "plan", "limit.yaml")
			y.start("second", "plan", "limit.yaml")
			groups := []timeline.Group{y.group("", "first"), y.group("", "second")}
			slices.SortFunc(groups,
				func(a, b timeline.Group) int { return a.Rows[0].Asked.Compare(b.Rows[0].Asked) })
			groups[0].Name, groups[1].Name = "a run", "another run"
			return groups
		},
		holds: func(calls []api.Record) bool { return atOnce(calls) == 3 && workersOf(calls) == 2 },
	},
	{
		name: "exclusive", title: "Exclusive access, in the order of the calls: survey waits for repair, which waits for look; 36 units",
		units: true,
		play: func(y *laneYard) []timeline.Group {
			y.start("exclusive", "run", "exclusive.yaml")
			return []timeline.Group{y.site("order: as_called", "exclusive")}
		},
		holds: func(calls []api.Record) bool {
			return atOnce(calls) == 1 && strings.Join(toolsOf(calls), " ") == "look repair survey"
		},
	},
	{
		name:  "parallel_first",
		title: "The same calls with parallel_first: look and survey run at once, repair after both; 31 units",
		units: true,
		play: func(y *laneYard) []timeline.Group {
			y.start("parallel", "run", "parallel-first.yaml")
			return []timeline.Group{y.site("parallel_first", "parallel")}
		},
		holds: func(calls []api.Record) bool {
			return atOnce(calls) == 2 && calls[2].Tool == "repair" &&
				atOnce([]api.Record{calls[0], calls[2]}) == 1 && atOnce(calls[1:]) == 1
		},
	},
	{
		name: "keyed", title: "A keyed lane: one call at a time on each phone, and no phone waits for another",
		play: func(y *laneYard) []timeline.Group {
			y.start("keyed", "plan", "keyed.yaml")
			return y.byLane("keyed")
		},
		holds: func(calls []api.Record) bool {
			byLane := map[string][]api.Record{}
			for _, c := range calls {
				byLane[c.Lane] = append(byLane[c.Lane], c)
			}
			for _, of := range byLane {
				if atOnce(of) > 1 {
					return false
				}
			}
			return len(byLane) == 3 && atOnce(calls) > 1
		},
	},
	{
		name: "priority", title: "Priorities: headline comes last and is urgent, so that it runs next; the low ones run last",
		play: func(y *laneYard) []timeline.Group {
			y.start("priority", "plan", "priority.yaml")
			g := y.group("lane gpu", "priority")
			g.Rows = slices.DeleteFunc(g.Rows,
				func(r timeline.Row) bool { return r.Label == "brief" || r.Label == "news" })
			for i, r := range y.on("gpu", "priority") {
				g.Rows[i].Label += ", " + string(r.Priority)
			}
			return []timeline.Group{g}
		},
		holds: func(calls []api.Record) bool {
			for _, a := range calls {
				for _, b := range calls {
					overtaken := runSince(b).After(a.Scheduled.Add(slack)) &&
						runSince(b).Before(runSince(a))
					if a.Lane == "gpu" && b.Lane == "gpu" &&
						lanerules.PriorityLevel(a.Priority) < lanerules.PriorityLevel(b.Priority) &&
						overtaken {
						return false
					}
				}
			}
			return calls[len(calls)-1].Priority == api.PriorityLow
		},
	},
	{
		name: "queue", title: "One prints, two may wait: of six copies at once three are refused",
		play: func(y *laneYard) []timeline.Group {
			y.start("queue", "run", "queue.yaml")
			return []timeline.Group{y.group("lane press", "queue")}
		},
		holds: func(calls []api.Record) bool {
			refused := slices.DeleteFunc(slices.Clone(calls),
				func(r api.Record) bool { return r.Error == nil })
			return len(calls) == 6 && len(refused) == 3 &&
				refused[0].Error.Type == api.ErrQueueFull && atOnce(calls) == 1
		},
	},
	{
		name: "bypass", title: "Bypass: what a person calls runs at once, although a plan has the only slot",
		play: func(y *laneYard) []timeline.Group {
			y.start("bypass", "plan", "bypass.yaml")
			y.await("for a picture", func() bool {
				running, err := audit.Pending(y.ctx, y.Client, "bypass", "")
				return err == nil && slices.ContainsFunc(running,
					func(r audit.Running) bool { return r.State == audit.StateRunning })
			})
			y.start("person", "call", "render", "picture=mine", "seconds=0.8")
			g := y.group("a direct call", "person")
			g.Rows[0].Label = "mine"
			return []timeline.Group{y.group("a plan", "bypass"), g}
		},
		holds: func(calls []api.Record) bool {
			person := func(r api.Record) bool { return r.Caller.Type == api.CallerDirect }
			return atOnce(calls) == 2 && atOnce(slices.DeleteFunc(slices.Clone(calls), person)) == 1
		},
	},
}

// inlineScene compares two runs that do the same.
var inlineScene = laneScene{
	name: "inline", title: "Two turns of two calls each: by way of a task queue, and inline with the model's steps inline too",
	millis: true,
	play: func(y *laneYard) []timeline.Group {
		apart, inline := y.fastest("general", "apart.yaml"), y.fastest("inline", "inline.yaml")
		late := inline.Rows[0].Asked.Sub(apart.Rows[0].Asked)
		for i := range inline.Rows {
			r := &inline.Rows[i]
			r.Asked, r.Began, r.Ended = r.Asked.Add(-late), r.Began.Add(-late), r.Ended.Add(-late)
		}
		return []timeline.Group{apart, inline}
	},
	holds: func(calls []api.Record) bool {
		return len(calls) == 8 && calls[0].Lane == api.LaneGeneral &&
			calls[7].Lane == api.LaneInline
	},
}

// fastest repeats a run and returns the model steps and calls of the fastest one, because the load
// of the machine matters more than the difference that is shown.
func (y *laneYard) fastest(lane, file string) timeline.Group {
	y.t.Helper()
	var best timeline.Group
	var took time.Duration
	for i := range 8 {
		id := fmt.Sprint(lane, "-", i)
		y.start(id, "run", file)
		g := y.group("", id)
		delete(y.shown, id)
		whole := y.steps(&g, id)
		if best.Rows == nil || whole < took {
			best, took = g, whole
			y.shown[lane] = y.records(y.Client.GetWorkflow(y.ctx, id, ""))
		}
	}
	best.Name = "lane " + lane
	return best
}

// steps adds the whole run and its model steps to the rows of its calls, in the order of their
// start, and returns the duration of the run.
func (y *laneYard) steps(g *timeline.Group, id string) time.Duration {
	y.t.Helper()
	var whole timeline.Row
	for e, err := range audit.Events(y.ctx, y.Client, id, "") {
		if err != nil {
			y.t.Fatal(err)
		}
		switch e.Type {
		case api.EventRunStarted:
			whole = timeline.Row{Label: "the whole run", Asked: e.Time, Began: e.Time}
		case api.EventStepCompleted:
			g.Rows = append(g.Rows, timeline.Row{Label: fmt.Sprintf("%d. model step", e.Turn),
				Asked: e.Timing.Scheduled,
				Began: e.Timing.Started, Ended: e.Timing.Closed, Worker: e.Timing.Worker})
			whole.Worker = e.Timing.Worker
		case api.EventRunCompleted:
			whole.Ended = e.Time
		}
	}
	slices.SortStableFunc(g.Rows, func(a, b timeline.Row) int { return a.Began.Compare(b.Began) })
	for i := range g.Rows {
		g.Rows[i].Worker = whole.Worker
	}
	g.Rows = slices.Insert(g.Rows, 0, whole)
	return whole.Ended.Sub(whole.Began)
}

// laneYard is a server with two workers that serve examples/lanes.
type laneYard struct {
	*lab
	starter string
	// shown has the records of the scene's runs, by run.
	shown map[string][]api.Record
}

const lanesFolder = "../../../examples/lanes"

// newLaneYard starts the workers and returns when both have their part of the divided lanes.
func newLaneYard(t *testing.T) *laneYard {
	t.Helper()
	y := &laneYard{lab: newLab(t), starter: testserver.Bin(t, "starter")}
	for range 2 {
		y.program(testserver.Bin(t, "worker"), nil, "--tools", filepath.Join(lanesFolder, "tools"),
			"--lanes-file", filepath.Join(lanesFolder, "lanes.yaml"), "--log-level", "warn")
	}
	reader := lanestate.NewReader(y.Client, client.DefaultNamespace, api.DefaultTaskQueue)
	for _, lane := range []string{"api", "phone"} {
		y.await("for two holders of "+lane, func() bool {
			states, err := reader.Read(y.ctx, api.Lane{Name: lane})
			if err != nil || len(states) != 1 || len(states[0].Holders) == 0 ||
				states[0].ServedGroups() < len(states[0].Holders) {
				return false
			}
			workers := map[string]bool{}
			for _, h := range states[0].Holders {
				workers[h.Worker] = true
			}
			return len(workers) == 2
		})
	}
	return y
}

// start starts a run of examples/lanes with starter.
func (y *laneYard) start(id, command, what string, arguments ...string) {
	y.t.Helper()
	if command != "call" {
		what = filepath.Join(lanesFolder, what)
	}
	args := append([]string{command, what}, arguments...)
	out, err := exec.CommandContext(y.ctx, y.starter, append(args, "--detach", "--id", id,
		"--address", y.Address)...).CombinedOutput()
	if err != nil {
		y.t.Fatalf("starter %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	y.shown[id] = nil
}

// group waits for a run's end and returns its calls' rows, in the order of the requests.
func (y *laneYard) group(name, id string) timeline.Group {
	y.t.Helper()
	run := y.Client.GetWorkflow(y.ctx, id, "")
	if err := run.Get(y.ctx, nil); err != nil {
		y.t.Fatalf("run %s: %v", id, err)
	}
	records := y.records(run)
	slices.SortFunc(records, func(a, b api.Record) int {
		if a.Turn > 0 {
			return cmp.Compare(a.CallID, b.CallID)
		}
		return a.Scheduled.Compare(b.Scheduled)
	})
	y.shown[id] = records
	g := timeline.Group{Name: name}
	for _, r := range records {
		asked := r.Scheduled
		if r.Turn > 0 { // all calls of a turn are asked for at once
			for _, other := range records {
				if other.Turn == r.Turn && other.Scheduled.Before(asked) {
					asked = other.Scheduled
				}
			}
		}
		row := timeline.NewRow(r, asked)
		if r.Turn > 0 {
			row.Label += " " + r.Tool
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

// on returns the records of a run's calls on a lane, in the order of the requests.
func (y *laneYard) on(lane, id string) []api.Record {
	return slices.DeleteFunc(slices.Clone(y.shown[id]),
		func(r api.Record) bool { return r.Lane != lane })
}

// site is group for a run with the tools of the lane site.
func (y *laneYard) site(name, id string) timeline.Group {
	g := y.group(name, id)
	for i, r := range y.shown[id] {
		g.Rows[i].Label = r.Tool
		if r.Tool == "repair" {
			g.Rows[i].Label += ", exclusive"
		}
	}
	return g
}

// byLane is group with a separate group for the rows of each lane.
func (y *laneYard) byLane(id string) []timeline.Group {
	y.t.Helper()
	all := y.group("", id)
	var groups []timeline.Group
	for i, r := range y.shown[id] {
		at := slices.IndexFunc(groups, func(g timeline.Group) bool { return g.Name == r.Lane })
		if at < 0 {
			at, groups = len(groups), append(groups, timeline.Group{Name: r.Lane})
		}
		groups[at].Rows = append(groups[at].Rows, all.Rows[i])
	}
	return groups
}

func runSince(r api.Record) time.Time {
	since, _ := timeline.Ran(r)
	return since
}

// slack is the tolerance of the times of a record, which the server learns a little later.
const slack = 100 * time.Millisecond

// atOnce returns the maximum number of calls that ran at a time.
func atOnce(calls []api.Record) (most int) {
	for _, c := range calls {
		n := 0
		for _, other := range calls {
			from, to := timeline.Ran(other)
			if c.Error == nil && other.Error == nil && !from.After(runSince(c)) &&
				to.After(runSince(c).Add(slack)) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

func toolsOf(calls []api.Record) (tools []string) {
	for _, c := range calls {
		tools = append(tools, c.Tool)
	}
	return tools
}

func workersOf(calls []api.Record) int {
	var workers []string
	for _, c := range calls {
		workers = append(workers, c.Worker)
	}
	slices.Sort(workers)
	return len(slices.Compact(workers))
}

func listed(calls []api.Record) string {
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "    %s %s on %s, worker %s: asked for at %s, began %s, ended %s, error %v\n",
			c.CallID, c.Tool, c.Lane, c.Worker,
			c.Scheduled.Format("05.000"), runSince(c).Format("05.000"), c.Closed.Format("05.000"),
			c.Error)
	}
	return b.String()
}

// The test makes the calls of each picture of docs/lanes.md on two shipped workers with the files
// of examples/lanes. With -update-pictures it redraws them from the call records.
func TestLanePictures_ShowWhatHappens(t *testing.T) {
	if testing.Short() {
		t.Skip("pictures take half a minute; make test/e2e looks at them")
	}
	if withoutCache() {
		t.Skip("the pictures are of workers with the cache that they have by default")
	}
	y := newLaneYard(t)
	for _, s := range append(laneScenes, inlineScene) {
		y.shown = map[string][]api.Record{}
		groups := s.play(y)
		calls := slices.Concat(slices.Collect(maps.Values(y.shown))...)
		slices.SortFunc(calls,
			func(a, b api.Record) int { return runSince(a).Compare(runSince(b)) })
		if !s.holds(slices.Clone(calls)) {
			t.Errorf("%s: these calls are not as the page says:\n%s", s.name, listed(calls))
		}
		if !*updatePictures {
			continue
		}
		p := timeline.Picture{Title: s.title, Groups: groups, Tick: 500 * time.Millisecond,
			Unit: time.Second, UnitName: "seconds"}
		if s.units {
			p.Unit, p.UnitName, p.Span = 100*time.Millisecond, "units of 0.1 s",
				3700*time.Millisecond
		}
		if s.millis {
			p.Unit, p.UnitName, p.Tick = time.Millisecond, "milliseconds", 5*time.Millisecond
		}
		if err := os.WriteFile(filepath.Join("../../../docs/lanes", s.name+".svg"), p.SVG(),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}
