package replay

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/starter/cli"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// fetch reads the history of one execution. The error of an unreadable one is part of the result,
// every other ends the command.
func fetch(ctx context.Context, c client.Client, workflowID, runID string) (recorded, error) {
	r := recorded{workflowID: workflowID, runID: runID, history: &historypb.History{}}
	for events := c.GetWorkflowHistory(ctx, workflowID, runID, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if unreadable(err) {
			return recorded{workflowID: workflowID, runID: runID, err: err}, nil
		}
		if err != nil {
			return r, err
		}
		r.history.Events = append(r.history.Events, event)
	}
	return r, nil
}

// fromRun yields all executions of a run, the first one first.
func fromRun(ctx context.Context, a *cli.App, c client.Client,
	run *cli.RunRef) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		summary, err := audit.Describe(ctx, c, run.WorkflowID, run.RunID)
		if err != nil && !errors.Is(err, audit.ErrIncomplete) {
			yield(recorded{}, a.LookupError(run.WorkflowID, run.RunID, err))
			return
		}
		for _, part := range summary.Parts {
			if r, err := fetch(ctx, c, run.WorkflowID, part.RunID); !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// page is the number of executions that are listed at once.
const page = 200

// fromQuery yields the newest executions of our workflows that match the query. It notes on
// standard error if there are more than the limit.
func (s *source) fromQuery(ctx context.Context, a *cli.App,
	c client.Client) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		request := &workflowservice.ListWorkflowExecutionsRequest{PageSize: page,
			Namespace: a.Connection.ResolvedNamespace, Query: s.condition()}
		for left := s.limit; ; {
			list, err := c.ListWorkflow(ctx, request)
			if err != nil {
				yield(recorded{}, s.queryError(err))
				return
			}
			for _, e := range list.GetExecutions() {
				if left--; left < 0 {
					fmt.Fprintf(a.Err, "only the newest %d; raise --limit for more\n", s.limit)
					return
				}
				r, err := fetch(ctx, c, e.GetExecution().GetWorkflowId(),
					e.GetExecution().GetRunId())
				if !yield(r, err) || err != nil {
					return
				}
			}
			if request.NextPageToken = list.GetNextPageToken(); len(request.NextPageToken) == 0 {
				return
			}
		}
	}
}

// condition restricts the query to the workflows of this build.
func (s *source) condition() string {
	var types []string
	for _, name := range slices.Sorted(maps.Keys(feature.Workflows())) {
		types = append(types, "'"+name+"'")
	}
	return "(" + s.query + ") AND WorkflowType IN (" + strings.Join(types, ", ") + ")"
}

func (s *source) queryError(err error) error {
	if _, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		return cli.Errorf(cli.ExitUsage,
			"--query is not valid: %w\nAn example: --query 'ExecutionStatus=\"Running\"'", err)
	}
	return err
}

// fromFiles yields the histories of files.
func (s *source) fromFiles(ctx context.Context, a *cli.App) iter.Seq2[recorded, error] {
	return func(yield func(recorded, error) bool) {
		storage, err := a.Connection.Storage()
		if err != nil {
			yield(recorded{}, err)
			return
		}
		for _, name := range s.files {
			h, err := readHistory(a, name)
			if err != nil {
				yield(recorded{}, err)
				return
			}
			r := fileHistory(h)
			r.err = storage.Decode(ctx, h)
			if !yield(r, nil) {
				return
			}
		}
	}
}

// readHistory reads a file as the Temporal CLI and the Web UI export it.
func readHistory(a *cli.App, name string) (*historypb.History, error) {
	source := a.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, cli.Errorf(cli.ExitUsage, "--file %s: %w", name, cli.PathError(name, err))
		}
		defer file.Close()
		source = file
	}
	h, err := client.HistoryFromJSON(source, client.HistoryJSONOptions{})
	if err == nil && findStart(h) == nil {
		err = errors.New("its first event is not the start of a workflow")
	}
	if err != nil {
		return nil, cli.Errorf(cli.ExitUsage, "--file %s is not the history of a workflow: %w\n"+
			"Export one: temporal workflow show --workflow-id RUN --output json > %s", name, err,
			"history.json")
	}
	return h, nil
}
