package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// reportOf runs a catalog report of workers that answer as given, by the number in which they are asked.
func reportOf(t *testing.T, answers ...func() (switchyard.CatalogAnswer, error)) (switchyard.CatalogReport, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(workflows.CatalogReport, workflow.RegisterOptions{Name: switchyard.CatalogWorkflow})
	request := switchyard.CatalogRequest{}
	byQueue := map[string]func() (switchyard.CatalogAnswer, error){}
	for i, answer := range answers {
		worker := fmt.Sprintf("%d@host", i)
		request.Workers = append(request.Workers, worker)
		byQueue[switchyard.WorkerQueue("default-test-taskqueue", worker)] = answer
	}
	env.RegisterActivityWithOptions(func(ctx context.Context) (switchyard.CatalogAnswer, error) {
		return byQueue[activity.GetInfo(ctx).TaskQueue]()
	}, activity.RegisterOptions{Name: switchyard.CatalogActivity})
	env.ExecuteWorkflow(switchyard.CatalogWorkflow, request)
	var report switchyard.CatalogReport
	err := env.GetWorkflowError()
	if err == nil {
		err = env.GetWorkflowResult(&report)
	}
	return report, err
}

func holds(digest string, tools ...switchyard.ToolVersion) func() (switchyard.CatalogAnswer, error) {
	return func() (switchyard.CatalogAnswer, error) {
		held, err := json.Marshal(switchyard.Pack(tools))
		return switchyard.CatalogAnswer{WorkerCatalog: switchyard.WorkerCatalog{Digest: digest, Tools: len(tools)}, Held: held}, err
	}
}

// Every worker is in the report: with its catalog, which is there once however many hold it, or with why it said nothing.
func TestCatalogReport(t *testing.T) {
	one := switchyard.ToolVersion{Name: "echo", Version: "1.0.0", Digest: "x"}
	report, err := reportOf(t,
		holds("a", one),
		func() (switchyard.CatalogAnswer, error) {
			return switchyard.CatalogAnswer{}, errors.New("it is broken")
		},
		holds("b"),
		func() (switchyard.CatalogAnswer, error) {
			return switchyard.CatalogAnswer{}, temporal.NewTimeoutError(1, nil)
		},
		holds("a", one),
	)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, w := range report.Workers {
		got = append(got, fmt.Sprintf("%s %s %d %t", w.Worker, w.Digest, w.Tools, w.Failure != ""))
	}
	want := "0@host a 1 false, 1@host  0 true, 2@host b 0 false, 3@host  0 true, 4@host a 1 false"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if !strings.Contains(report.Workers[1].Failure, "it is broken") || !strings.Contains(report.Workers[3].Failure, "did not answer") {
		t.Errorf("failures: %q, %q", report.Workers[1].Failure, report.Workers[3].Failure)
	}
	for digest, want := range map[string]string{"a": "[{echo 1.0.0 x}]", "b": "[]", "c": "[]"} {
		if held, err := report.Held(digest); err != nil || fmt.Sprint(held) != want {
			t.Errorf("catalog %s: %v, %v", digest, held, err)
		}
	}
	if len(report.Catalogs) != 2 {
		t.Errorf("%d catalogs", len(report.Catalogs))
	}
}

// A report that history would not take leaves out tools, and no worker.
func TestCatalogReportIsBounded(t *testing.T) {
	var many []func() (switchyard.CatalogAnswer, error)
	for i := range 8 {
		var tools []switchyard.ToolVersion
		for n := range 20_000 {
			tools = append(tools, switchyard.ToolVersion{Name: fmt.Sprintf("tool_%d", n), Version: "1.0.0", Digest: switchyard.Digest([]byte(fmt.Sprint(i, n)))})
		}
		many = append(many, holds(fmt.Sprint("catalog", i), tools...))
	}
	report, err := reportOf(t, many...)
	if err != nil {
		t.Fatal(err)
	}
	held, err := report.Held("catalog0")
	if len(report.Workers) != 8 || len(report.Catalogs) >= 8 || len(held) != 20_000 || err != nil {
		t.Errorf("%d workers, %d catalogs, %d tools of the first, %v", len(report.Workers), len(report.Catalogs), len(held), err)
	}
}

// A report that is cancelled ends.
func TestCatalogReportCancelled(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(quiet{})
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) error {
		<-ctx.Done()
		return ctx.Err()
	}, activity.RegisterOptions{Name: switchyard.CatalogActivity})
	env.RegisterDelayedCallback(env.CancelWorkflow, time.Millisecond)
	env.ExecuteWorkflow(workflows.CatalogReport, switchyard.CatalogRequest{Workers: []string{"a"}})
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("got %v", err)
	}
}
