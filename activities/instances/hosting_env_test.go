package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
)

// hosts is a process that hosts instances of the tool "counter", its server, and a log of what it
// did.
type hosts struct {
	*Host
	t        *testing.T
	server   *activitytest.HostServer
	compiled *toolspecs.Compiled
	// served receives what is to be served after an instance was created; refuse prevents serving.
	served  chan Served
	refuse  error
	starter *breaking

	mu  sync.Mutex
	log []string
}

// breaking starts instances that lose their state when the test says so.
type breaking struct {
	*Factories
	lost chan error
}

func (b *breaking) StartInstance(ctx context.Context, spec *toolspecs.Spec,
	info executor.InstanceInfo) (executor.Instance, error) {
	i, err := b.Factories.StartInstance(ctx, spec, info)
	i.Lost = b.lost
	return i, err
}

func (h *hosts) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, text)
}

func (h *hosts) actions() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.log, " ")
}

// loud is a counter that logs its calls.
type loud struct {
	tally
	hosts *hosts
	call  func(ctx context.Context) error
}

func (c *loud) Add(ctx context.Context, in tallyArgs) (int, error) {
	call, _ := callcontext.From(ctx)
	c.hosts.say(fmt.Sprint("add", in.By, "/", call.Generation))
	c.n += in.By
	if c.call != nil {
		if err := c.call(ctx); err != nil {
			return 0, err
		}
	}
	return c.n, nil
}

func (c *loud) Close() error {
	c.hosts.say("close")
	return nil
}

// loudSnapshot can be rebuilt; size is the number of bytes that its snapshots have beside its
// number.
type loudSnapshot struct {
	loud
	size int
}

func (c *loudSnapshot) Add(ctx context.Context, in tallyArgs) (int, error) {
	return c.loud.Add(ctx, in)
}

func (c *loudSnapshot) Snapshot(context.Context) ([]byte, error) {
	c.hosts.say("snapshot")
	if c.size < 0 {
		return nil, errors.New("no ink")
	}
	return slices.Concat([]byte(fmt.Sprintln(c.n)), noise(c.hosts.t, c.size)), nil
}

func (c *loudSnapshot) Restore(_ context.Context, state []byte) error {
	c.hosts.say("restore")
	_, err := fmt.Sscanln(string(state), &c.n)
	return err
}

// newHosts returns a process whose factory is that of s; change completes the spec.
func newHosts(t *testing.T, change func(*toolspecs.Spec),
	factory func(*hosts) tool.Stateful) *hosts {
	t.Helper()
	h := &hosts{t: t, server: &activitytest.HostServer{Described: map[string]*described{},
		Completed: make(chan activitytest.HostReport, 1)},
		served: make(chan Served, 10)}
	catalog := activitytest.Catalog(t, activitytest.Spec("counter", func(s *toolspecs.Spec) {
		s.Entry.Kind = toolspecs.StatefulEntry{}
		s.Parameters = []toolspecs.Parameter{{Name: "by", Type: "integer", Required: true}}
		s.Execution.Effect = api.EffectIdempotent
		s.Execution.Heartbeat = api.Duration(time.Second)
		if change != nil {
			change(s)
		}
	}))
	factories, err := NewFactories(factory(h))
	if err != nil {
		t.Fatal(err)
	}
	h.compiled, _ = catalog.Get("counter")
	h.starter = &breaking{Factories: factories, lost: make(chan error, 1)}
	h.Host = New(Config{Client: h.server, Converter: converter.GetDefaultDataConverter(),
		Executors: map[string]executor.Executor{toolspecs.KindStateful: h.starter},
		Spec:      h.spec, Tool: h.tool,
		Serve: func(s Served) (func(), error) {
			if h.refuse != nil {
				return nil, h.refuse
			}
			h.say("serve")
			h.served <- s
			return func() { h.say("stop") }, nil
		}})
	return h
}

func (h *hosts) spec(_ context.Context, _ string, x api.Execution) (*toolspecs.Compiled, error) {
	if x.Digest != h.compiled.Digest {
		return nil, errors.New("no run answers")
	}
	return h.compiled, nil
}

// tool executes a call as Activities.Tool does.
func (h *hosts) tool(ctx context.Context, input converter.EncodedValues) (api.Result, error) {
	var x api.Execution
	if err := input.Get(&x); err != nil {
		return api.Result{}, err
	}
	ctx = executor.WithRedactor(callcontext.With(ctx,
		api.CallContext{CallID: activity.GetInfo(ctx).ActivityID}), &executor.Redactor{})
	answer, err := Execute(ctx, h.starter, &h.compiled.Spec, x.Arguments)
	var failure *api.Error
	if err != nil {
		failure = executor.CallError(ctx, err, &h.compiled.Spec)
	}
	if failure = AddNote(ctx, failure); failure != nil {
		return api.Result{}, executor.Failure(failure)
	}
	return api.Result{Output: answer.Output, Notes: answer.Notes}, nil
}

func plain(h *hosts) tool.Stateful {
	return tool.NewStateful("counter", func(_ context.Context,
		info tool.StartInfo) (*loud, error) {
		h.say(fmt.Sprint("make", info.Generation))
		return &loud{hosts: h}, nil
	}, tool.NewMethod("add", (*loud).Add))
}

func snapshotBy(change func(*loudSnapshot)) func(*hosts) tool.Stateful {
	return func(h *hosts) tool.Stateful {
		return tool.NewStateful("counter", func(_ context.Context,
			info tool.StartInfo) (*loudSnapshot, error) {
			h.say(fmt.Sprint("make", info.Generation))
			c := &loudSnapshot{loud: loud{hosts: h}}
			if change != nil {
				change(c)
			}
			return c, nil
		}, tool.NewMethod("add", (*loudSnapshot).Add))
	}
}

func recreate(s *toolspecs.Spec) {
	toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) { e.OnLoss = api.OnLossRecreate })
}

// idleFor sets the time without calls after which an instance is closed.
func idleFor(timeout time.Duration) func(*toolspecs.Spec) {
	return func(s *toolspecs.Spec) {
		toolspecs.EditEntry(s, func(e *toolspecs.StatefulEntry) {
			e.IdleTimeout = api.Duration(timeout)
		})
	}
}

// hosted is a running host activity.
type hosted struct {
	end  context.CancelCauseFunc
	stop chan struct{}
	done chan error
	left api.InstanceProgress
}

func (h *hosts) request() api.HostInstanceRequest {
	return api.HostInstanceRequest{Tool: "counter", Digest: h.compiled.Digest,
		Origin: api.Origin{Run: "run-1"}, Queue: "q/instance/run-1/counter"}
}

// start starts a host; details are those of the previous attempt, if any.
func (h *hosts) start(r api.HostInstanceRequest, details ...any) *hosted {
	h.t.Helper()
	running := &hosted{stop: make(chan struct{}), done: make(chan error, 1)}
	ends := make(chan context.CancelCauseFunc, 1)
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetWorkerStopChannel(running.stop)
	if len(details) > 0 {
		env.SetHeartbeatDetails(details[0])
	}
	env.RegisterActivityWithOptions(func(ctx context.Context,
		r api.HostInstanceRequest) (api.InstanceProgress, error) {
		ctx, end := context.WithCancelCause(ctx)
		ends <- end
		return h.HostInstance(ctx, r)
	}, activity.RegisterOptions{Name: api.HostInstanceActivity})
	go func() {
		value, err := env.ExecuteActivity(api.HostInstanceActivity, r)
		if err == nil {
			err = value.Get(&running.left)
		}
		running.done <- err
	}()
	running.end = expect.Receive(h.t, "the host", ends)
	return running
}

// call executes a call on the served instance.
func (h *hosts) call(s Served, by int) (result api.Result, err error) {
	h.t.Helper()
	x := api.Execution{Digest: h.compiled.Digest, Origin: api.Origin{Run: "run-1"}}
	x.Arguments = json.RawMessage(fmt.Sprintf(`{"by":%d}`, by))
	value, err := activitytest.Within(h.t, "counter", x, func(ctx context.Context,
		in converter.EncodedValues) (any, error) {
		return s.Tool(ctx, in)
	})
	if err == nil {
		err = value.Get(&result)
	}
	return result, err
}

func (h *hosts) add(s Served, by int) api.Result {
	h.t.Helper()
	result, err := h.call(s, by)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// failed waits for a host's failure and returns it with its report about the instance.
func (h *hosts) failed(running *hosted) (e api.Error, left api.InstanceProgress, again bool) {
	h.t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](expect.Receive(h.t, "the host's end",
		running.done))
	if !ok || app.Details(&e, &left) != nil {
		h.t.Fatalf("the host ended with %v", app)
	}
	return e, left, !app.NonRetryable()
}

// described is the server's description of an execution.
type described = workflowservice.DescribeWorkflowExecutionResponse

func executionIn(s enumspb.WorkflowExecutionStatus) *described {
	return &described{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: s,
		FirstRunId: "run-1"}}
}

// runID is the run id of the execution in the test environment.
const runID = "default-test-run-id"
