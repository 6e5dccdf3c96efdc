package runstart

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/connection"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
)

// OpenRun is a run that keeps a conversation busy. Fields besides WorkflowID are empty if they are
// not known.
type OpenRun struct {
	WorkflowID, RunID string
	Agent, Caller     string
	Started           time.Time
}

// BusyError is the error of a start while another run of the conversation is open.
type BusyError struct {
	Conversation string
	Open         OpenRun
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("the conversation %q is busy: the run %s is open; nothing was started",
		e.Conversation, e.Open.WorkflowID)
}

// startInTurn starts a run of a conversation when no other run of it is open.
func (n *Namespace) startInTurn(ctx context.Context, r *Request,
	options client.StartWorkflowOptions, onWait func(OpenRun)) (string, error) {
	turn := newPlaceInLine()
	for {
		at := time.Now()
		run, err := describe(ctx, n.Client, r.ID, "")
		if err != nil {
			return "", err
		}
		if run == nil || run.GetCloseTime() != nil {
			r.Input.LastRun = r.lastRun(run, at)
			runID, err := n.execute(ctx, r, options)
			taken, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
			if !ok {
				return runID, err
			}
			if run, err = describe(ctx, n.Client, r.ID, taken.RunId); err != nil {
				return "", err
			}
		}
		if err := n.busy(ctx, r, run, turn, onWait); err != nil {
			return "", err
		}
	}
}

// busy waits until an open run of the conversation has ended, if the request waits; else it returns
// a *BusyError. run is nil if the server no longer has it.
func (n *Namespace) busy(ctx context.Context, r *Request, run *workflowpb.WorkflowExecutionInfo,
	turn *placeInLine, onWait func(OpenRun)) error {
	open := openRun(r.ID, run)
	if !r.Wait {
		return &BusyError{Conversation: r.ID, Open: open}
	}
	if run == nil {
		return nil
	}
	if onWait != nil {
		onWait(open)
	}
	return n.wait(ctx, open, turn)
}

// describe returns the server's description of a run, the latest one without a runID, or nil if the
// server has none.
func describe(ctx context.Context, c client.Client, id,
	runID string) (*workflowpb.WorkflowExecutionInfo, error) {
	r, err := c.DescribeWorkflowExecution(ctx, id, runID)
	if _, gone := errors.AsType[*serviceerror.NotFound](err); gone {
		return nil, nil
	}
	return r.GetWorkflowExecutionInfo(), err
}

// lastRun returns the run that r continues, given the latest run with its id at that time; nil if
// that is not known or r does not continue one.
func (r *Request) lastRun(run *workflowpb.WorkflowExecutionInfo, at time.Time) *api.LastRun {
	if !r.Input.Continue || run != nil && run.GetType().GetName() != api.AgentWorkflow {
		return nil
	}
	return &api.LastRun{RunID: run.GetExecution().GetRunId(), At: at}
}

// wait waits for the end of a run of the conversation, and then for this process's position among
// the other waiting ones. The outcome of the run does not matter.
func (n *Namespace) wait(ctx context.Context, open OpenRun, turn *placeInLine) error {
	err := n.Client.GetWorkflow(ctx, open.WorkflowID, open.RunID).Get(ctx, nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch connection.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Unauthenticated:
		return err
	}
	pause := time.NewTimer(turn.pause(time.Now(), time.Since(open.Started)))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lineStep is the delay by which processes that arrived during a run let earlier arrivals start
// first.
const lineStep = 100 * time.Millisecond

// placeInLine approximates arrival order among independent processes that wait for one
// conversation: earlier arrivals retry sooner. Only the start itself is exact, and it admits a
// single process.
type placeInLine struct {
	came time.Time
	// own is the offset among processes that arrived during the same run, from 0 to lineStep.
	// passed counts the runs whose end this process has observed.
	own    time.Duration
	passed int
}

func newPlaceInLine() *placeInLine { return &placeInLine{came: time.Now()} }

// pause returns the delay before retrying after a run of duration took has ended.
func (p *placeInLine) pause(now time.Time, took time.Duration) time.Duration {
	if p.passed == 0 && took > 0 {
		after := took - now.Sub(p.came) // how long the run had been active when this process arrived
		p.own = time.Duration(float64(lineStep) * min(1, max(0, float64(after)/float64(took))))
	}
	p.passed++
	return (lineStep + p.own) >> min(p.passed-1, 20)
}
