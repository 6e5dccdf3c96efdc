// Package replay holds the command that replays recorded histories against the workflows of this
// build. It is the only part of starter that contains them.
package replay

import (
	"log/slog"
	"slices"

	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/internal/value/display"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// status says what the replay of one execution showed.
type status string

const (
	statusOK               status = "ok"
	statusNondeterministic status = "nondeterministic"
	// statusUnreadable means that the history could not be fetched or decoded.
	statusUnreadable status = "unreadable"
	// statusSkipped means that there is nothing to replay.
	statusSkipped status = "skipped"
)

// replayed is the outcome for one execution, and the command's JSON output.
type replayed struct {
	WorkflowID    string `json:"workflow_id"`
	RunID         string `json:"run_id"`
	WorkflowType  string `json:"workflow_type"`
	HistoryEvents int    `json:"history_events"`
	Status        status `json:"status"`
	// Reason says why the status is not ok, Remedy what to do.
	Reason string `json:"reason,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}

const (
	remedyNondeterministic = "make the change conditional on a version, or deploy this build as a " +
		"new version with worker --build-id: see docs/upgrading.md"
	remedyUnreadable = "pass the payload store and keys of the workers"
)

// maxReason bounds a reason in characters. Errors of the SDK repeat whole commands and events.
const maxReason = 600

// recorded is an execution whose history is to be replayed; err says why it has none.
type recorded struct {
	workflowID, runID string
	history           *historypb.History
	err               error
}

// fileHistory returns the execution that an exported history is of.
func fileHistory(h *historypb.History) recorded {
	start := findStart(h)
	return recorded{workflowID: start.GetWorkflowId(), runID: start.GetOriginalExecutionRunId(),
		history: h}
}

func findStart(h *historypb.History) *historypb.WorkflowExecutionStartedEventAttributes {
	if len(h.GetEvents()) == 0 {
		return nil
	}
	return h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
}

// replay replays one execution with the workflows of this build.
func (r recorded) replay() replayed {
	kind := findStart(r.history).GetWorkflowType().GetName()
	result := replayed{WorkflowID: r.workflowID, RunID: r.runID, WorkflowType: kind,
		HistoryEvents: len(r.history.GetEvents()), Status: statusOK}
	switch run, ours := feature.Workflows()[kind]; {
	case r.err != nil:
		result.Status, result.Remedy = statusUnreadable, remedyUnreadable
		result.Reason = display.Shorten(r.err.Error(), maxReason)
	case !ours:
		result.Status, result.Reason = statusSkipped, "the workflow is not one of Switchyard"
	case !hasDecisions(r.history):
		result.Status, result.Reason = statusSkipped, "no worker has executed it yet"
	default:
		if err := r.replayWith(kind, run); err != nil {
			result.Status, result.Remedy = statusNondeterministic, remedyNondeterministic
			result.Reason = display.Shorten(err.Error(), maxReason)
		}
	}
	return result
}

// hasDecisions reports whether a history has decisions: a workflow task that has been completed.
func hasDecisions(h *historypb.History) bool {
	return slices.ContainsFunc(h.GetEvents(), func(e *historypb.HistoryEvent) bool {
		return e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED
	})
}

// replayWith returns how the decisions of a workflow differ from the recorded ones, or nil. The
// history is decoded, so that the replayer needs no codec and no payload store.
func (r recorded) replayWith(kind string, run any) error {
	// A busy machine takes longer for a large history than the limit for deadlocks.
	replayer, err := worker.NewWorkflowReplayerWithOptions(
		worker.WorkflowReplayerOptions{DisableDeadlockDetection: true})
	if err != nil {
		return err
	}
	replayer.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: kind})
	return replayer.ReplayWorkflowHistoryWithOptions(silent, r.history,
		worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: r.workflowID,
			RunID: findStart(r.history).GetOriginalExecutionRunId()}})
}

// silent discards the log of the replayer, which repeats its errors.
var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
