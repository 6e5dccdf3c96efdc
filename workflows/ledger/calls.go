package ledger

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/sdk/workflow"
)

// Calls are the calls of a run that ledgers count. A run without such calls records nothing.
type Calls struct {
	ctx  workflow.Context
	run  string
	id   func(scope api.LedgerScope, callID string) string
	tell func(workflow.Context, ledgerrules.Ends)
	open map[string]*api.Reservation
	// ended are calls that ledgers do not know about yet; telling is set while they are told.
	ended   []ended
	telling bool
}

// NewCalls returns the calls of a run. run is the ID of the first execution of its chain, id
// returns the workflow ID of the ledger of a scope for a call, and tell tells ledgers what
// became of calls.
func NewCalls(ctx workflow.Context, run string, id func(api.LedgerScope, string) string,
	tell func(workflow.Context, ledgerrules.Ends)) *Calls {
	// Ledgers are told also if the run is cancelled.
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	return &Calls{ctx: ctx, run: run, id: id, tell: tell, open: map[string]*api.Reservation{}}
}

type ended struct {
	ledgerrules.End
	scopes []api.LedgerScope
}

// RecordReservations notes the reservation of a call, which replaces an earlier one of the call.
func (c *Calls) RecordReservations(decisions ...api.AdmissionDecision) {
	for _, v := range decisions {
		if v.Reserved != nil {
			c.open[v.ID] = v.Reserved
		}
	}
}

// End notes that a call has ended. made says that it took place, or may have.
func (c *Calls) End(callID string, made bool) {
	r := c.open[callID]
	if r == nil {
		return
	}
	delete(c.open, callID)
	c.ended = append(c.ended, ended{End: ledgerrules.End{Run: c.run, Call: callID,
		Holder: r.Holder, Made: made}, scopes: r.Scopes})
	if c.telling {
		return
	}
	c.telling = true
	workflow.Go(c.ctx, func(ctx workflow.Context) {
		for len(c.ended) > 0 {
			c.tell(ctx, c.take())
		}
		c.telling = false
	})
}

// take returns the settlement of the calls that ledgers do not know about.
func (c *Calls) take() (s ledgerrules.Ends) {
	calls := c.ended
	c.ended = nil
	for _, call := range calls {
		for _, scope := range call.scopes {
			id := c.id(scope, call.Call)
			i := slices.IndexFunc(s.Ledgers, func(l ledgerrules.Calls) bool {
				return l.WorkflowID == id
			})
			if i < 0 {
				i, s.Ledgers = len(s.Ledgers), append(s.Ledgers, ledgerrules.Calls{WorkflowID: id})
			}
			s.Ledgers[i].Calls = append(s.Ledgers[i].Calls, call.End)
		}
	}
	return s
}

// Finish waits until ledgers know what became of all calls that have ended.
func (c *Calls) Finish(ctx workflow.Context) {
	if !c.telling {
		return
	}
	apart, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	_ = workflow.Await(apart, func() bool { return !c.telling }) // it is never cancelled
}
