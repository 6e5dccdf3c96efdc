package workflows_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/core/workerreport"
	"github.com/switchyard/switchyard/workflows"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// reportOf runs a catalog report of workers with the given answers, by their number.
func reportOf(t *testing.T, answers ...func() (workerreport.Answer, error)) (workerreport.Report,
	error) {
	t.Helper()
	return ask(t, workerreport.Request{}, api.ReportCatalogActivity, answers...)
}

// ask runs a report of workers that answer a question, by their number.
func ask[T any](t *testing.T, request workerreport.Request, question string,
	answers ...func() (T, error)) (workerreport.Report, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(discard)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(workflows.All()[api.CatalogWorkflow],
		workflow.RegisterOptions{Name: api.CatalogWorkflow})
	byQueue := map[string]func() (T, error){}
	for i, answer := range answers {
		worker := fmt.Sprintf("%d@host", i)
		request.Workers = append(request.Workers, worker)
		byQueue[queues.Worker("default-test-taskqueue", worker)] = answer
	}
	env.RegisterActivityWithOptions(func(ctx context.Context) (T, error) {
		return byQueue[activity.GetInfo(ctx).TaskQueue]()
	}, activity.RegisterOptions{Name: question})
	env.ExecuteWorkflow(api.CatalogWorkflow, request)
	var report workerreport.Report
	err := env.GetWorkflowError()
	if err == nil {
		err = env.GetWorkflowResult(&report)
	}
	return report, err
}

func hosts(digest string, tools ...workerreport.ToolVersion) func() (workerreport.Answer, error) {
	return func() (workerreport.Answer, error) {
		hosted, err := json.Marshal(api.Pack(tools))
		return workerreport.Answer{Catalog: workerreport.Catalog{Digest: digest,
			Tools: len(tools)}, ToolVersions: hosted}, err
	}
}

// It has each catalog once, and a reason for each worker without an answer.
func TestCatalogReport_HasEveryWorker(t *testing.T) {
	one := workerreport.ToolVersion{Name: "echo", Version: "1.0.0", Digest: "x"}
	report, err := reportOf(t,
		hosts("a", one),
		func() (workerreport.Answer, error) {
			return workerreport.Answer{}, errors.New("it is broken")
		},
		hosts("b"),
		func() (workerreport.Answer, error) {
			return workerreport.Answer{}, temporal.NewTimeoutError(1, nil)
		},
		hosts("a", one),
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
	if report.Workers[1].Failure != "it is broken" ||
		report.Workers[3].Failure != "it did not answer: it has been stopped, is cut off, or is of a version that cannot be asked" {
		t.Errorf("failures: %q, %q", report.Workers[1].Failure, report.Workers[3].Failure)
	}
	for digest, want := range map[string]string{"a": "[{echo 1.0.0 x}]", "b": "[]", "c": "[]"} {
		if hosted, err := report.ToolVersions(digest); err != nil || fmt.Sprint(hosted) != want {
			t.Errorf("catalog %s: %v, %v", digest, hosted, err)
		}
	}
	if len(report.Catalogs) != 2 {
		t.Errorf("%d catalogs", len(report.Catalogs))
	}
}

// Workers are never omitted.
func TestCatalogReport_OmitsToolsToFitHistory(t *testing.T) {
	var many []func() (workerreport.Answer, error)
	for i := range 8 {
		var tools []workerreport.ToolVersion
		for n := range 20_000 {
			tools = append(tools, workerreport.ToolVersion{Name: fmt.Sprintf("tool_%d", n), Version: "1.0.0",
				Digest: api.Digest([]byte(fmt.Sprint(i, n)))})
		}
		many = append(many, hosts(fmt.Sprint("catalog", i), tools...))
	}
	report, err := reportOf(t, many...)
	if err != nil {
		t.Fatal(err)
	}
	hosted, err := report.ToolVersions("catalog0")
	if len(report.Workers) != 8 || len(report.Catalogs) >= 8 || len(hosted) != 20_000 ||
		err != nil {
		t.Errorf("%d workers, %d catalogs, %d tools of the first, %v", len(report.Workers),
			len(report.Catalogs), len(hosted), err)
	}
}

// It has a reason for each worker without an answer, and no tools.
func TestLanesReport_HasTheCountsOfEveryWorker(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	report, err := ask(t, workerreport.Request{Lanes: true}, api.ReportLanesActivity,
		func() (workerreport.Lanes, error) {
			return workerreport.Lanes{Worker: "of another name", Since: began,
				Lanes: map[string]lanerules.Counts{"http": {Running: 2, Acquired: 5}}}, nil
		},
		func() (workerreport.Lanes, error) {
			return workerreport.Lanes{}, errors.New("of an earlier version")
		},
	)
	if err != nil || len(report.Workers)+len(report.Catalogs) > 0 || len(report.Lanes) != 2 {
		t.Fatalf("got %+v, %v", report, err)
	}
	first, second := report.Lanes[0], report.Lanes[1]
	if first.Worker != "0@host" || !first.Since.Equal(began) || first.Lanes["http"].Acquired != 5 ||
		first.Failure != "" {
		t.Errorf("the first worker reports %+v", first)
	}
	if second.Worker != "1@host" || second.Failure != "of an earlier version" {
		t.Errorf("the second worker reports %+v", second)
	}
}

func TestCatalogReport_CanBeCancelled(t *testing.T) {
	for question, lanes := range map[string]bool{api.ReportCatalogActivity: false,
		api.ReportLanesActivity: true} {
		var suite testsuite.WorkflowTestSuite
		suite.SetLogger(discard)
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, activity.RegisterOptions{Name: question})
		env.RegisterDelayedCallback(env.CancelWorkflow, time.Millisecond)
		env.ExecuteWorkflow(workflows.All()[api.CatalogWorkflow],
			workerreport.Request{Workers: []string{"a"}, Lanes: lanes})
		if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
			t.Errorf("%s: got %v", question, err)
		}
	}
}
