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
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// LaneState is how a lane stands, as the server knows it.
type State struct {
	// Lane is the lane as its keeper knows it, else as it was given.
	Lane api.Lane
	// Kept says that there is a keeper, which gives the slots of a lane with a limit to workers.
	Served bool
	// Holders are the groups into which the keeper divides the slots or the keys.
	Holders []Holder
	// Counts are the sum of what the holders tell.
	Counts api.LaneCounts
	// Queued is about how many calls wait at the server. Those that nobody wants any more count until a worker would get
	// them.
	Queued int64
	// Workers are the identities of those that serve the lane, or of one with a limit, those that would hold slots.
	Workers []string
	// Keys is how many keys are open, and KeysAsked of how many of them the waiting calls were counted.
	Keys, KeysAsked int
	// Partitions is how many partitions the lane's task queue has, or of a keyed lane, that of each key.
	Partitions int
}

// Held returns how many of the groups a worker holds.
func (s State) ServedGroups() (n int) {
	for _, h := range s.Holders {
		if h.Served {
			n++
		}
	}
	return n
}

// LaneHolder is one group of a lane's slots or keys and who holds it.
type Holder struct {
	// Group counts from 0.
	Group int `json:"group"`
	// Held says that a worker has it. Otherwise the rest is about the worker that had it last.
	Served bool   `json:"served"`
	Worker string `json:"worker,omitempty"`
	// Seen is when the worker last proved that it is there, to within a second.
	Seen time.Time `json:"seen,omitzero"`
	// Failure is why the worker before lost or gave up the group.
	Failure string `json:"failure,omitempty"`
	api.SlotsState
}

// LaneReader reads how lanes stand, time and again: it remembers what cannot have changed. It is for one goroutine.
type Reader struct {
	client          client.Client
	namespace, base string
	known           map[string]*knownLane
}

// knownLane is what a reader remembers of a lane.
type knownLane struct {
	keeper     keeperHistory
	keys       keysHistory
	partitions int
	// queued is what was counted for the keys' queues, and due when they may be asked again.
	queued int64
	due    time.Time
}

// NewLaneReader returns a reader for lanes of runs whose workflows live on the task queue base.
func NewReader(c client.Client, namespace, base string) *Reader {
	return &Reader{client: c, namespace: namespace, base: base, known: map[string]*knownLane{}}
}

// keptLanes is the query for the workflows that keep lanes.
const keptLanes = "WorkflowType = '" + api.LaneSlotsWorkflow + "' AND ExecutionStatus = 'Running'"

// Kept returns the names of the lanes that have a keeper, sorted. A keeper is found a moment after it has started. The error
// is the server's.
func (r *Reader) Kept(ctx context.Context) ([]string, error) {
	var names []string
	request := &workflowservice.ListWorkflowExecutionsRequest{Namespace: r.namespace, Query: keptLanes}
	for {
		page, err := r.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			name, ours := strings.CutPrefix(e.GetExecution().GetWorkflowId(), api.LaneWorkflowID(r.base, ""))
			if ours && api.CheckLaneName(name) == nil { // else it is of a longer base
				names = append(names, name)
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			slices.Sort(names)
			return slices.Compact(names), nil
		}
	}
}

// Read returns how lanes stand, in their order. Of a lane that nobody keeps only the name, the queue, the limit and the key
// matter here. The error is ErrUnreadable, that of ctx, or the server's.
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
		names, err := Partitions(ctx, r.client, r.namespace, s.Lane.TaskQueue(r.base, ""))
		if err != nil {
			return s, err
		}
		known.partitions = len(names)
	}
	s.Partitions = known.partitions
	if s.Lane.Keyed() {
		if err := r.readKeys(ctx, known, &s); err != nil {
			return s, err
		}
	} else {
		var err error
		s.Queued, s.Workers, err = backlog(ctx, r.client, r.namespace, s.Lane.TaskQueue(r.base, ""), s.Partitions)
		if err != nil {
			return s, err
		}
	}
	var err error
	if s.Lane.Limited() {
		s.Workers, err = Pollers(ctx, r.client, r.namespace, api.SlotsQueue(r.base, lane.Name), enumspb.TASK_QUEUE_TYPE_ACTIVITY)
	}
	return s, err
}

// readKeeper reads who holds the lane's slots. Without a keeper there is nothing to read.
func (r *Reader) readKeeper(ctx context.Context, known *knownLane, s *State) error {
	id := api.LaneWorkflowID(r.base, s.Lane.Name)
	open, err := describeOpen(ctx, r.client, id)
	if open == nil || err != nil {
		return err
	}
	if err := known.keeper.read(ctx, r.client, open.GetWorkflowExecutionInfo()); err != nil {
		return err
	}
	s.Served, s.Lane = true, known.keeper.lane
	for _, a := range open.GetPendingActivities() {
		if a.GetActivityType().GetName() != api.ServeSlotsActivity {
			continue
		}
		h := holder(a)
		h.Group = known.keeper.groups[a.GetActivityId()]
		s.Holders = append(s.Holders, h)
		s.Counts.Add(h.LaneCounts)
	}
	slices.SortFunc(s.Holders, func(a, b Holder) int { return a.Group - b.Group })
	return nil
}

// describeOpen describes a workflow; nil if there is none that runs.
func describeOpen(ctx context.Context, c client.Client, id string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	answer, err := c.DescribeWorkflowExecution(ctx, id, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); missing {
		return nil, nil
	}
	if err != nil || answer.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil, err
	}
	return answer, nil
}

// holder reads a group from the activity that holds it. What a worker that is gone said of running calls holds no more.
func holder(a *workflowpb.PendingActivityInfo) Holder {
	h := Holder{Worker: a.GetLastWorkerIdentity(), Seen: pb.TimeOf(a.GetLastHeartbeatTime())}
	h.Served = a.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && a.GetState() != enumspb.PENDING_ACTIVITY_STATE_PAUSED
	if pb.Decode(a.GetHeartbeatDetails(), &h.SlotsState) != nil {
		h.SlotsState = api.SlotsState{} // it has told nothing yet, or what this version cannot read
	}
	h.Needed = nil
	if !h.Served {
		h.Running, h.Waiting, h.Keys, h.Slots = 0, 0, 0, 0
		h.Failure = pb.FailureMessage(a.GetLastFailure())
	}
	return h
}

// readers is how many questions are put to the server at a time.
const readers = 8

// atOnce calls f for the numbers below n, several at a time, and returns the first error there is.
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
