package runs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/internal/cli"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Values of --if-busy.
const (
	BusyRefuse = "refuse"
	BusyWait   = "wait"
)

// goOn makes an agent's run continue the conversation that the flags name, if any.
func (f *agentFlags) goOn(cmd *cobra.Command, s *start) error {
	switch {
	case f.ifBusy != BusyRefuse && f.ifBusy != BusyWait && f.ifBusy != "":
		return cli.UsageError(cmd, "--if-busy %q is not one of refuse, wait", f.ifBusy)
	case f.conversation == "":
		return nil
	case !api.Sendable(f.conversation):
		return cli.UsageError(cmd,
			"--conversation %q is not valid for an agent, because its runs use it as their ID: use letters, digits and _ - . : /",
			f.conversation)
	case f.id != "" && f.id != f.conversation:
		return cli.UsageError(cmd,
			"--id %q and --conversation %q: runs of a conversation have its ID; remove --id", f.id,
			f.conversation)
	}
	s.id, s.exclusive, s.wait = f.conversation, true, f.ifBusy == BusyWait
	s.input.Continue = s.earlier == nil
	return nil
}

// beginInTurn starts a run of a conversation if no other run of it is open. Otherwise it reports
// the open run.
func beginInTurn(ctx context.Context, a *cli.App, c client.Client, s *start,
	attributes temporal.SearchAttributes) (string, error) {
	turn := newPlaceInLine()
	for {
		at := time.Now()
		run, err := describeRun(ctx, c, s.id, "")
		if err != nil {
			return "", err
		}
		if run == nil || run.GetCloseTime() != nil {
			s.input.LastRun = s.lastRun(run, at)
			runID, err := s.execute(ctx, c, attributes)
			taken, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err)
			if !ok {
				return runID, err
			}
			if run, err = describeRun(ctx, c, s.id, taken.RunId); err != nil {
				return "", err
			}
		}
		if !s.wait {
			return "", busy(a, s, run)
		}
		if err := waitFor(ctx, a, c, s, run, turn); err != nil {
			return "", err
		}
	}
}

// describeRun returns the server's description of a run, the latest one without a runID, or nil if
// the server has none.
func describeRun(ctx context.Context, c client.Client, id,
	runID string) (*workflowpb.WorkflowExecutionInfo, error) {
	r, err := c.DescribeWorkflowExecution(ctx, id, runID)
	if cli.IsNotFound(err) {
		return nil, nil
	}
	return r.GetWorkflowExecutionInfo(), err
}

// lastRun returns the run that s continues, given the latest run with its id at that time; nil if
// that is not known or s does not continue one.
func (s *start) lastRun(run *workflowpb.WorkflowExecutionInfo, at time.Time) *api.LastRun {
	if !s.input.Continue || run != nil && run.GetType().GetName() != api.AgentWorkflow {
		return nil
	}
	return &api.LastRun{RunID: run.GetExecution().GetRunId(), At: at}
}

// busy rejects a run because another run of its conversation is open.
func busy(a *cli.App, s *start, run *workflowpb.WorkflowExecutionInfo) error {
	r, id := a.Connection.Invocation(), s.id
	if run != nil {
		id = run.GetExecution().GetWorkflowId()
	}
	return cli.Errorf(cli.ExitUsage,
		"the conversation %q is busy: %s; nothing was started\nWait for its end: --if-busy wait; follow it: %s; send it a message: %s TEXT; cancel it: %s",
		s.id, aboutRun(id, run, time.Now()), r.Command("watch", id), r.Command("send", id),
		r.Command("cancel", id))
}

// aboutRun describes the open run.
func aboutRun(id string, run *workflowpb.WorkflowExecutionInfo, now time.Time) string {
	if run == nil {
		return "the run " + id + " is running"
	}
	fields := run.GetSearchAttributes().GetIndexedFields()
	words := "the run " + id
	if agent := cli.AttributeText(fields[api.AttributeAgent]); agent != "" {
		words += " of " + agent
	}
	if caller := cli.AttributeText(fields[api.AttributeCaller]); caller != "" {
		words += ", started by " + caller + ","
	}
	return words + " has been running for " +
		cli.ShortDuration(now.Sub(run.GetStartTime().AsTime()))
}

// waitFor waits for the end of a run of the conversation, and then for this process's position
// among the other waiting ones.
func waitFor(ctx context.Context, a *cli.App, c client.Client, s *start,
	run *workflowpb.WorkflowExecutionInfo, turn *placeInLine) error {
	if run == nil {
		return nil
	}
	id, runID := run.GetExecution().GetWorkflowId(), run.GetExecution().GetRunId()
	fmt.Fprintf(a.Err, "waiting for the conversation %q: %s\n", s.id, aboutRun(id, run, time.Now()))
	err := c.GetWorkflow(ctx, id, runID).Get(ctx, nil)
	if ctx.Err() != nil {
		return cli.Errorf(cli.ExitCancelled,
			"interrupted while waiting for the run %q; nothing was started", id)
	}
	if err != nil && cli.Unreachable(err) {
		return err
	}
	pause := time.NewTimer(turn.pause(time.Now(), time.Since(run.GetStartTime().AsTime())))
	defer pause.Stop()
	select {
	case <-pause.C:
		return nil
	case <-ctx.Done():
		return cli.Errorf(cli.ExitCancelled,
			"interrupted while waiting for the conversation %q; nothing was started", s.id)
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
