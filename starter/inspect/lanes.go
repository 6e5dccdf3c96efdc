package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// lanesPace is the interval of --watch. Each table runs a workflow that asks the workers.
const lanesPace = 5 * time.Second

const lanesHelp = `Shows the lanes of the lanes file, the lanes whose slots workers hold, and the named lanes, each
with its limit, the holders of its slots, running and waiting calls, and counters:

  holders    slot groups of the lane that a worker holds; for a lane without a limit, its workers
  running    attempts that hold a slot
  waiting    calls that wait at the server or with the holder of the slots. Calls cancelled while
             they wait at the server count until a worker receives them
  acquired   attempts that got a slot
  rejected   calls rejected because the wait queue was full
  timed out  calls that waited too long with the holder
  avg wait   time from the scheduling of an attempt until it gets a slot; retries count as 0
  avg execution
             time of an attempt with its slot, by the worker's clock. Records and reports show
             a call's last attempt as wait and duration, by the server's clock; their duration
             includes the way of the result to the server

Counters of a lane with a limit belong to its holder and survive a change of the holder.
Counters of a lane without a limit come from its workers since their start; timed-out calls are
not counted there. At most 200 keys of a keyed lane are asked for their waiting calls.

With --watch a table follows every 5 seconds until Ctrl-C.`

func lanesCommand(a *cli.App) *cobra.Command {
	v := &lanesView{app: a}
	var watch bool
	cmd := &cobra.Command{
		Use: "lanes [NAME…]", GroupID: cli.GroupServer, Short: "Show lanes: limits, holders, running and waiting calls",
		Long: lanesHelp,
		Example: `  starter lanes
  starter lanes android http --watch
  starter lanes --output json | jq '.lanes[] | select(.queued > 0)'`,
		Args: cli.Arguments(0, "NAME…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, name := range args {
				if err := lanerules.CheckName(name); err != nil {
					return cli.UsageError(cmd, "%q: %v", name, err)
				}
			}
			set, err := v.flags.LaneSet()
			if err != nil {
				return err
			}
			v.configured, v.only = set.Plain(args...), args
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				v.client, v.reader = c, lanestate.NewReader(c, v.namespace(), v.queue)
				if watch {
					return v.watch(ctx)
				}
				return v.once(ctx)
			})
		},
	}
	f := cmd.Flags()
	v.flags.AddLanesFile(f)
	f.BoolVar(&watch, "watch", false, "show the lanes every 5 seconds until Ctrl-C")
	f.StringVarP(&v.queue, "task-queue", "t", api.DefaultTaskQueue, "task `queue` of the workers")
	return cmd
}

// lanesView shows the state of lanes.
type lanesView struct {
	app    *cli.App
	client client.Client
	flags  specfiles.Flags
	queue  string
	reader *lanestate.Reader
	// configured are all configured lanes. only, if not empty, names the lanes to show.
	configured *lanes.Set
	only       []string
}

func (v *lanesView) namespace() string { return v.app.Connection.ResolvedNamespace }

// lanesReport is the state of the lanes at one time.
type lanesReport struct {
	Time      time.Time         `json:"time"`
	TaskQueue string            `json:"task_queue"`
	Lanes     []lanestate.State `json:"lanes"`
	Notes     []string          `json:"notes,omitempty"`
}

func (v *lanesView) once(ctx context.Context) error {
	report, err := v.read(ctx)
	if err != nil {
		return err
	}
	if v.app.Format.JSON() {
		return cli.WriteJSON(v.app.Out, report, false)
	}
	return v.app.Print(lanesText(report, v.app.PaletteFor(v.app.Out)))
}

// watch shows the lanes until ctx ends.
func (v *lanesView) watch(ctx context.Context) error {
	tick := time.NewTicker(lanesPace)
	defer tick.Stop()
	for {
		if err := v.once(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return cli.Exit(cli.ExitCancelled)
		}
		if !v.app.Format.JSON() {
			fmt.Fprintln(v.app.Out)
		}
	}
}

// read reads the lanes and asks the workers for their counts of lanes without a limit.
func (v *lanesView) read(ctx context.Context) (lanesReport, error) {
	report := lanesReport{Time: time.Now().UTC(), TaskQueue: v.queue}
	kept, err := v.reader.Kept(ctx)
	if err != nil {
		return report, err
	}
	read := slices.DeleteFunc(v.configured.Plain(kept...).All(), func(lane api.Lane) bool {
		return lane.Name == api.LaneInline || !v.shows(lane.Name)
	})
	if report.Lanes, err = v.reader.Read(ctx, read...); err != nil {
		return report, err
	}
	counts, note, err := v.askCounts(ctx, report.Lanes)
	if err != nil {
		return report, err
	}
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	report.Lanes = addCounts(report.Lanes, counts, v.shows(api.LaneInline))
	report.Notes = append(report.Notes, v.unserved(report.Lanes)...)
	return report, nil
}

// unserved returns a note for each lane without workers.
func (v *lanesView) unserved(states []lanestate.State) (notes []string) {
	for _, s := range states {
		if len(s.Workers) == 0 && s.ServedGroups() == 0 && s.Lane.Name != api.LaneInline {
			notes = append(notes, fmt.Sprintf("no worker serves the lane %s\n  start one: %s",
				s.Lane.Name, v.flags.WorkerCommand(v.app.Connection.Invocation(), v.queue,
					s.Lane.Name)))
		}
	}
	return notes
}

func (v *lanesView) shows(lane string) bool {
	return len(v.only) == 0 || slices.Contains(v.only, lane)
}

// askCounts asks the workers for their counts of lanes without a limit. If that is not possible,
// note says why.
func (v *lanesView) askCounts(ctx context.Context,
	states []lanestate.State) (counts map[string]lanerules.Counts, note string, err error) {
	// Those that serve runs count the calls of the lane inline.
	workers, err := lanestate.Pollers(ctx, v.client, v.namespace(), v.queue,
		enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, "", err
	}
	for _, s := range states {
		if !s.Lane.HasLimit() {
			workers = append(workers, s.Workers...)
		}
	}
	if len(workers) == 0 {
		return nil, "", nil
	}
	slices.Sort(workers)
	reports, err := cli.AskLanes(ctx, v.client, v.queue, slices.Compact(workers))
	counts = map[string]lanerules.Counts{}
	for _, w := range reports {
		if w.Failure != "" {
			note = w.Worker + ": " + w.Failure
		}
		for name, c := range w.Lanes {
			sum := counts[name]
			sum.Add(c)
			counts[name] = sum
		}
	}
	return counts, note, err
}

// addCounts adds the workers' counts to the lanes without a limit, and the lane inline if it has
// counts. counts is nil if they are unknown.
func addCounts(states []lanestate.State, counts map[string]lanerules.Counts,
	inline bool) []lanestate.State {
	for i, s := range states {
		if !s.Lane.HasLimit() {
			states[i].Counts, states[i].Counted = counts[s.Lane.Name], counts != nil
		}
	}
	if c, used := counts[api.LaneInline]; used && inline {
		states = append(states, lanestate.State{Lane: api.Lane{Name: api.LaneInline}, Counts: c,
			Counted: true})
	}
	slices.SortFunc(states, func(x, y lanestate.State) int {
		return cmp.Compare(x.Lane.Name, y.Lane.Name)
	})
	return states
}

func lanesText(r lanesReport, p cli.Palette) string {
	t := newTable(3, "lane", "limit", "key", "holders", "running", "waiting", "acquired",
		"rejected", "timed out", "avg wait", "avg execution")
	for _, s := range r.Lanes {
		addRow(t, s.Lane.Name, cmp.Or(numberOrEmpty(s.Lane.Limit), unknown), keyText(s),
			holdersText(s, p), count(s, int64(s.Counts.Running)), waitingText(s, p),
			count(s, s.Counts.Acquired), countWithLimit(s, s.Counts.Rejected),
			countWithLimit(s, s.Counts.TimedOut), average(s, s.Counts.WaitMicros),
			average(s, s.Counts.ExecutionMicros))
	}
	text := t.Text(p)
	for _, note := range r.Notes {
		text += p.Warn("! "+note) + "\n"
	}
	return text
}

// numberOrEmpty formats a limit; zero means none.
func numberOrEmpty(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// count formats a counter of a lane.
func count(s lanestate.State, n int64) string {
	if !s.Counted {
		return unknown
	}
	return strconv.FormatInt(n, 10)
}

// countWithLimit formats a counter that lanes without a limit do not have.
func countWithLimit(s lanestate.State, n int64) string {
	if !s.Lane.HasLimit() {
		return unknown
	}
	return count(s, n)
}

// average formats the mean of a time over the calls that have ended.
func average(s lanestate.State, micros int64) string {
	if !s.Counted || s.Counts.Ended == 0 {
		return unknown
	}
	return cli.ShortDuration(time.Duration(micros/s.Counts.Ended) * time.Microsecond)
}

func keyText(s lanestate.State) string {
	if s.Counts.Keys == 0 {
		return cmp.Or(s.Lane.Key, unknown)
	}
	return fmt.Sprintf("%s (%d in use)", s.Lane.Key, s.Counts.Keys)
}

func holdersText(s lanestate.State, p cli.Palette) string {
	hosted, groups := s.ServedGroups(), cmp.Or(len(s.Holders), s.Lane.Holders)
	switch text := fmt.Sprintf("%d/%d", hosted, groups); {
	case s.Lane.Name == api.LaneInline:
		return unknown
	case !s.Lane.HasLimit() && len(s.Workers) == 0:
		return p.Bad("0 workers")
	case !s.Lane.HasLimit():
		return display.Plural(len(s.Workers), "worker")
	case hosted == 0:
		return p.Bad(text)
	case hosted < groups:
		return p.Warn(text)
	default:
		return text
	}
}

func waitingText(s lanestate.State, p cli.Palette) string {
	if s.Lane.Name == api.LaneInline {
		return unknown
	}
	waiting := s.Queued + int64(s.Counts.Waiting)
	text := strconv.FormatInt(waiting, 10)
	if waiting > 0 {
		text = p.Warn(text)
	}
	return text
}
