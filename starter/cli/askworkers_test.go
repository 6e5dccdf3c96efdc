package cli

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/switchyard/switchyard/internal/core/workerreport"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// deserted is a server that starts a report which no worker executes. away, if set, is what it
// answers to later requests.
type deserted struct {
	client.Client
	client.WorkflowRun
	away error
}

func (d *deserted) ExecuteWorkflow(context.Context, client.StartWorkflowOptions, any,
	...any) (client.WorkflowRun, error) {
	return d, nil
}

func (d *deserted) GetID() string    { return "report" }
func (d *deserted) GetRunID() string { return "1" }

func (d *deserted) Get(ctx context.Context, _ any) error {
	<-ctx.Done()
	return ctx.Err()
}

func (d *deserted) DescribeWorkflowExecution(context.Context, string,
	string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, d.away
}

// The server still lists workers that were killed, so the report is started.
func TestAskWorkers_SaysThatNoWorkerAnswers(t *testing.T) {
	away := serviceerror.NewUnavailable("away")
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx  context.Context
		away error
		want string
	}{
		"the workers are gone": {t.Context(), nil, "no worker serves runs on the task queue q: " +
			"none answered within 10s; killed workers are listed for up to 1m30s"},
		"the server is gone": {t.Context(), away, "away"},
		"interrupted":        {stopped, nil, "context canceled"},
	} {
		synctest.Test(t, func(t *testing.T) {
			_, err := AskWorkers(c.ctx, &deserted{away: c.away}, "q",
				workerreport.Request{Workers: []string{"killed"}})
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: %v", name, err)
			}
			_, silent := errors.AsType[*NoAnswerError](err)
			if silent != (name == "the workers are gone") {
				t.Errorf("%s: the error is %T", name, err)
			}
		})
	}
}
