package audit_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/worker/host"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
)

// queue is the task queue of the runs here, whose histories are in testdata. They are recorded
// again, with the lines that are derived
// of them, by
//
//	SWITCHYARD_DEVSERVER=$PWD/bin/devserver go test ./audit -run 'Live|Golden' -update
const queue = "audit-test"

// devserver starts a server with a low limit of history events and returns a client of it. The test
// is skipped without a devserver.
func devserver(t *testing.T) client.Client {
	t.Helper()
	program := cmp.Or(os.Getenv("SWITCHYARD_DEVSERVER"), filepath.Join("..", "bin", "devserver"))
	if _, err := os.Stat(program); err != nil {
		t.Skipf("needs a server: make build, or set SWITCHYARD_DEVSERVER (%v)", err)
	}
	server := exec.Command(program, "--port", "0", "--headless", "--log-level", "never",
		"--parent-pid", strconv.Itoa(os.Getpid()), "--dynamic-config-value",
		"limit.historyCount.suggestContinueAsNew=100")
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Kill() // it would drain for seconds
		server.Wait()
	})
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the server did not get ready: %v", err)
	}
	var ready struct{ Address string }
	if err := json.Unmarshal(line, &ready); err != nil {
		t.Fatal(err)
	}
	c, err := client.Dial(client.Options{
		HostPort: ready.Address,
		Identity: "tester",
		Logger:   tlog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	startWorker(t, ready.Address)
	return c
}

// startWorker serves the tools of this test.
func startWorker(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, stopped := make(chan struct{}), make(chan error, 1)
	config := host.Config{
		Connection: client.Options{
			HostPort: address,
			Identity: "worker-1",
		}, TaskQueue: queue, Specs: specs(), Functions: functions(),
		StopTimeout: time.Second, Logger: slog.New(slog.DiscardHandler),
		Ready: func(host.Info) { close(ready) },
	}
	go func() { stopped <- host.Run(ctx, config) }()
	select {
	case <-ready:
	case err := <-stopped:
		t.Fatalf("the worker did not start: %v", err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("the worker: %v", err)
		}
	})
}

func specs() []toolspecs.Spec {
	text := toolspecs.Parameter{Name: "text", Type: "string", Required: true}
	spec := func(name string, change func(*toolspecs.Spec)) toolspecs.Spec {
		s := toolspecs.Spec{
			Name:        name,
			Version:     "1.0.0",
			Description: "A tool of a test.",
			Status:      api.StatusActive,
			Entry:       toolspecs.Entry{Kind: toolspecs.FunctionEntry{}},
			Execution: toolspecs.ExecutionSpec{Lane: api.LaneGeneral,
				Access: api.AccessShared, Effect: api.EffectRead,
				Timeout:   api.Duration(20 * time.Second),
				Heartbeat: toolspecs.DefaultHeartbeat, MaxResult: toolspecs.DefaultMaxResult,
				SlowAfter: toolspecs.DefaultSlowAfter},
		}
		if change != nil {
			change(&s)
		}
		return s
	}
	return append(
		append(questionSpecs(), inlineSpecs()...),
		spec("echo", func(s *toolspecs.Spec) { s.Parameters = []toolspecs.Parameter{text} }),
		spec("login", func(s *toolspecs.Spec) {
			s.Parameters = []toolspecs.Parameter{
				{Name: "user", Type: "string", Required: true},
				{Name: "password", Type: "string", Required: true, Sensitive: true},
			}
		}),
		spec("broken", nil),
		spec("flaky", func(s *toolspecs.Spec) {
			s.Execution.Retry = api.Retry{
				MaxAttempts:     3,
				InitialInterval: api.Duration(10 * time.Millisecond),
			}
		}),
		spec("hanging", func(s *toolspecs.Spec) {
			s.Execution.Lane, s.Execution.Access = api.LaneSerial, api.AccessExclusive
			s.Execution.Heartbeat = api.Duration(time.Second)
		}),
		spec("slow",
			func(s *toolspecs.Spec) { s.Execution.Timeout = api.Duration(20 * time.Millisecond) }),
		subAgent(
			"wide",
			turns([]api.ScriptCall{call("deep", `{}`), call("echo", `{"text":"w"}`)}),
			nil,
		),
		subAgent("deep", turns(many(1)), nil),
		subAgent("failing", []api.ScriptStep{{Calls: many(1)}}, nil),
		subAgent(
			"late",
			turns([]api.ScriptCall{call("hanging", `{}`)}),
			func(s *toolspecs.Spec) { s.Execution.Timeout = api.Duration(300 * time.Millisecond) },
		),
		subAgent("unfit", turns(),
			func(s *toolspecs.Spec) { s.Output = &toolspecs.Parameter{Type: "integer"} }),
		spec("unserved", func(s *toolspecs.Spec) {
			s.Execution.Lane, s.Execution.QueueTimeout = "nobody", api.Duration(
				100*time.Millisecond)
		}),
	)
}

// subAgent returns an agent as a tool with an optional task.
func subAgent(name string, steps []api.ScriptStep, change func(*toolspecs.Spec)) toolspecs.Spec {
	a := agent(api.Limits{}, steps...).Agent
	a.Name, a.Tools = name, []string{"echo", "hanging", "deep"}
	s := toolspecs.Spec{
		Name:        name,
		Version:     "1.0.0",
		Description: "An agent of a test.",
		Parameters:  []toolspecs.Parameter{{Name: "task", Type: "string"}},
		Entry:       toolspecs.Entry{Kind: toolspecs.AgentEntry{Agent: a}},
	}
	if change != nil {
		change(&s)
	}
	return s
}

func functions() []tool.Function {
	type echo struct {
		Text string `json:"text"`
	}
	type login struct {
		User     string `json:"user"`
		Password string `json:"password"`
	}
	wait := func(ctx context.Context, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	return []tool.Function{
		tool.NewFunction("echo",
			func(_ context.Context, in echo) (string, error) { return in.Text, nil }),
		tool.NewFunction("login",
			func(_ context.Context, in login) (string, error) { return "hello " + in.User, nil }),
		tool.NewFunction("broken", func(context.Context, struct{}) (string, error) {
			return "",
				errors.New("it is broken")
		}),
		tool.NewFunction("flaky", func(ctx context.Context, _ struct{}) (string, error) {
			if call, _ := callcontext.From(ctx); call.Attempt == 1 {
				return "", api.Transient(errors.New("not yet"), 0)
			}
			return "now", nil
		}),
		inquire, deaf,
		tool.NewFunction("hanging", wait),
		tool.NewFunction("slow", wait),
		tool.NewFunction("unserved", wait),
	}
}
