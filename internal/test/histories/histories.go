// Package histories handles recorded workflow histories in tests: it fetches them from a server, keeps them as files,
// shows their decisions as readable lines, and replays them.
package histories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Fetch returns the histories of a run's chain, from the given execution on: one, or more where it continued as new.
func Fetch(ctx context.Context, c client.Client, workflowID, runID string) ([]*historypb.History, error) {
	var chain []*historypb.History
	for first := true; first || runID != ""; first = false {
		h := &historypb.History{}
		next := ""
		for events := c.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
			event, err := events.Next()
			if err != nil {
				return nil, fmt.Errorf("history of %s %s: %w", workflowID, runID, err)
			}
			h.Events = append(h.Events, event)
			next = event.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		chain = append(chain, h)
		runID = next
	}
	return chain, nil
}

// Files returns the paths of the recorded histories in a folder, sorted.
func Files(dir string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	slices.Sort(names)
	return names, err
}

// Read reads a history from a file of JSON, as this package or the Temporal CLI writes it.
func Read(path string) (*historypb.History, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := &historypb.History{}
	if err := (temporalproto.CustomJSONUnmarshalOptions{}).Unmarshal(data, h); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, nil
}

// Write writes a history to a file of JSON.
func Write(path string, h *historypb.History) error {
	data, err := (temporalproto.CustomJSONMarshalOptions{Indent: " "}).Marshal(h)
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// Replay runs the decisions of a history again with today's workflows, by the name they are registered under. The error
// says where they differ from what was recorded. Interceptors, if any, stand between the workflows and the SDK.
func Replay(workflows map[string]any, h *historypb.History, interceptors ...interceptor.WorkerInterceptor) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{Interceptors: interceptors})
	if err != nil {
		return err
	}
	for name, run := range workflows {
		replayer.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
	}
	start := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(quiet{}, h, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: start.GetWorkflowId(), RunID: start.GetOriginalExecutionRunId()},
	})
}

type quiet struct{}

var _ log.Logger = quiet{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}
