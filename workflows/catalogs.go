package workflows

import (
	"encoding/json"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/internal/value/display"
	"github.com/switchyard/switchyard/workflows/failure"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// backlogHeartbeat is the time after which another worker reads the backlog if the one that did is
// lost.
const backlogHeartbeat = 45 * time.Second

// backlogWorkflow elects the worker that reads the backlog for its metrics: the one that executes
// the activity. When that stops or is lost, the retry goes to another worker.
func backlogWorkflow(ctx workflow.Context) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           queues.Backlog(workflow.GetInfo(ctx).TaskQueueName),
		StartToCloseTimeout: 24 * time.Hour, HeartbeatTimeout: backlogHeartbeat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
		Summary:     "counts open runs for metrics",
	})
	return workflow.ExecuteActivity(ctx, api.ReadBacklogActivity).Get(ctx, nil)
}

// Timeouts for a worker to take a question and to answer it. A worker that polls takes it at once.
const (
	takeWithin   = 2 * time.Second
	answerWithin = 5 * time.Second
)

// maxCatalogs bounds the catalogs of a report in bytes; the rest of the result's size is for the
// workers.
const maxCatalogs = api.MaxPayload / 2

// catalogReport is the workflow that asks workers, concurrently and each on its own queue, which
// tools they hold or what happened on their lanes. For a worker that does not answer, the report
// has the reason.
func catalogReport(ctx workflow.Context, in workerreport.Request) (workerreport.Report, error) {
	if in.Lanes {
		return lanesReport(ctx, in.Workers)
	}
	answers := ask(ctx, in.Workers, api.ReportCatalogActivity)
	report := workerreport.Report{Catalogs: map[string]json.RawMessage{}}
	size := 0
	for i, answer := range answers {
		var a workerreport.Answer
		err := answer.Get(ctx, &a)
		if ctx.Err() != nil {
			return workerreport.Report{}, ctx.Err()
		}
		w := a.Catalog
		if err != nil {
			w = workerreport.Catalog{Failure: whySilent(err)}
		} else if _, known := report.Catalogs[w.Digest]; !known &&
			size+len(a.ToolVersions) <= maxCatalogs {
			report.Catalogs[w.Digest] = a.ToolVersions
			size += len(a.ToolVersions)
		}
		w.Worker = in.Workers[i]
		report.Workers = append(report.Workers, w)
	}
	return report, nil
}

// ask sends one question to every worker.
func ask(ctx workflow.Context, workers []string, question string) []workflow.Future {
	base := workflow.GetInfo(ctx).TaskQueueName
	answers := make([]workflow.Future, len(workers))
	for i, worker := range workers {
		answers[i] = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx,
			workflow.ActivityOptions{
				TaskQueue:              queues.Worker(base, worker),
				ScheduleToStartTimeout: takeWithin,
				StartToCloseTimeout:    answerWithin,
				RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
				Summary:                display.Shorten(worker, 100),
			}), question)
	}
	return answers
}

// lanesReport asks the workers what happened on their lanes.
func lanesReport(ctx workflow.Context, workers []string) (workerreport.Report, error) {
	var report workerreport.Report
	for i, answer := range ask(ctx, workers, api.ReportLanesActivity) {
		var w workerreport.Lanes
		err := answer.Get(ctx, &w)
		if ctx.Err() != nil {
			return workerreport.Report{}, ctx.Err()
		}
		if err != nil {
			w = workerreport.Lanes{Failure: whySilent(err)}
		}
		w.Worker = workers[i]
		report.Lanes = append(report.Lanes, w)
	}
	return report, nil
}

func whySilent(err error) string {
	if temporal.IsTimeoutError(err) {
		return "it did not answer: it has been stopped, is cut off, or is of a version that cannot be asked"
	}
	return cutText(failure.Of(err).Message)
}
