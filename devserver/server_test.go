package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// Proves that when the ready line is out a user finds everything: both namespaces with all search
// attributes, the UI and through it the server, metrics; and that with a worker's long poll open
// SIGTERM still ends it with 0.
func TestReadyMeansEverythingAnswers(t *testing.T) {
	t.Parallel()
	metricsPort := freePort(t)
	p := start(t, "--port", "0", "--namespace", "default,staging", "--namespace", "default",
		"--metrics-port", strconv.Itoa(metricsPort))
	ctx := withPatience(t)

	if p.ready.PID != p.cmd.Process.Pid || p.ready.Namespace != "default" || p.ready.ReadyMS <= 0 {
		t.Errorf("ready line %+v", p.ready)
	}
	want := switchyardAttributes()
	for _, namespace := range []string{"default", "staging"} {
		checkAttributes(ctx, t, p, namespace, want)
	}
	for url, part := range map[string]string{
		p.ready.UI + "/": "<html",
		p.ready.UI + "/namespaces/staging/workflows":            "<html",
		p.ready.UI + "/api/v1/namespaces":                       `"staging"`,
		fmt.Sprintf("http://127.0.0.1:%d/metrics", metricsPort): "service_requests",
	} {
		if body := get(t, url); !strings.Contains(body, part) {
			t.Errorf("%s does not hold %q: %.200s", url, part, body)
		}
	}
	if banner := p.stderr.String(); !strings.Contains(banner, p.ready.UI) ||
		!strings.Contains(banner, p.ready.Address) {
		t.Errorf("nothing for people on standard error: %q", banner)
	}

	polling, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = p.workflow.PollActivityTaskQueue(polling,
			&workflowservice.PollActivityTaskQueueRequest{
				Namespace: "default", TaskQueue: &taskqueuepb.TaskQueue{Name: "q"},
				Identity: "test",
			})
	}()
	awaitPoller(ctx, t, p, "q")
	p.endCleanly(t)
}

// Proves that a run can be started with every search attribute and is found by all of them, on the
// first run after the ready line.
func TestSearchAttributesWork(t *testing.T) {
	t.Parallel()
	p := start(t, "--port", "0", "--headless")
	ctx := withPatience(t)
	values := map[enumspb.IndexedValueType]string{
		enumspb.INDEXED_VALUE_TYPE_KEYWORD:      `"x"`,
		enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST: `["x","y"]`,
		enumspb.INDEXED_VALUE_TYPE_INT:          `7`, enumspb.INDEXED_VALUE_TYPE_DOUBLE: `0.5`,
		enumspb.INDEXED_VALUE_TYPE_BOOL: `true`,
	}
	fields := map[string]*commonpb.Payload{}
	var terms []string
	for name, kind := range switchyardAttributes() {
		fields[name] = &commonpb.Payload{
			Metadata: map[string][]byte{"encoding": []byte("json/plain"),
				"type": []byte(kind.String())}, Data: []byte(values[kind]),
		}
		value := strings.NewReplacer(`"`, `'`, `["x","y"]`, `('x')`).Replace(values[kind])
		operator := "="
		if kind == enumspb.INDEXED_VALUE_TYPE_KEYWORD_LIST {
			operator = "IN"
		}
		terms = append(terms, name+" "+operator+" "+value)
	}
	startRun(ctx, t, p, "found", &commonpb.SearchAttributes{IndexedFields: fields})
	query := strings.Join(slices.Sorted(slices.Values(terms)), " AND ")
	err := until(ctx, "the run by "+query, func() error {
		response, err := p.workflow.ListWorkflowExecutions(ctx,
			&workflowservice.ListWorkflowExecutionsRequest{Namespace: "default", Query: query})
		if err == nil && len(response.GetExecutions()) != 1 {
			err = fmt.Errorf("%d runs", len(response.GetExecutions()))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if p.ready.UI != "" {
		t.Errorf("headless, but the ready line names a UI: %s", p.ready.UI)
	}
}

// Proves that the tuning reaches the running server and that an override wins there, by two
// settings that the server tells its clients.
func TestTuningReachesTheServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		flags        []string
		wantCommands bool
	}{
		{"ours", nil, true},
		{"override", []string{"--dynamic-config-value", "frontend.workercommandsenabled=false"},
			false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := start(t, append(test.flags, "--port", "0", "--headless")...)
			response, err := p.workflow.DescribeNamespace(withPatience(t),
				&workflowservice.DescribeNamespaceRequest{Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			can := response.GetNamespaceInfo().GetCapabilities()
			if can.GetWorkerCommands() != test.wantCommands {
				t.Errorf("capabilities %v, want worker commands %t", can, test.wantCommands)
			}
			got := response.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
			if got != retention {
				t.Errorf("closed runs stay %s, want %s", got, retention)
			}
		})
	}
}

// Proves that a file keeps runs over a clean end and over kill -9, that the file alone holds them
// after a clean end, and that registering namespaces and attributes again changes nothing.
func TestRestartKeepsRuns(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new folder", "100% #1?", "runs.db")
	flags := []string{"--port", "0", "--headless", "--db-filename", file}
	ctx := withPatience(t)
	runs := map[string]string{} // run id by workflow id

	first := start(t, flags...)
	runs["before-term"] = startRun(ctx, t, first, "before-term", nil)
	first.endCleanly(t)
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the runs are elsewhere: %v", err)
	}
	if info, err := os.Stat(file + "-wal"); err == nil && info.Size() > 0 {
		t.Errorf("%d bytes of the log are not in the file after a clean end", info.Size())
	}

	second := start(t, flags...)
	runs["before-kill"] = startRun(ctx, t, second, "before-kill", nil)
	if code := second.end(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("exit code %d after SIGKILL", code)
	}

	third := start(t, flags...)
	for id, runID := range runs {
		checkRunning(ctx, t, third, id, runID)
	}
	checkAttributes(ctx, t, third, "default", switchyardAttributes())
	third.endCleanly(t)
	if log := third.stderr.String(); strings.Count(log, "\n") != 1 {
		t.Errorf("a restart is not quiet: %s", log)
	}
}

// Proves that one file has one server, also under another name, that the message names the holder,
// and that the first server is not disturbed.
func TestFileInUseIsRefused(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "runs.db"), filepath.Join(folder, "link.db")
	p := start(t, "--port", "0", "--headless", "--db-filename", file)
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, link} {
		code, stdout, stderr := runToEnd(t, "--port", "0", "--headless", "--db-filename", name)
		want := fmt.Sprintf("another devserver (process %d) uses this file", p.cmd.Process.Pid)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, want) ||
			!strings.Contains(stderr, name) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("second server on %s: exit code %d, %q, want %q", name, code, stderr, want)
		}
	}
	startRun(withPatience(t), t, p, "still-works", nil)
	p.endCleanly(t)
}

// Proves that the server and the UI can listen on all interfaces and on IPv6, and that the ready
// line then names addresses that work.
func TestListensOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ ip, want string }{{"0.0.0.0", "127.0.0.1"}, {"::1", "::1"},
		{"localhost", "127.0.0.1"}} {
		t.Run(test.ip, func(t *testing.T) {
			t.Parallel()
			if probe, err := net.Listen("tcp", net.JoinHostPort(test.ip, "0")); err != nil {
				t.Skipf("this machine has no %s: %v", test.ip, err)
			} else {
				probe.Close()
			}
			p := start(t, "--ip", test.ip, "--port", "0")
			address, err := netip.ParseAddrPort(p.ready.Address)
			if err != nil || address.Addr().String() != test.want {
				t.Errorf("address %s, want %s", p.ready.Address, test.want)
			}
			get(t, p.ready.UI)
			startRun(withPatience(t), t, p, "reached", nil)
			p.endCleanly(t)
		})
	}
}

// BenchmarkReady measures what a user waits for, on a new file and with the UI, until everything
// answers.
func BenchmarkReady(b *testing.B) {
	var total int64
	for b.Loop() {
		cmd := command(b.Context(), roleServer, "--port", "0", "--db-filename",
			filepath.Join(b.TempDir(), "runs.db"))
		stdout, err := cmd.StdoutPipe()
		if err != nil || cmd.Start() != nil {
			b.Fatal("cannot start", err)
		}
		var line readyLine
		if err := json.NewDecoder(stdout).Decode(&line); err != nil {
			b.Fatal(err)
		}
		total += line.ReadyMS
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	b.ReportMetric(float64(total)/float64(b.N), "ready_ms")
}

// startRun starts a run that no worker will ever touch and returns its run id.
func startRun(ctx context.Context, t *testing.T, p *process, id string,
	attributes *commonpb.SearchAttributes) string {
	t.Helper()
	response, err := p.workflow.StartWorkflowExecution(ctx, startRequest(id, attributes))
	if err != nil {
		t.Fatal(err)
	}
	return response.GetRunId()
}

func startRequest(id string,
	attributes *commonpb.SearchAttributes) *workflowservice.StartWorkflowExecutionRequest {
	return &workflowservice.StartWorkflowExecutionRequest{
		Namespace: "default", WorkflowId: id, RequestId: id, SearchAttributes: attributes,
		WorkflowType: &commonpb.WorkflowType{Name: "idle"},
		TaskQueue:    &taskqueuepb.TaskQueue{Name: "unserved"},
	}
}

func checkRunning(ctx context.Context, t *testing.T, p *process, id, runID string) {
	t.Helper()
	response, err := p.workflow.DescribeWorkflowExecution(ctx,
		&workflowservice.DescribeWorkflowExecutionRequest{
			Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: id},
		})
	if err != nil {
		t.Errorf("run %s is lost: %v", id, err)
		return
	}
	info := response.GetWorkflowExecutionInfo()
	if info.GetExecution().GetRunId() != runID ||
		info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("run %s came back as %v", id, info)
	}
}

func checkAttributes(ctx context.Context, t *testing.T, p *process, namespace string,
	want map[string]enumspb.IndexedValueType) {
	t.Helper()
	list, err := p.operator.ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	if got := list.GetCustomAttributes(); !maps.Equal(got, want) {
		t.Errorf("search attributes of %s: %v, want %v", namespace, got, want)
	}
}

func awaitPoller(ctx context.Context, t *testing.T, p *process, queue string) {
	t.Helper()
	err := until(ctx, "a poller of "+queue, func() error {
		response, err := p.workflow.DescribeTaskQueue(ctx,
			&workflowservice.DescribeTaskQueueRequest{
				Namespace: "default", TaskQueue: &taskqueuepb.TaskQueue{Name: queue},
				TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
			})
		if err == nil && len(response.GetPollers()) == 0 {
			err = fmt.Errorf("no poller yet")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, response.Status, err)
	}
	return string(body)
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	var r reservation
	if err := r.take(loopback, 0, ""); err != nil {
		t.Fatal(err)
	}
	r.release()
	return r.port()
}
