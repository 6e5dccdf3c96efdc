package cli

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/internal/value/display"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Timeouts for a worker to take a question and to answer it. A worker that polls takes it at once.
const (
	takeWithin   = 2 * time.Second
	answerWithin = 5 * time.Second
)

// ReportTimeout bounds querying all workers.
const ReportTimeout = 15 * time.Second

// maxFailure bounds why a worker did not answer, in characters.
const maxFailure = 1000

// AskWorkers asks workers for their tools. For a worker that does not answer, the report has the
// reason. Errors are those of ctx and of the server.
func AskWorkers(ctx context.Context, c client.Client, queue string,
	workers []string) (workerreport.Report, error) {
	report := workerreport.Report{Catalogs: map[string][]workerreport.ToolVersion{}}
	answers, err := askEach[workerreport.Answer](ctx, c, queue, workers, api.ReportCatalogActivity)
	for i, a := range answers {
		w := a.value.Catalog
		w.Worker, w.Failure = workers[i], a.failure
		if a.value.ToolVersions != nil {
			report.Catalogs[w.Digest] = a.value.ToolVersions.Value
		}
		report.Workers = append(report.Workers, w)
	}
	return report, err
}

// AskLanes asks workers what happened on their lanes, as AskWorkers.
func AskLanes(ctx context.Context, c client.Client, queue string,
	workers []string) ([]workerreport.Lanes, error) {
	answers, err := askEach[workerreport.Lanes](ctx, c, queue, workers, api.ReportLanesActivity)
	reports := make([]workerreport.Lanes, len(answers))
	for i, a := range answers {
		reports[i] = a.value
		reports[i].Worker, reports[i].Failure = workers[i], a.failure
	}
	return reports, err
}

// answer is what a worker answered, or why it did not.
type answer[T any] struct {
	value   T
	failure string
	err     error
}

// askEach asks all workers at once, each by an activity on its own queue.
func askEach[T any](ctx context.Context, c client.Client, queue string, workers []string,
	question string) ([]answer[T], error) {
	answers := make([]answer[T], len(workers))
	var all sync.WaitGroup
	for i, worker := range workers {
		all.Go(func() {
			handle, err := c.ExecuteActivity(ctx, client.StartActivityOptions{
				ID:                     question + "/" + runstart.RandomHex(8),
				TaskQueue:              queues.Worker(queue, worker),
				ScheduleToStartTimeout: takeWithin,
				StartToCloseTimeout:    answerWithin,
				RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
				Summary:                display.Shorten(worker, 100),
			}, question)
			if err != nil {
				answers[i].err = err
				return
			}
			if err := handle.Get(ctx, &answers[i].value); err != nil {
				answers[i].failure, answers[i].err = explainSilence(err), ctx.Err()
			}
		})
	}
	all.Wait()
	for _, a := range answers {
		if a.err != nil {
			return nil, a.err
		}
	}
	return answers, nil
}

// explainSilence says why a worker did not answer.
func explainSilence(err error) string {
	if temporal.IsTimeoutError(err) {
		return "it did not answer: it has been stopped, is cut off, or is of a version that cannot be asked"
	}
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return display.Shorten(failed.Message(), maxFailure)
	}
	return display.Shorten(err.Error(), maxFailure)
}

// FindWorkers returns the sorted identities of the workers that recently polled for runs or for one
// of the lanes.
func FindWorkers(ctx context.Context, c client.Client, namespace, queue string,
	lanes []string) ([]string, error) {
	workers, err := lanestate.Pollers(ctx, c, namespace, queue, enumspb.TASK_QUEUE_TYPE_WORKFLOW)
	if err != nil {
		return nil, err
	}
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
	slices.Sort(workers)
	return slices.Compact(workers), nil
}
