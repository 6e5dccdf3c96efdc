package workflows

import (
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/workflows/ledger"
	"go.temporal.io/sdk/workflow"
)

// reservations are the calls of a run that ledgers count for rules about time.
type reservations struct {
	Bystander
	p     *pipeline
	calls *ledger.Calls
}

func newReservations(ctx workflow.Context, p *pipeline) *reservations {
	r := &reservations{p: p}
	r.calls = ledger.NewCalls(ctx, p.origin.Run, r.ledgerID, r.tell)
	return r
}

func (r *reservations) Admit(_ []api.Call, decisions []api.AdmissionDecision, _ time.Time) {
	r.calls.RecordReservations(decisions...)
}

func (r *reservations) Readmit(v api.AdmissionDecision) { r.calls.RecordReservations(v) }

// end notes the end of a call, or of its parts.
func (r *reservations) End(_ workflow.Context, c *Call, out api.CallOutcome) {
	made := out.Error == nil || !out.Error.BeforeStart()
	r.calls.End(c.call.ID, made)
	for _, part := range c.parts {
		r.calls.End(part.call.ID, made)
	}
}

// finish waits until ledgers know what became of all calls that have ended.
func (r *reservations) Finish(ctx workflow.Context) error {
	r.calls.Finish(ctx)
	return nil
}

// endsSize bounds how many bytes ends of reservations are recorded with.
const endsSize = 1 << 10

// tell tells ledgers what became of calls, in one recorded step. Calls that they are not told of
// count as running, until their window has passed.
func (r *reservations) tell(ctx workflow.Context, ends ledgerrules.Ends) {
	_ = r.p.sizes.Task.Record(ctx, endsSize, func() int {
		err := workflow.ExecuteLocalActivity(withSummary(withAdmitOptions(ctx, nil),
			"ledgers of rules about time"), api.CloseReservationsActivity, ends).Get(ctx, nil)
		if err != nil {
			workflow.GetLogger(ctx).Warn("ledgers count calls that have ended as running", "error",
				err)
		}
		return endsSize
	}) // the context is never cancelled
}

// ledgerID returns the workflow ID of the ledger of a scope for a call of the run.
func (r *reservations) ledgerID(scope api.LedgerScope, callID string) string {
	return api.LedgerWorkflowID(r.p.queue, scope, r.p.findOrigin(callID).Caller,
		r.p.origin.Conversation, r.p.origin.Run)
}
