package slots

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/grpc"
)

// slotsServer is the server as a holder of slots uses it: it accepts heartbeats.
type slotsServer struct {
	client.Client
	// calls are the heartbeats of calls.
	calls chan api.Heartbeat
	*timeouts
}

// timeouts are the heartbeat timeouts that were requested for calls. answer is the server's answer
// to such a request.
type timeouts struct {
	workflowservice.WorkflowServiceClient
	requested chan time.Duration
	answer    func() error
}

func (s slotsServer) WorkflowService() workflowservice.WorkflowServiceClient { return s.timeouts }

func (s *timeouts) UpdateActivityOptions(_ context.Context,
	r *workflowservice.UpdateActivityOptionsRequest, _ ...grpc.CallOption) (
	*workflowservice.UpdateActivityOptionsResponse, error) {
	s.requested <- r.GetActivityOptions().GetHeartbeatTimeout().AsDuration()
	return &workflowservice.UpdateActivityOptionsResponse{}, s.answer()
}

func (s slotsServer) RecordActivityHeartbeat(_ context.Context, token []byte,
	details ...any) error {
	if string(token) == "call" {
		s.calls <- details[0].(api.Heartbeat)
	}
	return nil
}

// slotsProcess is a process that serves lanes. exited receives a value when it would end.
type slotsProcess struct {
	*Server
	exited chan struct{}
	server slotsServer
	// workerSlotsAll receives the slots of each started SDK worker.
	workerSlotsAll chan *WorkerSlots
}

func newSlotsProcess(t *testing.T) *slotsProcess {
	t.Helper()
	calls := make(chan api.Heartbeat, 100)
	p := &slotsProcess{server: slotsServer{calls: calls, timeouts: &timeouts{
		requested: make(chan time.Duration, 10), answer: func() error { return nil }}},
		exited: make(chan struct{}, 1), workerSlotsAll: make(chan *WorkerSlots, 10_000)}
	always := lanes.NewSet()
	p.Server = New(Config{
		Client: p.server,
		Lanes:  func() *lanes.Set { return always },
		Exit:   func() { p.exited <- struct{}{} },
		ServeQueue: func(q ServedQueue) (func(), error) {
			p.workerSlotsAll <- q.WorkerSlots
			return func() {}, nil
		},
	})
	return p
}

// hostInstance makes the process own the only group of a lane, with a long heartbeat timeout.
func (p *slotsProcess) hostInstance(t *testing.T, lane api.Lane, timeout time.Duration) *slotGroup {
	t.Helper()
	lane.Name, lane.Holders = "lane", 1
	h := &slotGroup{Server: p.Server, request: lanerules.SlotsRequest{Lane: lane, Base: "q"},
		log: quietLog{}, since: time.Now(),
		failed: make(chan error, 1)}
	h.configure()
	h.lease = lease.New(p.config.Client, nil, timeout, func() any { return h.state() })
	if err := h.lease.Beat(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.owned.add(h)
	go h.guard()
	return h
}

// served makes the holder serve a queue, and returns it.
func (p *slotsProcess) served(t *testing.T, h *slotGroup) *slotQueue {
	t.Helper()
	h.mu.Lock()
	h.start("q/lane")
	q := h.queues[len(h.queues)-1]
	h.mu.Unlock()
	expect.Receive(t, "the queue's worker", p.workerSlotsAll)
	q.serving.Lock() // until it is the queue's
	defer q.serving.Unlock()
	return q
}

type quietLog struct{}

func (quietLog) Info(string, ...any) {}
func (quietLog) Warn(string, ...any) {}

func TestSlotStates_AreReadableWhileQueuesStart(t *testing.T) {
	p := newSlotsProcess(t)
	h := p.hostInstance(t, api.Lane{Limit: 1, Key: "{{args.x}}"}, time.Hour)
	var both sync.WaitGroup
	both.Go(h.serve)
	both.Go(func() {
		for range 5000 {
			p.States()
		}
	})
	done := make(chan struct{})
	go func() {
		both.Wait()
		close(done)
	}()
	expect.Receive(t, "both", done)
	for range lanerules.KeyQueues {
		expect.Receive(t, "a queue's worker", p.workerSlotsAll)
	}
}

// A process that got a group again before it had released it still serves it.
func TestSlots_TakenAgainBeforeReleaseStayServed(t *testing.T) {
	p := newSlotsProcess(t)
	lane := api.Lane{Limit: 1}
	before := p.served(t, p.hostInstance(t, lane, time.Hour))
	again := p.served(t, p.hostInstance(t, lane, time.Hour))
	before.close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := again.current.workerSlots.Reserve(ctx); err != nil {
		t.Errorf("no permit: %v", err)
	}
}

// A holder without its lease does not release its group while a call runs: if the call does not
// stop, the process ends first.
func TestSlots_LostDuringACallEndTheProcess(t *testing.T) {
	p := newSlotsProcess(t)
	h := p.hostInstance(t, api.Lane{Limit: 1}, 2*time.Second)
	q := p.served(t, h)
	q.take()
	q.count(func(c *lanerules.Counts) { c.Running++ })
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _ = h.finish(t.Context(), releaseLost)
	}()
	select {
	case <-p.exited:
	case <-gone:
		t.Error("the group was given up while a call ran")
	}
	q.end(nil)
	expect.Receive(t, "the group to be given up", gone)
}

// If the lane gets a wait queue, or loses it, earlier calls count, and those on their way wait or
// are requeued.
func TestSlots_KeepTheLimitWhileRulesChange(t *testing.T) {
	p := newSlotsProcess(t)
	size := 1
	plain, exact := api.Lane{Name: "lane", Limit: 1}, api.Lane{Name: "lane", Limit: 1,
		QueueSize: &size}
	q := p.served(t, p.hostInstance(t, plain, time.Hour))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	requeued := func(err error, what string) {
		t.Helper()
		var e api.Error
		if app, ok := errors.AsType[*temporal.ApplicationError](err); !ok ||
			app.Details(&e) != nil || !e.NotStarted {
			t.Errorf("%s: %v", what, err)
		}
	}
	enter := func() error {
		_, err := q.startCall(ctx, activity.Info{}, nil)
		return err
	}
	queue := q.semaphore.queues.use("")
	if err := enter(); err != nil {
		t.Fatal(err)
	}
	requeued(enter(), "a call beyond the limit")
	q.configure(exact)
	entered := make(chan error, 1)
	go func() { entered <- enter() }()
	for queue.length() == 0 {
		if len(entered) > 0 {
			t.Fatalf("entered beyond the limit: %v", <-entered)
		}
	}
	queue.leave()
	if err := expect.Receive(t, "its turn", entered); err != nil {
		t.Error(err)
	}
	q.configure(plain)
	requeued(enter(), "a call beyond the limit again")
	queue.leave()
	q.close()
	requeued(enter(), "a call that came to a closed queue")
}

// keyedInput is the input of a call with a key.
type keyedInput struct {
	converter.EncodedValues
	key string
}

// Get implements converter.EncodedValues.
func (k keyedInput) Get(to ...any) error {
	to[0].(*api.Execution).Key = k.key
	return nil
}

func TestKeys_WaitOnlyForCallsWithTheSameKey(t *testing.T) {
	p := newSlotsProcess(t)
	h := p.hostInstance(t, api.Lane{Limit: 1, Key: "{{args.x}}"}, time.Hour)
	q := p.served(t, h)
	enter := func(key string) (turn, error) {
		return q.startCall(t.Context(), activity.Info{}, keyedInput{key: key})
	}
	slow, err := enter("slow")
	if err != nil {
		t.Fatal(err)
	}
	type entry struct {
		turn turn
		err  error
	}
	next := make(chan entry, 1)
	go func() {
		turn, err := enter("slow")
		next <- entry{turn, err}
	}()
	for h.state().Waiting == 0 {
		if len(next) > 0 {
			t.Fatal("two calls with one key run")
		}
	}
	for i := range 100 {
		turn, err := enter(fmt.Sprint(i))
		if err != nil {
			t.Fatalf("the key %d waits: %v", i, err)
		}
		if lane := q.lane(turn.key); lane != fmt.Sprint("lane/", i) {
			t.Errorf("the lane is %s", lane)
		}
		defer turn.end()
	}
	if keys := h.state().Keys; keys != 101 {
		t.Errorf("%d keys have calls", keys)
	}
	slow.end()
	second := expect.Receive(t, "its turn", next)
	if second.err != nil {
		t.Fatal(second.err)
	}
	second.turn.end()
	if keys := h.state().Keys; keys != 100 {
		t.Errorf("%d keys have calls in the end", keys)
	}
}

func TestKeys_KeepTheirRateWithoutCalls(t *testing.T) {
	s := newWaitQueues()
	s.configure(waitRules{limit: 10, space: 10, strategy: api.StrategyFIFO, rate: 0.5})
	first := s.use("a")
	if _, waiting := first.join(entrant{}); waiting {
		t.Fatal("the first call waits")
	}
	first.leave()
	s.release("a", first)
	second := s.use("a")
	if second != first {
		t.Fatal("the key has another wait queue")
	}
	if _, waiting := second.join(entrant{}); !waiting {
		t.Error("the second call does not wait for the rate")
	}
	second.turnAway(errQueueClosed)
	s.release("a", second)
}

// The report of a waiting attempt does not count for the next one, also if that has not waited.
func TestSlots_EachAttemptReportsItsStart(t *testing.T) {
	p := newSlotsProcess(t)
	none := 0
	q := p.served(t, p.hostInstance(t, api.Lane{Limit: 2, QueueSize: &none}, time.Hour))
	for attempt := range int32(2) {
		if _, err := q.startCall(t.Context(), activity.Info{TaskToken: []byte("call"),
			Attempt: attempt + 1}, nil); err != nil {
			t.Fatal(err)
		}
	}
	told := expect.Receive(t, "a heartbeat", p.server.calls)
	if told.Waiting || !told.Acted || len(p.server.calls) != 0 {
		t.Errorf("a heartbeat %+v, and %d more", told, len(p.server.calls))
	}
}
