package runstart

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/runstart/attributes"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// Namespace starts runs in a namespace. It is safe for concurrent use.
type Namespace struct {
	Client client.Client
	Name   string
	// Decode decodes payloads as this process can; nil leaves out the check that the workers'
	// payloads are readable here.
	Decode func(context.Context, proto.Message) error

	mu       sync.Mutex
	known    attributes.Types
	lookedUp time.Time
	readable map[string]time.Time
}

// knownFor is how long search attributes, and that a task queue's payloads are readable, are
// believed without asking the server again.
const knownFor = time.Minute

// Started is a run that exists on the server.
type Started struct {
	// RunID is the first execution of the run.
	RunID string
	// Missing are the search attributes that the namespace lacks.
	Missing []string
}

// ExistsError is the error of a start whose ID another run has.
type ExistsError struct {
	ID string
	// RunID is the first execution of that run. Equal says that it was started by an equal request.
	RunID string
	Equal bool
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("the run %q already exists; nothing was started", e.ID)
}

// UnreadableError is the error of a start on a task queue whose workers write payloads that this
// process cannot decode.
type UnreadableError struct {
	Queue string
	err   error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("nothing was started, because payloads written by the workers of the task "+
		"queue %s cannot be decoded here: %v", e.Queue, e.err)
}

func (e *UnreadableError) Unwrap() error { return e.err }

// Start starts a run. onWait, if set, is called each time before Start waits for an open run of the
// conversation.
//
// Errors: *SizeError, *UnreadableError, *ExistsError, *BusyError, those of ctx and of the server.
func (n *Namespace) Start(ctx context.Context, r *Request, onWait func(OpenRun)) (Started, error) {
	if err := r.CheckSize(api.MaxInputs); err != nil {
		return Started{}, err
	}
	if err := n.checkReadable(ctx, r.Queue); err != nil {
		return Started{}, err
	}
	known, err := n.attributes(ctx)
	if err != nil {
		return Started{}, err
	}
	set, missing := r.Attributes(known)
	options := r.options(set)
	var runID string
	if r.Exclusive {
		runID, err = n.startInTurn(ctx, r, options, onWait)
	} else {
		runID, err = n.execute(ctx, r, options)
		if taken, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
			err = n.exists(ctx, r, taken.RunId)
		}
	}
	return Started{RunID: runID, Missing: missing}, err
}

// execute sends one start request to the server.
func (n *Namespace) execute(ctx context.Context, r *Request,
	options client.StartWorkflowOptions) (runID string, err error) {
	run, err := n.Client.ExecuteWorkflow(ctx, options, r.Workflow, r.Arguments()...)
	if err != nil {
		return "", err
	}
	return run.GetRunID(), nil
}

// attributes returns the search attributes of the namespace.
func (n *Namespace) attributes(ctx context.Context) (attributes.Types, error) {
	n.mu.Lock()
	known, fresh := n.known, time.Since(n.lookedUp) < knownFor
	n.mu.Unlock()
	if fresh {
		return known, nil
	}
	known, err := attributes.List(ctx, n.Client, n.Name)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	n.known, n.lookedUp = known, time.Now()
	n.mu.Unlock()
	return known, nil
}

// checkReadable refuses to start a run whose data could not be decoded here. It checks the latest
// heartbeat of the instance host that serves the task queue. Without one, readability is unknown
// and the run starts.
func (n *Namespace) checkReadable(ctx context.Context, queue string) error {
	n.mu.Lock()
	fresh := time.Since(n.readable[queue]) < knownFor
	n.mu.Unlock()
	if n.Decode == nil || fresh {
		return nil
	}
	keeper, err := n.Client.DescribeWorkflowExecution(ctx,
		api.LaneWorkflowID(queue, api.LaneSerial), "")
	if err != nil {
		return nil // there is none, or starting the run reports the problem
	}
	for _, hosting := range keeper.GetPendingActivities() {
		if !heartbeatIsRecent(hosting, time.Now()) {
			continue
		}
		if err := n.Decode(ctx, hosting.GetHeartbeatDetails()); err != nil {
			return &UnreadableError{Queue: queue, err: err}
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.readable == nil {
		n.readable = map[string]time.Time{}
	}
	n.readable[queue] = time.Now()
	return nil
}

// lately is the maximum age of a host's heartbeat. It excludes workers that have stopped and used
// another key.
const lately = 20 * time.Second

// heartbeatIsRecent reports whether the current slot host has sent a heartbeat recently.
func heartbeatIsRecent(hosting *workflowpb.PendingActivityInfo, now time.Time) bool {
	last := hosting.GetLastHeartbeatTime().AsTime()
	return hosting.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED &&
		hosting.GetHeartbeatDetails() != nil &&
		last.After(hosting.GetLastStartedTime().AsTime()) && now.Sub(last) < lately
}
