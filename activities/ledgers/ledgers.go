// Package ledgers reaches the workflows that count the calls of principals and conversations.
package ledgers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/value/display"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
)

// closeWithin bounds one attempt to tell ledgers what became of calls.
const closeWithin = 10 * time.Second

// Client reaches ledgers. All that a process asks of one ledger at the same time is one request,
// and all that it tells it another one.
type Client struct {
	client client.Client

	mu    sync.Mutex
	lines map[string]*lines
}

// New returns a client of ledgers.
func New(c client.Client) *Client { return &Client{client: c, lines: map[string]*lines{}} }

// lines are those to one ledger.
type lines struct {
	// users counts who uses them. Lines without users are dropped: each conversation has a ledger.
	users int
	asks  line[ask, ledgerrules.Answer]
	news  line[news, struct{}]
	usage line[struct{}, ledgerrules.PrincipalUsage]
}

// ask is a request to enter a call, news a report to a ledger.
type (
	ask struct {
		ledgerrules.Request
		to Ledger
	}
	news struct {
		ledgerrules.News
		// to is set if the ledger is started if there is none.
		to *Ledger
	}
)

// with returns the lines to a ledger, and a function to be called after their use.
func (c *Client) with(id string) (*lines, func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.lines[id]
	if l == nil {
		l = &lines{}
		l.asks.send, l.asks.size = c.reserve, askSize
		l.news.size = newsSize
		l.news.send = func(ctx context.Context, key string, all []news) ([]struct{}, error) {
			return make([]struct{}, len(all)), c.tell(ctx, id, key, all)
		}
		l.usage.size, l.usage.once = func(struct{}) int { return 0 }, true
		l.usage.send = func(ctx context.Context, _ string,
			all []struct{}) ([]ledgerrules.PrincipalUsage, error) {
			return c.queryUsage(ctx, id, len(all))
		}
		c.lines[id] = l
	}
	l.users++
	return l, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(c.lines, id)
		}
	}
}

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
			display.Shorten(l.Of, 100)),
	}
}

// state returns the state of a new ledger.
func (l Ledger) state() api.Packed[ledgerrules.State] {
	return api.Pack(ledgerrules.State{Scope: l.Scope, Of: l.Of, Auth: l.Auth})
}

// Reserve enters calls into a ledger, which it starts if there is none, one after the other. It
// tries again until ctx ends. The error is that of the last attempt. A call that was entered by an
// attempt whose answer was lost is not entered again.
func (c *Client) Reserve(ctx context.Context, to Ledger,
	all ...ledgerrules.Request) ([]ledgerrules.Answer, error) {
	asks := make([]ask, len(all))
	for i, r := range all {
		asks[i] = ask{r, to}
	}
	l, release := c.with(to.ID)
	defer release()
	return l.asks.do(ctx, asks...)
}

// askSize is about the size of a request as JSON.
func askSize(a ask) int {
	n := 300 + 200*len(a.Ends)
	for name, value := range a.Args {
		n += len(name) + len(value)
	}
	for _, q := range a.Queries {
		n += 100 + len(q.Key())
	}
	return n
}

// reserve sends an update. A repeated one with the same ID gets the answer of the first one.
func (c *Client) reserve(ctx context.Context, id string,
	all []ask) (answers []ledgerrules.Answer, err error) {
	requests := make([]ledgerrules.Request, len(all))
	for i, a := range all {
		requests[i] = a.Request
	}
	to := all[0].to
	handle, err := c.client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.client.NewWithStartWorkflowOperation(to.options(),
			api.LedgerWorkflow, to.state()),
		UpdateOptions: client.UpdateWorkflowOptions{
			UpdateID: id, UpdateName: api.ReserveCallsUpdate, Args: []any{requests},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return nil, err
	}
	err = handle.Get(ctx, &answers)
	return answers, err
}

// newsSize is about the size of news as JSON.
func newsSize(n news) int { return 200 * (1 + len(n.Ends) + len(n.Used)) }

// tell sends a signal, which the server keeps though no worker answers for the ledger. A ledger
// that has ended has forgotten its calls; it is started again only to add up what model steps
// used.
func (c *Client) tell(ctx context.Context, ledger, id string, all []news) (err error) {
	told := ledgerrules.News{ID: id}
	var to *Ledger
	for _, n := range all {
		told.Ends, told.Used = append(told.Ends, n.Ends...), append(told.Used, n.Used...)
		if n.to != nil {
			to = n.to
		}
	}
	if to != nil {
		_, err = c.client.SignalWithStartWorkflow(ctx, ledger, api.TellLedgerSignal, told,
			to.options(), api.LedgerWorkflow, to.state())
		return err
	}
	err = c.client.SignalWorkflow(ctx, ledger, "", api.TellLedgerSignal, told)
	if _, none := errors.AsType[*serviceerror.NotFound](err); none {
		return nil
	}
	return err
}

// Close implements the activity api.CloseReservationsActivity: it tells ledgers what became of
// calls. Errors are those of the server.
func (c *Client) Close(ctx context.Context, s ledgerrules.Ends) error {
	bounded, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	errs := make([]error, len(s.Ledgers))
	var all sync.WaitGroup
	for i, ends := range s.Ledgers {
		all.Go(func() {
			l, release := c.with(ends.WorkflowID)
			defer release()
			_, errs[i] = l.news.do(bounded, news{News: ledgerrules.News{Ends: ends.Calls}})
		})
	}
	all.Wait()
	failed := errors.Join(errs...)
	if failed != nil && activity.IsActivity(ctx) {
		activity.GetLogger(ctx).Warn("ledgers do not know yet that calls have ended", "error",
			failed)
	}
	return failed
}
