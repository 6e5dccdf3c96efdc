// Package activitytest has test support for activities: fake servers and tools.
package activitytest

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// Run is the server as activities use it: one run that answers queries as workflows do, and counts
// them.
type Run struct {
	client.Client
	Setup    api.Setup
	Messages []api.Message
	// Page, if set, answers in place of api.NewPage.
	Page    func(from int) api.Page
	Failure error
	Queries atomic.Int64
}

// QueryWorkflow implements client.Client.
func (q *Run) QueryWorkflow(_ context.Context, _, _, query string,
	args ...any) (converter.EncodedValue, error) {
	q.Queries.Add(1)
	if q.Failure != nil {
		return nil, q.Failure
	}
	var answer any = q.Setup
	if query == api.ConversationQuery {
		from := args[0].(int)
		if q.Page == nil {
			answer = api.NewPage(q.Messages, from)
		} else {
			answer = q.Page(from)
		}
	}
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(answer)
	if err != nil {
		return nil, err
	}
	return client.NewValue(payloads), nil
}

// RecordActivityHeartbeat implements client.Client. It passes the heartbeat to the environment of
// the activity.
func (*Run) RecordActivityHeartbeat(ctx context.Context, _ []byte, details ...any) error {
	activity.RecordHeartbeat(ctx, details...)
	return nil
}

// DescribeWorkflowExecution implements client.Client. There is no server, so it fails.
func (*Run) DescribeWorkflowExecution(context.Context, string,
	string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, errors.New("no server")
}

// Spec returns a function tool that takes a required text, after change.
func Spec(name string, change func(*toolspecs.Spec)) toolspecs.Spec {
	s := toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Does " + name + ".",
		Parameters: []toolspecs.Parameter{{Name: "text", Type: "string", Required: true}},
		Entry:      toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}
	s.Execution.Effect = api.EffectRead
	if change != nil {
		change(&s)
	}
	return s
}

// BatchSpec returns a function tool whose calls are batched by their paths, after change.
func BatchSpec(name string, change func(*toolspecs.Spec)) toolspecs.Spec {
	return Spec(name, func(s *toolspecs.Spec) {
		s.Parameters = []toolspecs.Parameter{{Name: "paths", Type: "array", Required: true},
			{Name: "unit", Type: "string"}}
		s.Batch = &api.Batch{Argument: "paths", Max: 3}
		if change != nil {
			change(s)
		}
	})
}

// Catalog returns a catalog of tools.
func Catalog(t testing.TB, specs ...toolspecs.Spec) *toolspecs.Catalog {
	t.Helper()
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		t.Fatal(err)
	}
	return catalog
}

// Within executes f in the context of an activity whose type is name.
func Within(t testing.TB, name string, x any, f func(context.Context, converter.EncodedValues) (any,
	error)) (converter.EncodedValue, error) {
	t.Helper()
	suite := testsuite.WorkflowTestSuite{}
	env := suite.NewTestActivityEnvironment()
	env.RegisterDynamicActivity(f, activity.DynamicRegisterOptions{})
	return env.ExecuteActivity(name, x)
}

// Tools returns the pinned tools of a catalog.
func Tools(c *toolspecs.Catalog) []api.Tool {
	var tools []api.Tool
	for _, compiled := range c.All() {
		tools = append(tools, compiled.Tool())
	}
	return tools
}

// Executor is a function as an executor.
type Executor func(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error)

// Execute implements executor.Executor.
func (f Executor) Execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	return f(ctx, spec, args)
}

// Context returns the context of an activity.
func Context(t testing.TB) context.Context {
	t.Helper()
	var found context.Context
	if _, err := Within(t, "probe", nil, func(ctx context.Context, _ converter.EncodedValues) (any,
		error) {
		found = context.WithoutCancel(ctx)
		return nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	return found
}

// CallError returns the error of an activity's failure, and the failure.
func CallError(t testing.TB, err error) (*api.Error, *temporal.ApplicationError) {
	t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok {
		t.Fatalf("got %v; want a failure of the closed set", err)
	}
	var e api.Error
	if err := app.Details(&e); err != nil || string(e.Type) != app.Type() ||
		e.Retryable == app.NonRetryable() {
		t.Fatalf("the failure %v has the details %+v, %v", app, e, err)
	}
	return &e, app
}
