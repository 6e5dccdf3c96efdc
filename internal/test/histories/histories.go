// Package histories handles recorded workflow histories in tests: it fetches them from a server,
// stores them as files, prints their decisions as readable lines, and replays them.
package histories

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// Fetch returns the histories of a run, from the given execution on: one per execution, more than
// one if the run continued as new.
func Fetch(ctx context.Context, c client.Client, workflowID, runID string) ([]*historypb.History,
	error) {
	var chain []*historypb.History
	for first := true; first || runID != ""; first = false {
		h := &historypb.History{}
		next := ""
		for events := c.GetWorkflowHistory(ctx, workflowID, runID, false,
			enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
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

// Extension is the extension of a recorded history: JSON, compressed with gzip. The files beside
// them with the extension .txt hold their decisions, as Lines returns them.
const Extension = ".json.gz"

// Names returns the names of the recorded histories in a folder, sorted and without Extension.
func Names(dir string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*"+Extension))
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimSuffix(filepath.Base(path), Extension)
	}
	slices.Sort(names)
	return names, err
}

// Open returns the JSON of a recorded history. path has no Extension.
func Open(path string) (io.ReadCloser, error) {
	data, err := os.ReadFile(path + Extension)
	if err != nil {
		return nil, err
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path+Extension, err)
	}
	return r, nil
}

// Read returns a recorded history. path has no Extension.
func Read(path string) (*historypb.History, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", path+Extension, err)
	}
	h := &historypb.History{}
	if err := (temporalproto.CustomJSONUnmarshalOptions{}).Unmarshal(data, h); err != nil {
		return nil, fmt.Errorf("%s: %w", path+Extension, err)
	}
	return h, nil
}

// Write records a history. path has no Extension.
func Write(path string, h *historypb.History) error {
	data, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	return os.WriteFile(path+Extension, packed.Bytes(), 0o644)
}

// Replay replays a history with the given workflows, registered under their names. The error
// describes where their commands differ from the recorded ones.
func Replay(workflows map[string]any, h *historypb.History,
	interceptors ...interceptor.WorkerInterceptor) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors: interceptors, DisableDeadlockDetection: true})
	if err != nil {
		return err
	}
	for name, run := range workflows {
		replayer.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name})
	}
	start := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return replayer.ReplayWorkflowHistoryWithOptions(silent, h,
		worker.ReplayWorkflowHistoryOptions{
			OriginalExecution: workflow.Execution{ID: start.GetWorkflowId(),
				RunID: start.GetOriginalExecutionRunId()},
		})
}

// silent discards the log of the replayer, which repeats its errors.
var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
