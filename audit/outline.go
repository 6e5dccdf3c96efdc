package audit

import (
	"context"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/audit/internal/pb"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
)

// Outline returns what the server says of a run without its history, for readers who cannot decode
// payloads: kind, status, task queue, times, and the last execution as the only part. Paused is set
// if the memo says so or cannot be decoded; in the second case it does not say who paused the run.
// Parameters and errors are those of Events.
func Outline(ctx context.Context, c client.Client,
	workflowID, runID string) (history.Summary, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil {
		return history.Summary{}, err
	}
	info := r.GetWorkflowExecutionInfo()
	s := history.Summary{
		WorkflowID: workflowID,
		Run:        firstRun(r),
		Kind:       history.KindFromType(info.GetType().GetName()),
		Status:     ToRunStatus(info.GetStatus()),
		TaskQueue:  info.GetTaskQueue(),
		Started:    pb.Time(info.GetStartTime()),
		Closed:     pb.Time(info.GetCloseTime()),
		Parts: []history.Part{
			{
				RunID:         info.GetExecution().GetRunId(),
				Started:       pb.Time(info.GetStartTime()),
				HistoryEvents: int(info.GetHistoryLength()),
			},
		},
	}
	if memo := info.GetMemo().GetFields()[api.PausedMemo]; memo != nil {
		var p api.Pause
		if pb.DataConverter.FromPayload(memo, &p) != nil || p.By != "" {
			s.Paused = &p
		}
	}
	return s, nil
}

// ToRunStatus returns the status of a run from that of its workflow.
func ToRunStatus(s enumspb.WorkflowExecutionStatus) history.RunStatus {
	switch s {
	case enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return history.RunPaused
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return history.RunCompleted
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return history.RunFailed
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return history.RunCancelled
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return history.RunTerminated
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return history.RunTimedOut
	}
	return history.RunRunning
}

// Execution is the last execution of a run.
type Execution struct {
	RunID, TaskQueue string
	// Over is set if the run has ended.
	Over bool
}

// Last returns the last execution of a run. Parameters and errors are those of Events.
func Last(ctx context.Context, c client.Client, workflowID, runID string) (Execution, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	if err != nil {
		return Execution{}, err
	}
	info := r.GetWorkflowExecutionInfo()
	return Execution{
		RunID:     info.GetExecution().GetRunId(),
		TaskQueue: info.GetTaskQueue(),
		Over:      info.GetCloseTime() != nil,
	}, nil
}
