package audit

import (
	"context"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Outline returns what the server says of a run without its history, for who cannot decode that: kind, status, task queue, times,
// and its last execution as the only part. Paused is set where the run's memo says so or cannot be decoded; then it does not say by
// whom. Parameters and errors are those of Events.
func Outline(ctx context.Context, c client.Client, workflowID, runID string) (Summary, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil {
		return Summary{}, err
	}
	info := r.GetWorkflowExecutionInfo()
	s := Summary{WorkflowID: workflowID, Run: firstRun(r), Kind: runKinds[info.GetType().GetName()], Status: StatusOf(info.GetStatus()), TaskQueue: info.GetTaskQueue(),
		Started: timeOf(info.GetStartTime()), Closed: timeOf(info.GetCloseTime()),
		Parts: []Part{{RunID: info.GetExecution().GetRunId(), Started: timeOf(info.GetStartTime()), HistoryEvents: int(info.GetHistoryLength())}}}
	if s.Status == RunPaused {
		s.PausedOnServer = &api.Pause{OnServer: true}
	}
	if memo := info.GetMemo().GetFields()[api.PausedMemo]; memo != nil {
		var p api.Pause
		if dataConverter.FromPayload(memo, &p) != nil || p.By != "" {
			s.Paused = &p
		}
	}
	return s, nil
}

// StatusOf is the status of a run as the server has it.
func StatusOf(s enumspb.WorkflowExecutionStatus) RunStatus {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return RunPaused
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return RunCompleted
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return RunFailed
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return RunCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return RunTerminated
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return RunTimedOut
	}
	return RunRunning
}
