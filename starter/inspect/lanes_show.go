package inspect

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/internal/specfiles"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

const (
	// askPace is the interval for querying workers about lanes without a limit. Each query runs a
	// workflow.
	askPace = 5 * time.Second
	// minInterval is the minimum refresh interval.
	minInterval = 100 * time.Millisecond
)

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

With --watch the table is updated until Ctrl-C: in place on a terminal, elsewhere as one table
after the other. Workers are then asked every 5s.`

func lanesCommand(a *cli.App) *cobra.Command {
	v := &lanesView{app: a}
	var watch bool
	interval := time.Second
	cmd := &cobra.Command{
		Use: "lanes [NAME…]", GroupID: cli.GroupServer, Short: "Show lanes: limits, holders, running and waiting calls",
		Long: lanesHelp,
		Example: `  starter lanes
  starter lanes android http --watch
  starter lanes --verbose --output json | jq '.lanes[] | select(.waiting > 0)'`,
		Args: cli.Arguments(0, "NAME…"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := v.flags.Check(cmd); err != nil {
				return err
			}
			if err := checkLaneNames(cmd, args); err != nil {
				return err
			}
			if interval < minInterval {
				return cli.UsageError(cmd, "--every %s is below the minimum of %s", interval, minInterval)
			}
			set, err := v.flags.LaneSet()
			if err != nil {
				return err
			}
			v.configured, v.only = set.Plain(args...), args
			return a.WithClient(cmd, func(ctx context.Context, c client.Client) error {
				v.client, v.reader = c, lanestate.NewReader(c, v.namespace(), v.queue)
				if watch {
					return v.watch(ctx, interval)
				}
				return v.once(ctx)
			})
		},
	}
	f := cmd.Flags()
	v.flags.AddLanes(f)
	f.BoolVar(&watch, "watch", false, "update the table until Ctrl-C")
	f.DurationVar(&interval, "every", interval, "refresh interval as a `duration`, with --watch")
	f.BoolVarP(&v.verbose, "verbose", "v", false, "show the workers that hold slots or serve lanes without a limit")
	f.StringVarP(&v.queue, "task-queue", "t", api.DefaultTaskQueue, "task `queue` of the workers")
	return cmd
}

func checkLaneNames(cmd *cobra.Command, names []string) error {
	for _, name := range names {
		if err := lanerules.CheckName(name); err != nil {
			return cli.UsageError(cmd, "%q: %v", name, err)
		}
	}
	return nil
}

// lanesView shows the state of lanes, once or repeatedly.
type lanesView struct {
	app     *cli.App
	client  client.Client
	flags   specfiles.Flags
	queue   string
	verbose bool
	reader  *lanestate.Reader
	// configured are all configured lanes. only, if not empty, names the lanes to show.
	configured *lanes.Set
	only       []string
	// kept are the lanes with an instance host as of keptAt.
	kept   []string
	keptAt time.Time
	// counts is the workers' last answer, nil before the first query. askedAt is the time of the
	// last query and asking receives its answer.
	counts        *workerCounts
	askedAt       time.Time
	openQuestions chan countsAnswer
}

func (v *lanesView) namespace() string { return v.app.Connection.ResolvedNamespace }

// lanesReport is the state of the lanes at one time.
type lanesReport struct {
	Time      time.Time  `json:"time"`
	TaskQueue string     `json:"task_queue"`
	Lanes     []laneLine `json:"lanes"`
	Notes     []string   `json:"notes,omitempty"`
}

// once shows the current state of the lanes.
func (v *lanesView) once(ctx context.Context) error {
	report, err := v.read(ctx)
	if err != nil {
		return err
	}
	return v.print(report)
}

// read reads all lanes and queries the workers at intervals.
func (v *lanesView) read(ctx context.Context) (lanesReport, error) {
	now := time.Now()
	report := lanesReport{Time: now.UTC(), TaskQueue: v.queue, Lanes: []laneLine{}}
	if now.Sub(v.keptAt) >= askPace {
		kept, err := v.reader.Kept(ctx)
		if err != nil {
			return report, err
		}
		v.kept, v.keptAt = kept, now
	}
	states, err := v.reader.Read(ctx, v.lanes()...)
	if err != nil {
		return report, err
	}
	if err := v.refreshCounts(ctx, states, now); err != nil {
		return report, err
	}
	v.add(&report, states)
	return report, nil
}

// add adds lane states and the workers' counts to a report.
func (v *lanesView) add(report *lanesReport, states []lanestate.State) {
	for _, s := range v.inline(states) {
		report.Lanes = append(report.Lanes, v.line(s))
		report.Notes = append(report.Notes, v.notes(s)...)
	}
	if v.counts != nil {
		report.Notes = append(report.Notes, v.counts.notes...)
	}
}

// lanes returns the lanes to read, sorted by name. It excludes the lane inline, which has no task
// queue.
func (v *lanesView) lanes() []api.Lane {
	set := v.configured.Plain(v.kept...)
	var read []api.Lane
	for _, lane := range set.All() {
		if lane.Name != api.LaneInline && (len(v.only) == 0 || slices.Contains(v.only, lane.Name)) {
			read = append(read, lane)
		}
	}
	return read
}

// findCounts returns the workers' counts of a lane and whether they are known.
func (v *lanesView) findCounts(lane string) (lanerules.Counts, bool) {
	if v.counts == nil {
		return lanerules.Counts{}, false
	}
	counts, ok := v.counts.lanes[lane]
	return counts, ok
}

// inline adds the lane inline if it was requested or workers counted calls on it.
func (v *lanesView) inline(states []lanestate.State) []lanestate.State {
	_, used := v.findCounts(api.LaneInline)
	named := slices.Contains(v.only, api.LaneInline)
	if !named && (!used || len(v.only) > 0) {
		return states
	}
	i := slices.IndexFunc(states, func(s lanestate.State) bool {
		return s.Lane.Name > api.LaneInline
	})
	if i < 0 {
		i = len(states)
	}
	return slices.Insert(states, i, lanestate.State{Lane: api.Lane{Name: api.LaneInline}})
}

// workerCounts are the workers' counts of lanes without a limit.
type workerCounts struct {
	lanes map[string]lanerules.Counts
	notes []string
}

// countsAnswer is the workers' answer, or the error of the query.
type countsAnswer struct {
	counts workerCounts
	err    error
}

// refreshCounts queries the workers if the interval has passed. Only the first query blocks,
// because a stopped worker may never answer.
func (v *lanesView) refreshCounts(ctx context.Context, states []lanestate.State,
	now time.Time) error {
	if v.openQuestions == nil && now.Sub(v.askedAt) >= askPace {
		openQuestions := make(chan countsAnswer, 1)
		v.openQuestions, v.askedAt = openQuestions, now
		go func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cli.ReportTimeout)
			defer cancel()
			counts, err := v.askCounts(ctx, states)
			openQuestions <- countsAnswer{counts, err}
		}()
	}
	if v.openQuestions == nil || v.counts != nil && len(v.openQuestions) == 0 {
		return nil
	}
	select {
	case a := <-v.openQuestions:
		v.openQuestions, v.counts = nil, &a.counts
		return a.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// askCounts queries the workers that serve lanes without a limit.
func (v *lanesView) askCounts(ctx context.Context, states []lanestate.State) (counts workerCounts,
	err error) {
	var workers []string
	for _, s := range states {
		if !s.Lane.HasLimit() {
			workers = append(workers, s.Workers...)
		}
	}
	if len(workers) == 0 && !slices.Contains(v.only, api.LaneInline) {
		return counts, nil
	}
	decide, err := lanestate.Pollers(ctx, v.client, v.namespace(), v.queue,
		enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return counts, err
	}
	workers = append(workers, decide...)
	slices.Sort(workers)
	reports, err := cli.AskLanes(ctx, v.client, v.queue, slices.Compact(workers))
	if err != nil {
		return counts, err
	}
	return sumCounts(reports), nil
}

// sumCounts sums the workers' counts.
func sumCounts(reports []workerreport.Lanes) workerCounts {
	counts := workerCounts{lanes: map[string]lanerules.Counts{}}
	for _, w := range reports {
		if w.Failure != "" {
			counts.notes = append(counts.notes, w.Worker+": "+w.Failure)
		}
		for name, c := range w.Lanes {
			sum := counts.lanes[name]
			sum.Add(c)
			counts.lanes[name] = sum
		}
	}
	return counts
}
