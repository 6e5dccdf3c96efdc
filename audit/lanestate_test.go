package audit_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// laneNames is a server with the workflows of lanes, and a reader of their states.
type laneNames struct {
	*testing.T
	client client.Client
	reader *lanestate.Reader
}

const laneBase = "lanes-test"

// callsWorkflow makes calls wait in a task queue.
const callsWorkflow = "Calls"

func newLaneNames(t *testing.T) *laneNames {
	t.Helper()
	if os.Getenv("SWITCHYARD_E2E") == "" {
		t.Skip("SWITCHYARD_E2E is not set: this test runs a server; make check does")
	}
	t.Parallel()
	server := testserver.NewServer(t, "--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=100")
	h := &laneNames{
		T:      t,
		client: server.Client,
		reader: lanestate.NewReader(server.Client, client.DefaultNamespace, laneBase),
	}
	w := worker.New(server.Client, laneBase, worker.Options{})
	for name, run := range workflows.All() {
		w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
	}
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, queue string, n int) error {
		calls := make([]workflow.Future, n)
		for i := range calls {
			calls[i] = workflow.ExecuteActivity(
				workflow.WithActivityOptions(
					ctx,
					workflow.ActivityOptions{TaskQueue: queue, ScheduleToCloseTimeout: time.Minute},
				),
				"call",
			)
		}
		return calls[0].Get(ctx, nil)
	}, workflow.RegisterOptions{Name: callsWorkflow})
	h.start(w)
	return h
}

func (h *laneNames) start(w worker.Worker) {
	h.Helper()
	if err := w.Start(); err != nil {
		h.Fatal(err)
	}
	h.Cleanup(w.Stop)
}

// hostInstance starts a worker that owns groups of a lane's slots, reports a state for each, and
// releases them when stop is called.
func (h *laneNames) hostInstance(lane, identity string,
	state func(group int) lanerules.SlotsState) (stop func()) {
	h.Helper()
	released, release := context.WithCancel(context.Background())
	h.Cleanup(release)
	w := worker.New(h.client, queues.Slots(laneBase, lane),
		worker.Options{Identity: identity, DisableWorkflowWorker: true})
	w.RegisterActivityWithOptions(
		func(ctx context.Context, r lanerules.SlotsRequest) (lanerules.SlotsState, error) {
			tick := time.NewTicker(500 * time.Millisecond)
			defer tick.Stop()
			for {
				activity.RecordHeartbeat(ctx, state(r.Group))
				select {
				case <-tick.C:
				case <-ctx.Done():
					return lanerules.SlotsState{}, ctx.Err()
				case <-released.Done():
					return lanerules.SlotsState{}, errors.New("given up")
				}
			}
		},
		activity.RegisterOptions{Name: api.ServeSlotsActivity},
	)
	if err := w.Start(); err != nil {
		h.Fatal(err)
	}
	return func() {
		release()
		w.Stop()
	}
}

func (h *laneNames) execute(id, name string, args ...any) {
	h.Helper()
	options := client.StartWorkflowOptions{ID: id, TaskQueue: laneBase}
	_, err := h.client.ExecuteWorkflow(h.Context(), options, name, args...)
	if err != nil {
		h.Fatal(err)
	}
}

func (h *laneNames) keep(lane api.Lane) {
	h.Helper()
	h.execute(api.LaneWorkflowID(laneBase, lane.Name), api.LaneSlotsWorkflow,
		lanerules.KeeperInput{Lane: lane, Base: laneBase})
}

// until reads a lane until its state is as wanted, and returns the state.
func (h *laneNames) until(lane api.Lane, what string,
	wanted func(lanestate.State) bool) lanestate.State {
	h.Helper()
	deadline, tick := time.After(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for {
		states, err := h.reader.Read(h.Context(), lane)
		if err != nil {
			h.Fatal(err)
		}
		if wanted(states[0]) {
			return states[0]
		}
		select {
		case <-tick.C:
		case <-deadline:
			h.Fatalf("%s: it stays at %+v", what, states[0])
		}
	}
}

// The state of a lane with a limit is that of its keeper's groups: the holder of each, the sum of
// their counts, the calls at the server, and the configured limit. A released group counts no
// running calls and has a reason.
func TestLaneWithLimit_SumsItsGroups(t *testing.T) {
	h := newLaneNames(t)
	given := api.Lane{Name: "http"} // what the keeper knows counts
	if s := h.until(given, "nobody", func(lanestate.State) bool { return true }); s.Served ||
		s.ServedGroups() != 0 ||
		len(s.Workers) != 0 ||
		s.Partitions != 1 {
		t.Errorf("a lane without a worker: %+v", s)
	}
	lane := lanes.WithDefaults(api.Lane{Name: "http", Limit: 3, Holders: 2})
	h.keep(lane)
	h.until(given, "offered", func(s lanestate.State) bool {
		return s.Served && len(s.Holders) == 2 && s.ServedGroups() == 0
	})
	stop := h.hostInstance("http", "holder", func(group int) lanerules.SlotsState {
		return lanerules.SlotsState{
			Fence: int64(group) + 7,
			Slots: lanerules.Share(lane, group, 2),
			Counts: lanerules.Counts{
				Running:         2 - group,
				Waiting:         group,
				Acquired:        10,
				Ended:           5,
				WaitMicros:      100,
				ExecutionMicros: 200,
			},
		}
	})
	h.execute("calls", callsWorkflow, lanerules.TaskQueue(lane, laneBase, ""), 5)
	s := h.until(given, "held", func(s lanestate.State) bool {
		return s.ServedGroups() == 2 && s.Counts.Acquired == 20 && s.Queued == 5
	})
	want := lanerules.Counts{Running: 3, Waiting: 1, Acquired: 20, Ended: 10, WaitMicros: 200,
		ExecutionMicros: 400}
	if s.Counts != want {
		t.Errorf("counts %+v, want %+v", s.Counts, want)
	}
	for group, holder := range s.Holders {
		if holder.Group != group || holder.Worker != "holder" || holder.Fence != int64(group)+7 ||
			holder.Slots != 2-group ||
			holder.Seen.IsZero() {
			t.Errorf("group %d: %+v", group, holder)
		}
	}
	if s.Lane.Limit != 3 || !slices.Equal(s.Workers, []string{"holder"}) {
		t.Errorf("got limit %d, workers %v", s.Lane.Limit, s.Workers)
	}
	lane.Limit = 4
	if err := h.client.SignalWorkflow(t.Context(), api.LaneWorkflowID(laneBase, "http"), "",
		api.ConfigureLaneSignal, lane); err != nil {
		t.Fatal(err)
	}
	h.until(given, "limit 4",
		func(s lanestate.State) bool { return s.Lane.Limit == 4 && s.ServedGroups() == 2 })
	stop()
	s = h.until(given, "given up", func(s lanestate.State) bool { return s.ServedGroups() == 0 })
	if s.Counts.Running != 0 || s.Counts.Acquired != 20 || s.Holders[0].Worker != "holder" ||
		s.Holders[0].Failure == "" {
		t.Errorf("after the holder has gone: %+v", s)
	}
}

func TestKeyedLane_CountsTheCallsOfItsKeys(t *testing.T) {
	h := newLaneNames(t)
	lane := lanes.WithDefaults(api.Lane{Name: "android", Key: "{{args.device}}"})
	h.keep(lane)
	h.until(lane, "kept", func(s lanestate.State) bool { return s.Served && s.Queued == 0 })
	stop := h.hostInstance("android", "holder", func(int) lanerules.SlotsState {
		return lanerules.SlotsState{Slots: 1, Counts: lanerules.Counts{Keys: 2, Running: 1}}
	})
	defer stop()
	sum := int64(0)
	for i := range 10 {
		h.execute(fmt.Sprint("calls-", i), callsWorkflow,
			lanerules.TaskQueue(lane, laneBase, fmt.Sprint("phone-", i)), i+1)
		sum += int64(i + 1)
	}
	s := h.until(lane, "waiting calls", func(s lanestate.State) bool {
		return s.Queued == sum && s.ServedGroups() == lane.Holders
	})
	if s.Counts.Keys != 2*lane.Holders || s.Counts.Running != lane.Holders ||
		!slices.Equal(s.Workers, []string{"holder"}) {
		t.Errorf("the state is %+v", s)
	}
}

// A lane whose base has a similar name is not listed. Several lanes are read at once; those without
// a limit by the pollers of their queue.
func TestLanesWithKeepers_AreFound(t *testing.T) {
	h := newLaneNames(t)
	h.keep(lanes.WithDefaults(api.Lane{Name: "http", Limit: 1}))
	h.keep(lanes.WithDefaults(api.Lane{Name: "ai", Limit: 1}))
	h.execute(
		api.LaneWorkflowID(laneBase+"/other", "db"),
		api.LaneSlotsWorkflow,
		lanerules.KeeperInput{
			Lane: lanes.WithDefaults(api.Lane{Name: "db", Limit: 1}),
			Base: laneBase + "/other",
		},
	)
	w := worker.New(h.client, queues.Lane(laneBase, "gpu"),
		worker.Options{Identity: "plain", DisableWorkflowWorker: true})
	w.RegisterActivityWithOptions(func() error { return nil },
		activity.RegisterOptions{Name: "call"})
	h.start(w)
	h.until(api.Lane{Name: "gpu"}, "polled",
		func(s lanestate.State) bool { return slices.Equal(s.Workers, []string{"plain"}) })
	deadline := time.After(20 * time.Second)
	for {
		found, err := h.reader.Kept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(found, []string{"ai", "http"}) {
			break
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-deadline:
			t.Fatalf("lanes with keepers are %v", found)
		}
	}
	states, err := h.reader.Read(t.Context(), api.Lane{Name: "http"}, api.Lane{Name: "gpu"},
		api.Lane{Name: "ai"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range states {
		got = append(got, fmt.Sprint(s.Lane.Name, " ", s.Served))
	}
	if want := []string{"http true", "gpu false", "ai true"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.reader.Read(ended, api.Lane{Name: "http"}); err == nil {
		t.Error("an ended context is no error")
	}
	if _, err := h.reader.Kept(ended); err == nil {
		t.Error("an ended context is no error")
	}
}
