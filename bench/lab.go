package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
)

// lab is a fresh server with one worker of Switchyard and one of the hand-written workflows.
type lab struct {
	client client.Client
	// address is the server's address, bin the folder of its program.
	address, bin string
	server       *process
	close        func()
	// serve starts another worker for the runs of a task queue.
	serve func(ctx context.Context, queue string) (stop func(), err error)
	// pairs is the number of pairs of runs behind a median ratio, keys the number of lane
	// keys, runs the number of waiting short runs.
	pairs, keys, runs int
}

// handQueue is the task queue of the hand-written workflows.
const handQueue = "hand-written"

// handAlone is that of a process which serves nothing else.
const handAlone = "hand-written-alone"

// toolSpecs are the tools of the runs: payload returns the requested number of bytes, pause takes
// the requested time.
const toolSpecs = `
name: payload
version: 1.0.0
description: Answers with a text of that many bytes.
parameters:
  - {name: size, type: integer, required: true}
output: {type: string}
entry: {type: function}
execution: {effect: read}
---
name: payload_inline
version: 1.0.0
description: Answers with a text of that many bytes, within the run's workflow task.
parameters:
  - {name: size, type: integer, required: true}
output: {type: string}
entry: {type: function, handler: payload}
execution: {effect: read, lane: inline}
---
name: pause
version: 1.0.0
description: Takes that many milliseconds.
parameters:
  - {name: ms, type: integer, required: true}
output: {type: integer}
entry: {type: function}
execution: {effect: read}
`

type payloadInput struct {
	Size int `json:"size"`
	// Key is for keyed lanes. The text does not depend on it.
	Key string `json:"key,omitempty"`
}

// payload returns real text, so that it compresses like the results of real tools.
func payload(_ context.Context, in payloadInput) (string, error) {
	return text(in.Size, in.Size), nil
}

type pauseInput struct {
	MS int `json:"ms"`
}

func pause(ctx context.Context, in pauseInput) (int, error) {
	select {
	case <-time.After(time.Duration(in.MS) * time.Millisecond):
		return in.MS, nil
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// functions are the bench's tools.
func functions() []tool.Function {
	return []tool.Function{tool.NewFunction("payload", payload),
		tool.NewFunction("pause", pause)}
}

var quiet = slog.New(slog.DiscardHandler)

func newLab(ctx context.Context, bin string) (*lab, error) {
	specs, err := toolspecs.Decode("tools.yaml", []byte(toolSpecs), toolspecs.Options{})
	if err != nil {
		return nil, err
	}
	server, address, err := startServer(bin)
	if err != nil {
		return nil, err
	}
	l := &lab{address: address, bin: bin, server: server, pairs: 15, keys: 1_000, runs: 200}
	stopServer := func() { server.end(syscall.SIGTERM) }
	options := client.Options{HostPort: address, Logger: tlog.NewStructuredLogger(quiet)}
	if l.client, err = client.Dial(options); err != nil {
		stopServer()
		return nil, err
	}
	hand, err := startHandWritten(l.client, handQueue, specs)
	if err != nil {
		stopServer()
		return nil, err
	}
	l.serve = func(ctx context.Context, queue string) (func(), error) {
		return startHost(ctx, host.Config{Connection: options, Specs: specs, TaskQueue: queue})
	}
	stopHost, err := l.serve(ctx, api.DefaultTaskQueue)
	if err != nil {
		hand.Stop()
		stopServer()
		return nil, err
	}
	l.close = func() {
		stopHost()
		hand.Stop()
		l.client.Close()
		stopServer()
	}
	return l, nil
}

func startServer(bin string, flags ...string) (p *process, address string, err error) {
	var ready struct {
		Address string `json:"address"`
	}
	p, err = launch(&ready, filepath.Join(bin, "devserver"), append([]string{"--port", "0",
		"--headless", "--parent-pid", fmt.Sprint(os.Getpid())}, flags...)...)
	return p, ready.Address, err
}

// startHandWritten starts a worker with the hand-written workflows and the SDK's defaults.
func startHandWritten(c client.Client, queue string,
	specs []toolspecs.Spec) (worker.Worker, error) {
	catalog, err := toolspecs.NewCatalog(specs)
	if err != nil {
		return nil, err
	}
	w := worker.New(c, queue, worker.Options{MaxConcurrentActivityExecutionSize: 100})
	if err := registerHandWritten(w, c, catalog); err != nil {
		return nil, err
	}
	return w, w.Start()
}

// startHost starts a worker as users run it, in this process.
func startHost(ctx context.Context, c host.Config) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	c.Logger, c.StopTimeout = quiet, time.Second
	c.Functions = functions()
	c.Ready = func(host.Info) { close(ready) }
	go func() { ended <- host.Run(ctx, c) }()
	select {
	case err := <-ended:
		cancel()
		return nil, fmt.Errorf("start the worker: %w", err)
	case <-ready:
	}
	return func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Fprintln(os.Stderr, "bench: the worker exited with", err)
		}
	}, nil
}

// agent returns an agent whose script calls payload in every turn and then answers.
func agent(turns, size int) *api.Agent {
	script := api.Script{}
	for range turns {
		script.Steps = append(script.Steps, api.ScriptStep{Calls: []api.ScriptCall{
			{Tool: "payload", Arguments: json.RawMessage(fmt.Sprintf(`{"size":%d}`, size))}}})
	}
	script.Steps = append(script.Steps, api.ScriptStep{Answer: "done"})
	packed := api.Pack(script)
	return &api.Agent{
		Name: "bench", Tools: []string{"payload"}, Limits: api.Limits{Turns: turns + 1},
		Model: api.Model{Provider: api.ProviderScripted, Script: &packed},
	}
}

// execution identifies the first execution of a run.
type execution struct{ workflowID, runID string }

// runToEnd runs a workflow to its end and returns its first execution and its duration.
func (l *lab) runToEnd(ctx context.Context, queue, kind string, inputs ...any) (execution,
	time.Duration, error) {
	began := time.Now()
	run, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: queue}, kind,
		inputs...)
	if err != nil {
		return execution{}, 0, err
	}
	first := execution{run.GetID(), run.GetRunID()}
	err = run.Get(ctx, nil)
	if cause := context.Cause(ctx); cause != nil {
		err = cause // it is more specific than the end of the wait
	}
	return first, time.Since(began), err
}

// size is the size of a history, as reported by the server.
type size struct{ events, bytes int64 }

// historySize sums the executions of a run, from its first one on.
func (l *lab) historySize(ctx context.Context, e execution) (size, error) {
	var total size
	for e.runID != "" {
		d, err := l.client.DescribeWorkflowExecution(ctx, e.workflowID, e.runID)
		if err != nil {
			return size{}, err
		}
		total.events += d.WorkflowExecutionInfo.HistoryLength
		total.bytes += d.WorkflowExecutionInfo.HistorySizeBytes
		if e.runID, err = l.next(ctx, e); err != nil {
			return size{}, err
		}
	}
	return total, nil
}

// next returns the execution that continues a run, or "".
func (l *lab) next(ctx context.Context, e execution) (string, error) {
	events, err := l.events(ctx, e)
	return continuation(events), err
}

// events returns the history of an execution.
func (l *lab) events(ctx context.Context, e execution) (events []*historypb.HistoryEvent,
	err error) {
	history := l.client.GetWorkflowHistory(ctx, e.workflowID, e.runID, false,
		enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// continuation returns the execution that continues that of a history, or "".
func continuation(events []*historypb.HistoryEvent) string {
	if len(events) == 0 {
		return ""
	}
	return events[len(events)-1].GetWorkflowExecutionContinuedAsNewEventAttributes().
		GetNewExecutionRunId()
}

// text returns size bytes of the Go standard library's source, from an offset derived from seed.
func text(size, seed int) string {
	corpus := corpusOnce()
	from := (seed * 7919) % max(1, len(corpus)-size)
	return strings.ToValidUTF8(corpus[from:min(len(corpus), from+size)], "?")
}

// corpusPackages are packages of the Go distribution. Their source, about 4 MB, is the bench's
// text.
var corpusPackages = []string{"net/http", "go/types", "encoding/json", "runtime", "strings"}

// corpusOnce reads the text once. Every machine that builds the bench has it.
var corpusOnce = sync.OnceValue(func() string {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(fmt.Sprintf("bench: `go env GOROOT`: %v", err))
	}
	var b strings.Builder
	for _, pkg := range corpusPackages {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "src", pkg,
			"*.go"))
		if err != nil {
			panic(err) // the pattern is a constant
		}
		slices.Sort(files)
		for _, file := range files {
			if data, err := os.ReadFile(file); err == nil {
				b.Write(data)
			}
		}
	}
	return b.String()
})
