package lanestate

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/internal/pb"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// State is the state of a lane as the server knows it.
type State struct {
	// Lane is the configuration of the lane that its workflow has, otherwise as given.
	Lane api.Lane `json:"lane"`
	// Served is set if a workflow assigns the slots of the lane to workers.
	Served bool `json:"served,omitempty"`
	// Holders are the groups of the slots or keys.
	Holders []Holder `json:"holders,omitempty"`
	// Counts are the sums over the holders. Counted is set if they are known: those of a lane
	// without a limit are in its workers, which a Reader does not ask.
	Counts  lanerules.Counts `json:"counts"`
	Counted bool             `json:"counted,omitempty"`
	// Queued is the approximate number of calls that wait at the server. Cancelled calls count
	// until a worker would receive them.
	Queued int64 `json:"queued"`
	// Workers are the identities of the workers that serve the lane. For a lane with a limit they
	// are those that could serve slots.
	Workers []string `json:"workers,omitempty"`
	// Partitions is the number of partitions of each task queue of the lane.
	Partitions int `json:"partitions,omitempty"`
}

// ServedGroups returns the number of groups that a worker serves.
func (s State) ServedGroups() (n int) {
	for _, h := range s.Holders {
		if h.Served {
			n++
		}
	}
	return n
}

// Holder is one group of the slots or keys of a lane, and the worker that serves it.
type Holder struct {
	// Group counts from 0.
	Group int `json:"group"`
	// Served is set if a worker serves the group. Otherwise the other fields are about the last
	// worker that did.
	Served bool   `json:"served"`
	Worker string `json:"worker,omitempty"`
	// Seen is the time of the worker's last heartbeat, to within a second.
	Seen time.Time `json:"seen,omitzero"`
	// Failure is why the previous worker lost or returned the group.
	Failure string `json:"failure,omitempty"`
	lanerules.SlotsState
}

// Reader reads the states of lanes repeatedly. It caches what cannot have changed. It is not safe
// for concurrent use.
type Reader struct {
	client          client.Client
	namespace, base string
	known           map[string]*knownLane
}

// knownLane is the cache of a lane.
type knownLane struct {
	keeper     keeperHistory
	partitions int
}

// NewReader returns a reader for the lanes of runs whose workflows use the task queue base.
func NewReader(c client.Client, namespace, base string) *Reader {
	return &Reader{client: c, namespace: namespace, base: base, known: map[string]*knownLane{}}
}

// keptLanes is the query for the workflows that assign slots.
const keptLanes = "WorkflowType = '" + api.LaneSlotsWorkflow + "' AND ExecutionStatus = 'Running'"

// Kept returns the sorted names of the lanes with a workflow that assigns slots. A new workflow is
// listed after a moment. The error is that of the server.
func (r *Reader) Kept(ctx context.Context) ([]string, error) {
	var names []string
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: r.namespace,
		Query:     keptLanes,
	}
	for {
		page, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			name, ours := strings.CutPrefix(e.GetExecution().GetWorkflowId(),
				api.LaneWorkflowID(r.base, ""))
			if ours && lanerules.CheckName(name) == nil { // otherwise its base is longer
				names = append(names, name)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// Read returns the states of lanes in the given order. For a lane without a workflow only the name,
// the queue, the limit and the key matter. Errors: ErrUnreadable, those of ctx and of the server.
func (r *Reader) Read(ctx context.Context, lanes ...api.Lane) ([]State, error) {
	states := make([]State, len(lanes))
	for _, l := range lanes {
		if r.known[l.Name] == nil {
			r.known[l.Name] = &knownLane{}
		}
	}
	err := atOnce(len(lanes), func(i int) (err error) {
		states[i], err = r.read(ctx, lanes[i], r.known[lanes[i].Name])
		return err
	})
	return states, err
}

func (r *Reader) read(ctx context.Context, lane api.Lane, known *knownLane) (State, error) {
	s := State{Lane: lane}
	if err := r.readKeeper(ctx, known, &s); err != nil {
		return s, err
	}
	if known.partitions == 0 {
		names, err := partitionNames(ctx, r.client, r.namespace, lanerules.TaskQueue(s.Lane, r.base, ""))
		if err != nil {
			return s, err
		}
		known.partitions = len(names)
	}
	s.Partitions = known.partitions
	if err := r.readQueues(ctx, &s); err != nil {
		return s, err
	}
	var err error
	if s.Lane.HasLimit() {
		s.Workers, err = Pollers(ctx, r.client, r.namespace, queues.Slots(r.base, lane.Name),
			enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	}
	return s, err
}

// readQueues counts the calls that wait in the task queues of the lane, and reads who polls them.
func (r *Reader) readQueues(ctx context.Context, s *State) error {
	queues := lanerules.TaskQueues(s.Lane, r.base)
	waiting, workers := make([]int64, len(queues)), make([][]string, len(queues))
	err := atOnce(len(queues), func(i int) (err error) {
		waiting[i], workers[i], err = backlog(ctx, r.client, r.namespace, queues[i], s.Partitions)
		return err
	})
	for _, n := range waiting {
		s.Queued += n
	}
	s.Workers = slices.Concat(workers...)
	slices.Sort(s.Workers)
	s.Workers = slices.Compact(s.Workers)
	return err
}

// readKeeper reads which workers serve the slots of the lane. Without a workflow there is nothing
// to read.
func (r *Reader) readKeeper(ctx context.Context, known *knownLane, s *State) error {
	id := api.LaneWorkflowID(r.base, s.Lane.Name)
	open, err := describeOpen(ctx, r.client, id)
	if open == nil || err != nil {
		return err
	}
	if err := known.keeper.read(ctx, r.client, open.GetWorkflowExecutionInfo()); err != nil {
		return err
	}
	s.Served, s.Counted = true, true
	s.Lane = known.keeper.lane
	for _, a := range open.GetPendingActivities() {
		if a.GetActivityType().GetName() != api.ServeSlotsActivity {
			continue
		}
		h := holder(a)
		h.Group = known.keeper.groups[a.GetActivityId()]
		s.Holders = append(s.Holders, h)
		s.Counts.Add(h.Counts)
	}
	slices.SortFunc(s.Holders, func(a, b Holder) int { return a.Group - b.Group })
	return nil
}

// describeOpen describes a running workflow; nil if there is none.
func describeOpen(ctx context.Context, c client.Client,
	id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	answer, err := c.DescribeWorkflowExecution(ctx, id, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil, nil
	}
	if err != nil ||
		answer.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, err
	}
	return answer, nil
}

// holder reads a group from the activity that serves it. Counts of a worker that no longer serves
// it are dropped.
func holder(a *workflowpb.PendingActivityInfo) Holder {
	h := Holder{Worker: a.GetLastWorkerIdentity(), Seen: pb.Time(a.GetLastHeartbeatTime())}
	h.Served = a.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED &&
		a.GetState() != enumspb.PENDING_ACTIVITY_STATE_PAUSED
	if pb.Decode(a.GetHeartbeatDetails(), &h.SlotsState) != nil {
		h.SlotsState = lanerules.SlotsState{} // no heartbeat yet
	}
	if !h.Served {
		h.Running, h.Waiting, h.Keys, h.Slots = 0, 0, 0, 0
		h.Failure = pb.FailureMessage(a.GetLastFailure())
	}
	return h
}

// readers bounds the concurrent requests to the server.
const readers = 8

// atOnce calls f for the numbers below n, several at a time, and returns the error of the lowest
// number that fails.
func atOnce(n int, f func(i int) error) error {
	var all sync.WaitGroup
	errs := make([]error, n)
	places := make(chan struct{}, readers)
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			errs[i] = f(i)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
