package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/runstart"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

const (
	// ReportTimeout bounds querying all workers.
	ReportTimeout = 15 * time.Second
	// answeredWithin bounds the wait for a worker's report about all workers. Workers that do not
	// answer delay a report by up to 7 s.
	answeredWithin = 10 * time.Second
)

// NoAnswerError says that no worker answered that serves runs on a task queue. The server lists
// workers that were killed as present for a while.
type NoAnswerError struct {
	Queue string
}

// Error implements error.
func (e *NoAnswerError) Error() string {
	return fmt.Sprintf("no worker serves runs on the task queue %s: none answered within %s; "+
		"killed workers are listed for up to %s", e.Queue, answeredWithin, lanestate.PollerAge)
}

// AskWorkers runs a report workflow in which a worker queries all workers. Errors: NoAnswerError,
// those of ctx and of the server.
func AskWorkers(ctx context.Context, c client.Client, queue string,
	request workerreport.Request) (workerreport.Report, error) {
	var report workerreport.Report
	if len(request.Workers) == 0 {
		return report, nil
	}
	run, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: "catalog-report-" + runstart.RandomHex(4), TaskQueue: queue,
		WorkflowExecutionTimeout: ReportTimeout,
		StaticSummary:            "asks the workers of " + queue + " for their tools and lanes",
	}, api.CatalogWorkflow, request)
	if err != nil {
		return report, err
	}
	waiting, cancel := context.WithTimeout(ctx, answeredWithin)
	defer cancel()
	err = run.Get(waiting, &report)
	if failed, ok := errors.AsType[*temporal.WorkflowExecutionError](err); ok {
		return report, Errorf(ExitFailed, "the workers of the task queue %s could not be asked: %w",
			queue, failed)
	}
	if err == nil || ctx.Err() != nil || waiting.Err() == nil {
		return report, err
	}
	// If the server does not answer either, the error is its own.
	if _, err := c.DescribeWorkflowExecution(ctx, run.GetID(), run.GetRunID()); err != nil {
		return report, err
	}
	return report, &NoAnswerError{Queue: queue}
}

// FindWorkers returns the sorted identities of the workers that recently polled for runs or for one
// of the lanes.
func FindWorkers(ctx context.Context, c client.Client, inv Invocation, namespace, queue string,
	lanes []string) ([]string, error) {
	workers, err := lanestate.Pollers(ctx, c, namespace, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
	decide := len(workers)
	for _, lane := range lanes {
		for _, name := range []string{queues.Lane(queue, lane), queues.Slots(queue, lane)} {
			more, err := lanestate.Pollers(ctx, c, namespace, name,
				enumspb.TASK_QUEUE_TYPE_ACTIVITY)
			if err != nil {
				return nil, err
			}
			workers = append(workers, more...)
		}
	}
	if decide == 0 && len(workers) > 0 {
		return nil, Errorf(ExitFailed,
			"no worker serves runs on the task queue %s, which is needed to ask the other workers\nStart one: %s",
			queue, inv.WorkerCommand(queue, api.LaneGeneral))
	}
	slices.Sort(workers)
	return slices.Compact(workers), nil
}
