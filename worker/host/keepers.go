package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

const (
	// keeperCheck is the interval between checks of the lane workflows, keeperRetry the wait after
	// a failed one. Checks are rare, because every worker makes them for every lane; a worker whose
	// slots the server no longer knows checks at once.
	keeperCheck = 5 * time.Minute
	keeperRetry = time.Second
	// keeperPatience bounds one check.
	keeperPatience = 10 * time.Second
)

// keepers starts the LaneWorkflow of every lane with a limit, which assigns the lane's slots to
// workers, and sends it the lane's configuration. The configuration is sent once, when this process
// reads it: the file of another worker may be newer.
type keepers struct {
	config Config
	conn   client.Client
	wake   chan struct{}
	end    context.CancelFunc
	ended  chan struct{}

	mu    sync.Mutex
	lanes map[string]api.Lane
	// pending are the lanes whose configuration has not been sent yet.
	pending map[string]bool
}

func newKeepers(conn client.Client, c Config) *keepers {
	ctx, end := context.WithCancel(context.Background())
	k := &keepers{config: c, conn: conn, wake: make(chan struct{}, 1), end: end,
		ended: make(chan struct{}),
		lanes: map[string]api.Lane{}, pending: map[string]bool{}}
	go k.run(ctx)
	return k
}

// keep adds a lane to the checks.
func (k *keepers) keep(lane api.Lane) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, known := k.lanes[lane.Name]
	if known && lanerules.DescribeGroups(before) == lanerules.DescribeGroups(lane) {
		k.lanes[lane.Name] = lane
		return
	}
	k.lanes[lane.Name], k.pending[lane.Name] = lane, true
	k.check()
}

// check makes the next check due now.
func (k *keepers) check() {
	select {
	case k.wake <- struct{}{}:
	default: // a check is due already
	}
}

func (k *keepers) stop() {
	k.end()
	<-k.ended
}

func (k *keepers) run(ctx context.Context) {
	defer close(k.ended)
	for {
		wait := time.After(keeperCheck)
		if !k.lookAtAll(ctx) {
			wait = time.After(keeperRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-k.wake:
		case <-wait:
		}
	}
}

// lookAtAll checks all lanes and reports whether every check succeeded.
func (k *keepers) lookAtAll(ctx context.Context) bool {
	k.mu.Lock()
	all := slices.Collect(maps.Values(k.lanes))
	k.mu.Unlock()
	well := true
	for _, lane := range all {
		k.mu.Lock()
		pending := k.pending[lane.Name]
		k.mu.Unlock()
		if !pending && !lane.HasLimit() {
			continue
		}
		if err := k.look(ctx, lane, pending); err != nil {
			well = false
			if ctx.Err() == nil {
				k.config.Logger.Warn("check of the lane's workflow failed; retrying", "lane",
					lane.Name, "error", err)
			}
			continue
		}
		k.mu.Lock()
		if known, ok := k.lanes[lane.Name]; ok &&
			lanerules.DescribeGroups(known) == lanerules.DescribeGroups(lane) {
			delete(k.pending, lane.Name)
		}
		k.mu.Unlock()
	}
	return well
}

// look starts a lane's workflow if it is not running. With pending it sends the configuration if
// the workflow uses another one.
func (k *keepers) look(ctx context.Context, lane api.Lane, pending bool) error {
	ctx, cancel := context.WithTimeout(ctx, keeperPatience)
	defer cancel()
	id := api.LaneWorkflowID(k.config.TaskQueue, lane.Name)
	described, err := k.conn.DescribeWorkflowExecution(ctx, id, "")
	if _, missing := errors.AsType[*serviceerror.NotFound](err); err != nil && !missing {
		return err
	}
	info := described.GetWorkflowExecutionInfo()
	switch {
	case info.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		if !pending || k.goesBy(info) == lanerules.DescribeGroups(lane) {
			return nil
		}
		return k.conn.SignalWorkflow(ctx, id, "", api.ConfigureLaneSignal, lane)
	case !lane.HasLimit():
		return nil
	}
	_, err = k.conn.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue:                k.config.TaskQueue,
		WorkflowTaskTimeout:      api.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "assigns the slots of the lane " + lane.Name + " with workers",
		Memo:                     map[string]any{api.HoldersMemo: lanerules.DescribeGroups(lane)},
	}, api.LaneSlotsWorkflow, lanerules.KeeperInput{Lane: lane, Base: k.config.TaskQueue})
	return err
}

// goesBy returns the slot groups that a running lane workflow has or goes over to.
func (k *keepers) goesBy(info *workflowpb.WorkflowExecutionInfo) (groups string) {
	payload, ok := info.GetMemo().GetFields()[api.HoldersMemo]
	if !ok {
		return ""
	}
	from := k.config.Connection.DataConverter
	if from == nil {
		from = converter.GetDefaultDataConverter()
	}
	if err := from.FromPayload(payload, &groups); err != nil {
		return "" // sending it again changes nothing
	}
	return groups
}
