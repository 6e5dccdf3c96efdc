// Package versioning tests Worker Versioning on a real server: rollout, ramp and rollback of builds
// while runs are in flight.
package versioning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/worker/host"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// Environment variables of the worker process that the tests start.
const (
	// asWorker makes the test program a worker of an application.
	asWorker = "VERSIONING_WORKER"
	// folder is where calls write the ledger and look for their gates.
	folder = "VERSIONING_FOLDER"
	// changed makes the workflows of the worker incompatible with those of other workers.
	changed = "VERSIONING_CHANGED"
	// unversioned is what the ledger has as the build of a worker without versioning.
	unversioned = "-"
)

// TestMain runs the tests, or the worker process that they start.
func TestMain(m *testing.M) {
	if os.Getenv(asWorker) == "" {
		os.Exit(m.Run())
	}
	var connection client.Options
	if os.Getenv(changed) != "" {
		connection.Interceptors = []interceptor.ClientInterceptor{&anotherBuild{}}
	}
	os.Exit(host.Main(host.Config{Connection: connection, Functions: []tool.Function{
		tool.NewFunction("note", note),
	}, Stateful: []tool.Stateful{
		tool.NewStateful("counter", newCounter, tool.NewMethod("count", (*counter).count)),
	}}))
}

// anotherBuild changes workflows in a way that does not replay histories of the others: agents and
// plans begin with a timer.
type anotherBuild struct{ interceptor.InterceptorBase }

func (b *anotherBuild) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &beginsWithTimer{interceptor.WorkflowInboundInterceptorBase{Next: next}}
}

type beginsWithTimer struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *beginsWithTimer) ExecuteWorkflow(ctx workflow.Context,
	in *interceptor.ExecuteWorkflowInput) (any, error) {
	switch workflow.GetInfo(ctx).WorkflowType.Name {
	case api.AgentWorkflow, api.PlanWorkflow:
		if err := workflow.Sleep(ctx, time.Millisecond); err != nil {
			return nil, err
		}
	}
	return i.Next.ExecuteWorkflow(ctx, in)
}

// order has the arguments of the tools: the name of the gate at which the call waits; empty for
// none.
type order struct {
	Gate string `json:"gate"`
}

// counter is a stateful tool without snapshots: it counts the calls of its run.
type counter struct{ calls int }

func newCounter(context.Context, tool.StartInfo) (*counter, error) { return &counter{}, nil }

func (c *counter) count(ctx context.Context, o order) (int, error) {
	c.calls++
	_, err := note(ctx, o)
	return c.calls, err
}

// gatePoll is the interval at which calls look for their gate.
const gatePoll = 20 * time.Millisecond

// note writes its execution to the ledger, and ends when its gate opens.
func note(ctx context.Context, o order) (string, error) {
	call, ok := callcontext.From(ctx)
	if !ok {
		return "", errors.New("the tool has no call context")
	}
	dir, build := os.Getenv(folder), cmp.Or(os.Getenv("TEMPORAL_WORKER_BUILD_ID"), unversioned)
	ledger, err := os.OpenFile(filepath.Join(dir, ledgerFile), os.O_APPEND|os.O_WRONLY|os.O_CREATE,
		0o600)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(ledger, call.WorkflowID, call.CallID, call.Tool, build)
	if err := errors.Join(err, ledger.Close()); err != nil || o.Gate == "" {
		return build, err
	}
	tick := time.NewTicker(gatePoll)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(dir, o.Gate)); err == nil {
			return build, nil
		}
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-tick.C:
		}
	}
}
