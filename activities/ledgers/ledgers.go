// Package ledgers reaches the workflows that count the calls of principals and conversations.
package ledgers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
)

const (
	// attemptTimeout bounds one attempt to enter a call into a ledger, pause is the time between
	// two attempts.
	attemptTimeout = 5 * time.Second
	pause          = 100 * time.Millisecond
)

// Client reaches ledgers.
type Client struct{ client client.Client }

// New returns a client of ledgers.
func New(c client.Client) *Client { return &Client{client: c} }

// Ledger is the ledger that a call is entered into.
type Ledger struct {
	// ID is the workflow ID, Queue the task queue of workflows.
	ID, Queue string
	Scope     api.LedgerScope
	// Of is whose calls the ledger counts, and Auth how that identity was authenticated.
	Of   string
	Auth api.AuthMethod
}

func (l Ledger) options() client.StartWorkflowOptions {
	return client.StartWorkflowOptions{
		ID: l.ID, TaskQueue: l.Queue, WorkflowTaskTimeout: api.WorkflowTaskTimeout,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		WorkflowIDReusePolicy:    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary: fmt.Sprintf("counts the calls of the %s %s for policies", l.Scope,
			api.Shorten(l.Of, 100)),
	}
}

// state returns the state of a new ledger.
func (l Ledger) state() api.Packed[api.LedgerState] {
	return api.Pack(api.LedgerState{Scope: l.Scope, Of: l.Of, Auth: l.Auth})
}

// Reserve enters a call into a ledger, which it starts if there is none. It tries again until ctx
// ends. The error is that of the last attempt.
func (c *Client) Reserve(ctx context.Context, to Ledger,
	r api.LedgerRequest) (answer api.LedgerAnswer, err error) {
	err = again(ctx, func(ctx context.Context) (err error) {
		answer, err = c.reserve(ctx, to, r)
		return err
	})
	return answer, err
}

// again makes attempts until one has no error or ctx ends. The error is that of the last attempt.
func again(ctx context.Context, attempt func(context.Context) error) error {
	for {
		bounded, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := attempt(bounded)
		cancel()
		if err == nil {
			return nil
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

func (c *Client) reserve(ctx context.Context, to Ledger,
	r api.LedgerRequest) (answer api.LedgerAnswer, err error) {
	handle, err := c.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.client.NewWithStartWorkflowOperation(to.options(),
			api.LedgerWorkflow, to.state()),
		UpdateOptions: client.UpdateWorkflowOptions{
			// A repeated attempt with the same ID gets the answer of the first one.
			UpdateID: r.Holder + "/" + string(to.Scope), UpdateName: api.ReserveCallUpdate,
			Args: []any{r}, WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return answer, err
	}
	return answer, handle.Get(ctx, &answer)
}

// Close implements the activity api.CloseReservationsActivity: it tells ledgers what became of
// calls. A ledger that has ended has forgotten its calls. Errors are those of the server.
func (c *Client) Close(ctx context.Context, s api.ReservationEnds) error {
	var failed error
	for _, l := range s.Ledgers {
		err := c.client.SignalWorkflow(ctx, l.WorkflowID, "", api.CloseReservationsSignal, l.Calls)
		if _, none := errors.AsType[*serviceerror.NotFound](err); !none {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("ledgers do not know yet that calls have ended", "error",
			failed)
	}
	return failed
}
