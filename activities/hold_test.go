package activities

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

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// holds is a process that holds instances of the tool "counter", the server that it talks to, and what it did.
type holds struct {
	*Activities
	t        *testing.T
	server   *heldServer
	compiled *toolspecs.Compiled
	// served gets what is to be served when an instance has been made; refuse keeps it from being served.
	served chan Served
	refuse error

	mu  sync.Mutex
	log []string
}

func (h *holds) say(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.log = append(h.log, text)
}

func (h *holds) said() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.log, " ")
}

// loud is a counter that says what is done with it.
type loud struct {
	tally
	holds *holds
	call  func(ctx context.Context) error
}

func (c *loud) Add(ctx context.Context, in tallyArgs) (int, error) {
	call, _ := switchyard.ContextOf(ctx)
	c.holds.say(fmt.Sprint("add", in.By, "/", call.Generation))
	c.n += in.By
	if c.call != nil {
		if err := c.call(ctx); err != nil {
			return 0, err
		}
	}
	return c.n, nil
}

func (c *loud) Close() error {
	c.holds.say("close")
	return nil
}

// keptLoud can be rebuilt; size is how many bytes its snapshots take beside its number.
type keptLoud struct {
	loud
	size int
}

func (c *keptLoud) Add(ctx context.Context, in tallyArgs) (int, error) { return c.loud.Add(ctx, in) }

func (c *keptLoud) Snapshot(context.Context) ([]byte, error) {
	c.holds.say("snapshot")
	if c.size < 0 {
		return nil, errors.New("no ink")
	}
	return slices.Concat([]byte(fmt.Sprintln(c.n)), noise(c.holds.t, c.size)), nil
}

func (c *keptLoud) Restore(_ context.Context, state []byte) error {
	c.holds.say("restore")
	_, err := fmt.Sscanln(string(state), &c.n)
	return err
}

// newHolds makes a process whose factory is that of s; change completes the spec.
func newHolds(t *testing.T, change func(*toolspecs.Spec), factory func(*holds) Stateful) *holds {
	t.Helper()
	h := &holds{t: t, server: &heldServer{described: map[string]*workflowservice.DescribeWorkflowExecutionResponse{}, completed: make(chan holdReport, 1)},
		served: make(chan Served, 10)}
	catalog := catalogOf(t, spec("counter", func(s *toolspecs.Spec) {
		s.Entry.Type = switchyard.KindStateful
		s.Parameters = []toolspecs.Parameter{{Name: "by", Type: "integer", Required: true}}
		s.Execution.Heartbeat = second
		if change != nil {
			change(s)
		}
	}))
	factories, err := NewFactories(factory(h))
	if err != nil {
		t.Fatal(err)
	}
	b := setUp(t, catalog, func(c *Config) {
		c.Client, c.Stateful = h.server, factories
		c.Executors = map[string]Executor{switchyard.KindStateful: factories}
		c.Serve = func(s Served) (func(), error) {
			if h.refuse != nil {
				return nil, h.refuse
			}
			h.say("serve")
			h.served <- s
			return func() { h.say("stop") }, nil
		}
	})
	h.Activities = b.Activities
	h.compiled, _ = catalog.Get("counter")
	return h
}

func plain(h *holds) Stateful {
	return NewStateful("counter", func(_ context.Context, info StartInfo) (*loud, error) {
		h.say(fmt.Sprint("make", info.Generation))
		return &loud{holds: h}, nil
	}, (*loud).Add)
}

func keptBy(change func(*keptLoud)) func(*holds) Stateful {
	return func(h *holds) Stateful {
		return NewStateful("counter", func(_ context.Context, info StartInfo) (*keptLoud, error) {
			h.say(fmt.Sprint("make", info.Generation))
			c := &keptLoud{loud: loud{holds: h}}
			if change != nil {
				change(c)
			}
			return c, nil
		}, (*keptLoud).Add)
	}
}

func recreate(s *toolspecs.Spec) { s.Entry.OnLoss = switchyard.OnLossRecreate }

// held is a running hold.
type held struct {
	end  context.CancelCauseFunc
	stop chan struct{}
	done chan error
	left switchyard.HoldState
}

func (h *holds) request() switchyard.HoldRequest {
	return switchyard.HoldRequest{Tool: "counter", Digest: h.compiled.Digest, Origin: switchyard.Origin{Run: "run-1"}, Queue: "q/instance/run-1/counter"}
}

// start starts a hold; details are those of the attempt before, if there was one.
func (h *holds) start(r switchyard.HoldRequest, details ...any) *held {
	h.t.Helper()
	running := &held{stop: make(chan struct{}), done: make(chan error, 1)}
	ends := make(chan context.CancelCauseFunc, 1)
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetWorkerStopChannel(running.stop)
	if len(details) > 0 {
		env.SetHeartbeatDetails(details[0])
	}
	env.RegisterActivityWithOptions(func(ctx context.Context, r switchyard.HoldRequest) (switchyard.HoldState, error) {
		ctx, end := context.WithCancelCause(ctx)
		ends <- end
		return h.Hold(ctx, r)
	}, activity.RegisterOptions{Name: switchyard.HoldActivity})
	go func() {
		value, err := env.ExecuteActivity(switchyard.HoldActivity, r)
		if err == nil {
			err = value.Get(&running.left)
		}
		running.done <- err
	}()
	running.end = soon(h.t, "the hold", ends)
	return running
}

// call executes a call on the instance that is served.
func (h *holds) call(s Served, by int) (result switchyard.Result, err error) {
	h.t.Helper()
	x := executionOf(h.compiled)
	x.Arguments = json.RawMessage(fmt.Sprintf(`{"by":%d}`, by))
	value, err := within(h.t, "counter", x, func(ctx context.Context, in converter.EncodedValues) (any, error) { return s.Tool(ctx, in) })
	if err == nil {
		err = value.Get(&result)
	}
	return result, err
}

func (h *holds) add(s Served, by int) switchyard.Result {
	h.t.Helper()
	result, err := h.call(s, by)
	if err != nil {
		h.t.Fatal(err)
	}
	return result
}

// failed waits for a hold's failure and returns it with what it tells of the instance.
func (h *holds) failed(running *held) (e switchyard.Error, left switchyard.HoldState, again bool) {
	h.t.Helper()
	app, ok := errors.AsType[*temporal.ApplicationError](soon(h.t, "the hold's end", running.done))
	if !ok || app.Details(&e, &left) != nil {
		h.t.Fatalf("the hold ended with %v", app)
	}
	return e, left, !app.NonRetryable()
}

func executionIn(s enumspb.WorkflowExecutionStatus) *workflowservice.DescribeWorkflowExecutionResponse {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: s, FirstRunId: "run-1"}}
}

// runID is that of the execution in the test environment.
const runID = "default-test-run-id"

// A hold makes one instance, serves its queue, executes the calls on it, and closes it when the run cancels it: whether the
// server says so at once or with a heartbeat.
func TestHold(t *testing.T) {
	for name, end := range map[string]func(*holds, *held){
		"pushed": func(h *holds, running *held) {
			h.server.describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
			running.end(temporal.NewCanceledError())
		},
		"by heartbeat": func(h *holds, _ *held) { h.server.say(temporal.NewCanceledError()) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolds(t, nil, plain)
			running := h.start(h.request())
			s := soon(t, "the instance", h.served)
			if s.Queue != "q/instance/run-1/counter" || s.Lane != "general" || h.config.Stateful.Live()["counter"] != 1 {
				t.Errorf("served %+v, live %v", s, h.config.Stateful.Live())
			}
			for want := range 3 {
				if r := h.add(s, 1); string(r.Output) != fmt.Sprint(want+1) || len(r.Notes) > 0 {
					t.Errorf("got %+v, want %d", r, want+1)
				}
			}
			end(h, running)
			if err := soon(t, "the end", running.done); err != nil || running.left.State != nil {
				t.Errorf("%v, left %+v", err, running.left)
			}
			if got, want := h.said(), "make1 serve add1/1 add1/1 add1/1 stop close"; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
			if live := h.config.Stateful.Live()["counter"]; live != 0 {
				t.Errorf("%d instances live", live)
			}
		})
	}
}

// A hold whose run is over without having cancelled it closes the instance; nobody is there to report to.
func TestHoldOfEndedRun(t *testing.T) {
	for name, described := range map[string]*workflowservice.DescribeWorkflowExecutionResponse{
		"terminated": executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED), "deleted": nil,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolds(t, nil, plain)
			running := h.start(h.request())
			soon(t, "the instance", h.served)
			if described != nil {
				h.server.describe(runID, described)
			}
			h.server.say(serviceerror.NewNotFound("no such execution"))
			if err := soon(t, "the end", running.done); !errors.Is(err, activity.ErrResultPending) {
				t.Errorf("got %v", err)
			}
			if got := h.said(); got != "make1 serve stop close" {
				t.Errorf("got %s", got)
			}
		})
	}
}

// An instance whose holder cannot prove that it is one any more is given up: the call that runs is stopped, by its effect to
// be tried again or not, and the instance closed, before the server can give it to another.
func TestHoldIsLost(t *testing.T) {
	for name, c := range map[string]struct {
		effect switchyard.Effect
		cut    func(*holds)
		want   switchyard.ErrorType
	}{
		"cut off, idempotent": {switchyard.EffectIdempotent, func(h *holds) { h.server.say(errors.New("broken pipe")) }, switchyard.ErrWorkerLost},
		"cut off, once":       {switchyard.EffectOnce, func(h *holds) { h.server.say(errors.New("broken pipe")) }, switchyard.ErrOutcomeUnknown},
		"replaced": {switchyard.EffectOnce, func(h *holds) {
			h.server.describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
			h.server.say(serviceerror.NewNotFound("no such activity"))
		}, switchyard.ErrOutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			calling := make(chan struct{})
			h := newHolds(t, func(s *toolspecs.Spec) { s.Execution.Effect = c.effect }, func(h *holds) Stateful {
				return NewStateful("counter", func(context.Context, StartInfo) (*loud, error) {
					return &loud{holds: h, call: func(ctx context.Context) error {
						close(calling)
						<-ctx.Done()
						return context.Cause(ctx)
					}}, nil
				}, (*loud).Add)
			})
			running := h.start(h.request())
			s := soon(t, "the instance", h.served)
			called := make(chan error, 1)
			go func() {
				_, err := h.call(s, 1)
				called <- err
			}()
			soon(t, "the call", calling)
			began := time.Now()
			c.cut(h)
			e, _ := callError(t, soon(t, "the call's end", called))
			if e.Type != c.want || e.Retryable != (c.effect != switchyard.EffectOnce) || !contains(e.Message, "interrupted", errLeaseOver.Error()) {
				t.Errorf("the call ended with %+v", e)
			}
			err := soon(t, "the end", running.done)
			if took := time.Since(began); took > time.Second {
				t.Errorf("it took %s to give the instance up, and the heartbeat timeout is 1s", took)
			}
			if app, failed := errors.AsType[*temporal.ApplicationError](err); name == "replaced" && !errors.Is(err, activity.ErrResultPending) ||
				name != "replaced" && (!failed || app.Type() != string(switchyard.ErrWorkerLost) || app.NonRetryable()) {
				t.Errorf("the hold ended with %v", err)
			}
			if got := h.said(); got != "serve add1/1 stop close" {
				t.Errorf("got %s", got)
			}
			if _, err := h.call(s, 1); err == nil {
				t.Error("a call was executed on an instance that was given up")
			} else if e, _ := callError(t, err); e.Type != switchyard.ErrWorkerLost || !strings.Contains(e.Message, "nothing ran") {
				t.Errorf("a call after the loss ended with %+v", e)
			}
		})
	}
}

// A worker that stops gives its instances up at once, after the calls that run; so does one that cannot serve them.
func TestHoldStops(t *testing.T) {
	h := newHolds(t, recreate, keptBy(nil))
	running := h.start(h.request())
	h.add(soon(t, "the instance", h.served), 5)
	close(running.stop)
	if e, left, again := h.failed(running); e.Type != switchyard.ErrWorkerLost || !again || left.State != nil || left.Generation != 1 || !strings.Contains(e.Message, "its worker stops") {
		t.Errorf("%+v, left %+v, again %v", e, left, again)
	}
	if got := h.said(); got != "make1 serve add5/1 snapshot stop close" {
		t.Errorf("got %s", got)
	}
	h = newHolds(t, nil, plain)
	running = h.start(h.request())
	soon(t, "the instance", h.served).Failed(errors.New("no permission"))
	if e, _, again := h.failed(running); !again || !strings.Contains(e.Message, "no permission") {
		t.Errorf("%+v, again %v", e, again)
	}
	h = newHolds(t, nil, plain)
	h.refuse = errors.New("no port")
	if e, _, again := h.failed(h.start(h.request())); !again || !strings.Contains(e.Message, "no port") || h.said() != "make1 close" {
		t.Errorf("%+v, again %v, %s", e, again, h.said())
	}
	h = newHolds(t, nil, plain)
	running = h.start(h.request())
	soon(t, "the instance", h.served)
	running.end(errors.New("worker shutdown"))
	if e, _, again := h.failed(running); !again || !strings.Contains(e.Message, "worker shutdown") {
		t.Errorf("%+v, again %v", e, again)
	}
}

// An instance that is made anew after a loss has the state of the last call that reported, and answers that call itself
// where it comes again. Every heartbeat carries that state.
func TestHoldRestores(t *testing.T) {
	h := newHolds(t, recreate, keptBy(nil))
	running := h.start(h.request())
	first := h.add(soon(t, "the instance", h.served), 5)
	told := h.server.last()
	if !told.Used || told.State == nil || told.Generation != 1 {
		t.Fatalf("told %+v", told)
	}
	soon(t, "the next heartbeat", h.server.watch())
	if next := h.server.last(); string(next.State) != string(told.State) {
		t.Errorf("the next heartbeat told %+v", next)
	}
	running.end(errors.New("lost"))
	h.failed(running)

	again := h.start(h.request(), told)
	s := soon(t, "the next instance", h.served)
	// The environment gives every call the same id: this one is the call that had been executed.
	if got := h.add(s, 5); string(got.Output) != string(first.Output) || len(got.Notes) > 0 {
		t.Errorf("the call is answered with %+v, want %+v", got, first)
	}
	if got := h.said(); !strings.HasSuffix(got, "close make2 restore serve") {
		t.Errorf("got %s", got)
	}
	again.end(errors.New("lost"))
	h.failed(again)
}

// An instance whose state is gone says so with its first answer, and why.
func TestHoldTellsOfLostState(t *testing.T) {
	used := switchyard.HoldState{Generation: 4, Used: true}
	before := toldBefore(t, used)
	for name, c := range map[string]struct {
		change  func(*switchyard.HoldRequest)
		details []any
		says    string
	}{
		"first":    {nil, nil, ""},
		"unused":   {nil, []any{switchyard.HoldState{Generation: 4}}, ""},
		"lost":     {nil, []any{used}, "the worker that held the last one was lost: this is a new instance of counter"},
		"idle":     {func(r *switchyard.HoldRequest) { r.Last = used }, nil, "the last one was closed after 10m0s without a call"},
		"run told": {func(r *switchyard.HoldRequest) { r.Last, r.Lost = used, true }, nil, "was lost"},
		"server told": {func(r *switchyard.HoldRequest) {
			r.Before = []switchyard.HoldRef{{RunID: "old", ActivityID: "hold/counter"}}
		}, nil, "was lost"},
		"earlier told": {func(r *switchyard.HoldRequest) {
			r.Before = []switchyard.HoldRef{{RunID: "old", ActivityID: "hold/counter"}, {RunID: "empty", ActivityID: "hold/counter"}}
		}, nil, "was lost"},
		"nobody told": {func(r *switchyard.HoldRequest) {
			r.Last.Generation = 4
			r.Before = []switchyard.HoldRef{{RunID: "empty", ActivityID: "hold/counter"}}
		}, nil, "was lost"},
		"forgotten": {func(r *switchyard.HoldRequest) {
			r.Last.Generation = 4
			r.Before = []switchyard.HoldRef{{RunID: "old", ActivityID: "hold/counter"}, {RunID: "empty", ActivityID: "hold/counter/2"}}
		}, nil, "was lost"},
		"deleted": {func(r *switchyard.HoldRequest) {
			r.Last.Generation = 4
			r.Before = []switchyard.HoldRef{{RunID: "old", ActivityID: "hold/counter"}, {RunID: "deleted", ActivityID: "hold/counter"}}
		}, nil, "was lost"},
		"unreadable": {nil, []any{"text"}, "was lost"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolds(t, nil, plain)
			h.server.describe("old", before)
			empty := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
			empty.PendingActivities = []*workflowpb.PendingActivityInfo{{ActivityId: "hold/counter"}}
			h.server.describe("empty", empty)
			r := h.request()
			if c.change != nil {
				c.change(&r)
			}
			running := h.start(r, c.details...)
			s := soon(t, "the instance", h.served)
			notes := strings.Join(h.add(s, 1).Notes, "|")
			if !strings.Contains(notes, c.says) || notes != "" && c.says == "" {
				t.Errorf("the first answer says %q, want %q", notes, c.says)
			}
			if more := h.add(s, 1).Notes; len(more) > 0 {
				t.Errorf("the second answer says %q", more)
			}
			if want := map[bool]int{true: 1, false: 5}[name == "first" || name == "unreadable"]; h.server.last().Generation != want {
				t.Errorf("generation %d, want %d", h.server.last().Generation, want)
			}
			running.end(errors.New("over"))
			h.failed(running)
		})
	}
}

// toldBefore is an execution that is over, whose hold's last heartbeat told a state.
func toldBefore(t *testing.T, told switchyard.HoldState) *workflowservice.DescribeWorkflowExecutionResponse {
	t.Helper()
	details, err := converter.GetDefaultDataConverter().ToPayloads(told)
	if err != nil {
		t.Fatal(err)
	}
	d := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW)
	d.PendingActivities = []*workflowpb.PendingActivityInfo{{ActivityId: "other", HeartbeatDetails: &commonpb.Payloads{}}, {ActivityId: "hold/counter", HeartbeatDetails: details}}
	return d
}

// A state that cannot be kept is noted once, and then not kept.
func TestHoldWithoutSnapshot(t *testing.T) {
	for size, says := range map[int]string{maxKept + 1: "bytes compressed", -1: "no ink"} {
		h := newHolds(t, recreate, keptBy(func(c *keptLoud) { c.size = size }))
		running := h.start(h.request())
		s := soon(t, "the instance", h.served)
		if notes := h.add(s, 1).Notes; len(notes) != 1 || !contains(notes[0], "not kept", says, "cannot be rebuilt") {
			t.Errorf("notes %q", notes)
		}
		if told := h.server.last(); told.State != nil || !told.Used {
			t.Errorf("told %+v", told)
		}
		running.end(errors.New("over"))
		h.failed(running)
	}
}

// An instance that nobody uses is closed, with its state as the hold's result where it has one.
func TestHoldIdles(t *testing.T) {
	idle := func(s *toolspecs.Spec) { s.Entry.IdleTimeout = second }
	h := newHolds(t, idle, keptBy(nil))
	running := h.start(h.request())
	h.add(soon(t, "the instance", h.served), 5)
	if err := soon(t, "the end", running.done); err != nil || !running.left.Used || running.left.State == nil {
		t.Fatalf("%v, left %+v", err, running.left)
	}
	if got := h.said(); got != "make1 serve add5/1 stop snapshot close" {
		t.Errorf("got %s", got)
	}
	r := h.request()
	r.Last = running.left
	again := h.start(r)
	if i := soon(t, "the next instance", h.served); h.said() != "make1 serve add5/1 stop snapshot close make2 restore serve" {
		t.Errorf("got %s, %v", h.said(), i)
	}
	again.end(errors.New("over"))
	h.failed(again)
}

// What a factory answers is told to those who wait: a plain error at once, one that may pass after as many attempts as the
// tool has; a panic, a missing factory and a time that is over too. What had been made is closed.
func TestHoldCannotMake(t *testing.T) {
	attempts := 0
	retry := func(s *toolspecs.Spec) {
		s.Execution.Effect, s.Execution.Timeout = switchyard.EffectIdempotent, switchyard.Duration(50*time.Millisecond)
		s.Execution.Retry = switchyard.Retry{MaxAttempts: 3, InitialInterval: switchyard.Duration(time.Millisecond)}
	}
	factory := func(f func(context.Context) (*keptLoud, error)) func(*holds) Stateful {
		return func(*holds) Stateful {
			return NewStateful("counter", func(ctx context.Context, _ StartInfo) (*keptLoud, error) {
				attempts++
				return f(ctx)
			}, (*keptLoud).Add)
		}
	}
	for name, c := range map[string]struct {
		factory  func(*holds) Stateful
		want     switchyard.ErrorType
		says     string
		attempts int
	}{
		"plain":     {factory(func(context.Context) (*keptLoud, error) { return nil, errors.New("no disk") }), switchyard.ErrExecution, "the instance of counter could not be made: no disk", 1},
		"transient": {factory(func(context.Context) (*keptLoud, error) { return nil, switchyard.Transient(errors.New("busy"), 0) }), switchyard.ErrExecution, "busy", 3},
		"panic":     {factory(func(context.Context) (*keptLoud, error) { panic("kaboom") }), switchyard.ErrExecution, "kaboom", 1},
		"own type": {factory(func(context.Context) (*keptLoud, error) {
			return nil, switchyard.Errorf(switchyard.ErrPolicyViolation, "not here")
		}), switchyard.ErrPolicyViolation, "not here", 1},
		"late":    {factory(func(ctx context.Context) (*keptLoud, error) { <-ctx.Done(); return nil, ctx.Err() }), switchyard.ErrTimeout, "was not made within 50ms", 1},
		"unknown": {func(*holds) Stateful { return NewStateful("other", makes(&keptLoud{}), (*keptLoud).Add) }, switchyard.ErrExecutorNotFound, `no factory "counter"`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			attempts = 0
			h := newHolds(t, retry, c.factory)
			e, _, again := h.failed(h.start(h.request()))
			if e.Type != c.want || !strings.Contains(e.Message, c.says) || again || attempts != c.attempts {
				t.Errorf("%+v, again %v, %d attempts", e, again, attempts)
			}
		})
	}
	t.Run("state", func(t *testing.T) {
		h := newHolds(t, recreate, keptBy(nil))
		damaged := switchyard.HoldState{Generation: 1, Used: true, State: []byte("text")}
		e, left, again := h.failed(h.start(h.request(), damaged))
		if again || !strings.Contains(e.Message, "kept state") || string(left.State) != "text" || left.Generation != 2 || h.said() != "make2 close" {
			t.Errorf("%+v, left %+v, %s", e, left, h.said())
		}
	})
	t.Run("other version", func(t *testing.T) {
		packed, err := kept{state: []byte("1")}.pack()
		if err != nil {
			t.Fatal(err)
		}
		h := newHolds(t, nil, plain)
		if e, _, _ := h.failed(h.start(h.request(), switchyard.HoldState{Used: true, State: packed})); !strings.Contains(e.Message, "another version") {
			t.Errorf("%+v", e)
		}
	})
	t.Run("dependency", func(t *testing.T) {
		h := newHolds(t, func(s *toolspecs.Spec) {
			s.Requires.Dependencies = []toolspecs.Dependency{{Name: "db", Check: []string{"no-such-program-here"}}}
		}, plain)
		if e, _, again := h.failed(h.start(h.request())); e.Type != switchyard.ErrPreconditionFailed || again {
			t.Errorf("%+v, again %v", e, again)
		}
	})
	t.Run("no stateful tools", func(t *testing.T) {
		h := newHolds(t, nil, plain)
		h.config.Stateful = nil
		if e, _, _ := h.failed(h.start(h.request())); e.Type != switchyard.ErrExecutorNotFound {
			t.Errorf("%+v", e)
		}
	})
	t.Run("unknown digest", func(t *testing.T) {
		h := newHolds(t, nil, plain)
		r := h.request()
		r.Digest = "other"
		if e, _, _ := h.failed(h.start(r)); e.Type != switchyard.ErrExecutorNotFound {
			t.Errorf("%+v", e)
		}
	})
}

// An instance that is not yet made when its hold ends is closed if it is made nevertheless.
func TestHoldEndsBeforeInstanceIsMade(t *testing.T) {
	making, finish := make(chan struct{}), make(chan struct{})
	h := newHolds(t, nil, func(h *holds) Stateful {
		return NewStateful("counter", func(ctx context.Context, _ StartInfo) (*loud, error) {
			close(making)
			<-finish // it does not listen
			h.say("made")
			return &loud{holds: h}, nil
		}, (*loud).Add)
	})
	running := h.start(h.request())
	soon(t, "the factory", making)
	h.server.say(temporal.NewCanceledError())
	soon(t, "a heartbeat", h.server.watch())
	close(finish)
	if err := soon(t, "the end", running.done); err != nil {
		t.Error(err)
	}
	if got := h.said(); got != "made close" {
		t.Errorf("got %s", got)
	}
}

// A hold whose first heartbeat does not arrive, or says that the run is over, makes nothing.
func TestHoldMakesNothing(t *testing.T) {
	h := newHolds(t, nil, plain)
	h.server.say(errors.New("broken pipe"))
	if e, _, again := h.failed(h.start(h.request())); e.Type != switchyard.ErrWorkerLost || !again {
		t.Errorf("%+v, again %v", e, again)
	}
	h.server.say(temporal.NewCanceledError())
	if err := soon(t, "the end", h.start(h.request()).done); err != nil {
		t.Error(err)
	}
	h.server.say(nil)
	r := h.request()
	r.Adopt = true
	if e, _, _ := h.failed(h.start(r)); !strings.Contains(e.Message, "not here") {
		t.Errorf("%+v", e)
	}
	if h.said() != "" {
		t.Errorf("it did %s", h.said())
	}
}

// adopt has the instance adopted by a hold of the next execution, as the worker of the instance's queue gets it.
func (h *holds) adopt(s Served) error {
	h.t.Helper()
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(s.Hold, activity.RegisterOptions{Name: switchyard.HoldActivity})
	_, err := env.ExecuteActivity(switchyard.HoldActivity, switchyard.HoldRequest{Adopt: true})
	return err
}

// A run that continues as new keeps its instance: whoever adopts it goes on with it, and its end is reported by the new
// hold's token.
func TestHoldIsAdopted(t *testing.T) {
	for name, end := range map[string]func(*holds, *held) ending{
		"cancelled": func(h *holds, _ *held) ending {
			h.server.say(temporal.NewCanceledError())
			return ending{kind: endOver}
		},
		"stopped": func(_ *holds, running *held) ending { close(running.stop); return ending{kind: endStopped} },
		"idle":    func(*holds, *held) ending { return ending{kind: endIdle} },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHolds(t, func(s *toolspecs.Spec) { recreate(s); s.Entry.IdleTimeout = 2 * second }, keptBy(nil))
			running := h.start(h.request())
			s := soon(t, "the instance", h.served)
			h.add(s, 1)
			h.server.describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW))
			h.server.describe("", executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
			running.end(temporal.NewCanceledError())
			if err := h.adopt(s); !errors.Is(err, activity.ErrResultPending) {
				t.Fatalf("the new hold ended with %v", err)
			}
			if got := string(h.add(s, 1).Output); got != "1" && got != "2" {
				t.Errorf("got %s", got)
			}
			want := end(h, running)
			report := soon(t, "the report", h.server.completed)
			if (report.err != nil) != (want.kind == endStopped) || want.kind == endIdle && report.state.State == nil {
				t.Errorf("reported %+v", report)
			}
			if want.kind == endStopped {
				var e switchyard.Error
				var left switchyard.HoldState
				if app, ok := errors.AsType[*temporal.ApplicationError](report.err); !ok || app.Details(&e, &left) != nil || left.State == nil {
					t.Errorf("reported %v, left %+v", report.err, left)
				}
			}
			if err := soon(t, "the end", running.done); !errors.Is(err, activity.ErrResultPending) {
				t.Errorf("the first hold ended with %v", err)
			}
			if got := h.said(); strings.Count(got, "make") != 1 || strings.Count(got, "close") != 1 {
				t.Errorf("got %s", got)
			}
		})
	}
}

// An instance that waits to be adopted is closed when its run is over before that.
func TestHoldIsNotAdopted(t *testing.T) {
	h := newHolds(t, nil, plain)
	running := h.start(h.request())
	soon(t, "the instance", h.served)
	closed := executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)
	closed.WorkflowExecutionInfo.CloseTime = timestamppb.Now()
	h.server.describe(runID, executionIn(enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW))
	h.server.describe("", closed)
	h.server.say(serviceerror.NewNotFound("no such execution"))
	if err := soon(t, "the end", running.done); !errors.Is(err, activity.ErrResultPending) || h.said() != "make1 serve stop close" {
		t.Errorf("%v, %s", err, h.said())
	}
	if err := h.adopt(Served{Hold: (&holder{request: h.request(), over: closedChannel()}).adopt}); err == nil {
		t.Error("an instance that is being closed was adopted")
	}
}

func closedChannel() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
