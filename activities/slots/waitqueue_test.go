package slots

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/test/expect"
)

// waitingCall is a call that waits in a queue in a test.
type waitingCall struct {
	name   string
	level  int
	from   string
	ended  chan error
	cancel context.CancelFunc
}

// queueOf returns a wait queue and a function that adds a call, which returns when the call waits
// or has been answered.
func queueOf(t *testing.T, limit, space int, strategy api.Strategy) (*waitQueue,
	func(name string, level int, from string, deadline time.Time) *waitingCall) {
	l := newWaitQueue()
	l.configure(waitRules{limit: limit, space: space, strategy: strategy})
	return l, func(name string, level int, from string, deadline time.Time) *waitingCall {
		ctx, cancel := context.WithCancel(t.Context())
		s := &waitingCall{name: name, level: level, from: from, ended: make(chan error, 1),
			cancel: cancel}
		stands := make(chan struct{})
		stand := sync.OnceFunc(func() { close(stands) })
		go func() {
			err := l.enter(ctx, entrant{sharer: sharer{level, from}, deadline: deadline},
				func(bool) { stand() })
			s.ended <- err
			stand()
		}()
		<-stands
		return s
	}
}

// fifo keeps the order of arrival. priority takes the most urgent call first and, among equal ones,
// alternates between those who share the lane, however many calls they have.
func TestWaitQueue_KeepsItsStrategysOrder(t *testing.T) {
	normal, urgent, low := lanerules.PriorityLevel(api.PriorityNormal),
		lanerules.PriorityLevel(api.PriorityUrgent),
		lanerules.PriorityLevel(api.PriorityLow)
	come := []struct {
		name  string
		level int
		from  string
	}{{"a1", normal, "a"}, {"a2", normal, "a"}, {"low", low, "b"}, {"a3", normal, "a"},
		{"b1", normal, "b"}, {"urgent", urgent, "a"}, {"b2", normal, "b"}}
	for strategy, want := range map[api.Strategy][]string{
		api.StrategyFIFO:     {"a1", "a2", "low", "a3", "b1", "urgent", "b2"},
		api.StrategyPriority: {"urgent", "a1", "b1", "a2", "b2", "a3", "low"},
	} {
		l, stand := queueOf(t, 1, len(come), strategy)
		first := stand("first", normal, "c", time.Time{})
		if err := expect.Receive(t, "the first turn", first.ended); err != nil {
			t.Fatal(err)
		}
		var waiting []*waitingCall
		for _, c := range come {
			waiting = append(waiting, stand(c.name, c.level, c.from, time.Time{}))
		}
		var got []string
		for len(waiting) > 0 {
			name := want[len(got)]
			i := slices.IndexFunc(waiting, func(s *waitingCall) bool { return s.name == name })
			l.leave()
			if err := expect.Receive(t, string(strategy)+": "+name, waiting[i].ended); err != nil {
				t.Fatal(err)
			}
			got = append(got, name)
			waiting = slices.Delete(waiting, i, i+1)
		}
		if l.length() != 0 {
			t.Errorf("%s: %d still wait", strategy, l.length())
		}
	}
}

// Exactly as many calls run and wait as may, also if a hundred arrive at once. Others are rejected
// immediately.
func TestWaitQueue_IsExact(t *testing.T) {
	for _, c := range []struct{ limit, space int }{{1, 0}, {1, 3}, {4, 2}, {3, 0}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			l, stand := queueOf(t, c.limit, c.space, api.StrategyFIFO)
			var mu sync.Mutex
			var all []*waitingCall
			var coming sync.WaitGroup
			for i := range 100 {
				coming.Go(func() {
					s := stand(fmt.Sprint(i), 3, "", time.Time{})
					mu.Lock()
					defer mu.Unlock()
					all = append(all, s)
				})
			}
			coming.Wait()
			full, run := 0, 0
			for range 100 - c.space {
				select {
				case err := <-merged(all):
					if errors.Is(err, errQueueFull) {
						full++
					} else if err == nil {
						run++
					}
				case <-time.After(10 * time.Second):
					t.Fatalf("%d run, %d were turned away", run, full)
				}
			}
			if run != c.limit || full != 100-c.limit-c.space || l.length() != c.space {
				t.Errorf("%d run, %d were turned away, %d wait", run, full, l.length())
			}
			l.turnAway(errQueueClosed)
			for range c.space {
				if err := expect.Receive(t, "those that waited", merged(all)); !errors.Is(err,
					errQueueClosed) {
					t.Errorf("got %v", err)
				}
			}
		})
	}
}

// merged returns a channel with the end of a call that has ended and was not returned yet.
func merged(all []*waitingCall) <-chan error {
	c := make(chan error, 1)
	go func() {
		for {
			for _, s := range all {
				select {
				case err := <-s.ended:
					c <- err
					return
				default:
				}
			}
		}
	}()
	return c
}

// If the queue is full, a more urgent call replaces the last one in the lane's order.
func TestWaitQueue_MakesSpaceForUrgentCalls(t *testing.T) {
	l, stand := queueOf(t, 1, 1, api.StrategyPriority)
	if err := expect.Receive(t, "the first turn",
		stand("first", 3, "", time.Time{}).ended); err != nil {
		t.Fatal(err)
	}
	low := stand("low", 4, "", time.Time{})
	urgent := stand("urgent", 1, "", time.Time{})
	if err := expect.Receive(t, "the low one", low.ended); !errors.Is(err, errQueueFull) {
		t.Errorf("got %v", err)
	}
	l.leave()
	if err := expect.Receive(t, "the urgent one", urgent.ended); err != nil {
		t.Error(err)
	}
}

// A call that waits too long or is cancelled leaves the queue and takes no turn.
func TestWaitQueue_ForgetsCallsThatLeave(t *testing.T) {
	l, stand := queueOf(t, 1, 10, api.StrategyFIFO)
	if err := expect.Receive(t, "the first turn",
		stand("first", 3, "", time.Time{}).ended); err != nil {
		t.Fatal(err)
	}
	late, cancelled, last := stand("late", 3, "", time.Now().Add(time.Millisecond)),
		stand("cancelled", 3, "", time.Time{}), stand("last", 3, "", time.Time{})
	if err := expect.Receive(t, "the late one", late.ended); !errors.Is(err, errQueueTooLong) {
		t.Errorf("got %v", err)
	}
	cancelled.cancel()
	if err := expect.Receive(t, "the cancelled one", cancelled.ended); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
	l.leave()
	if err := expect.Receive(t, "the last one", last.ended); err != nil || l.length() != 0 {
		t.Errorf("got %v, %d wait", err, l.length())
	}
	// A higher limit applies to waiting calls.
	more := stand("more", 3, "", time.Time{})
	l.configure(waitRules{limit: 2, space: 10, strategy: api.StrategyFIFO})
	if err := expect.Receive(t, "the one more", more.ended); err != nil {
		t.Error(err)
	}
}

func TestWaitQueue_KeepsItsRate(t *testing.T) {
	q := newWaitQueue()
	q.configure(waitRules{limit: 100, space: 100, strategy: api.StrategyFIFO, rate: 10})
	began := time.Now()
	for i := range 12 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := q.enter(ctx, entrant{}, func(bool) {}); err != nil {
			t.Fatal(err)
		}
		// Ten calls start at once, and the next ones at intervals of a tenth of a second.
		took := time.Since(began)
		if least := time.Duration(i-9) * 100 * time.Millisecond; took < least {
			t.Errorf("call %d started after %s, want %s", i, took, least)
		}
	}
	if owed := q.owes(time.Now()); owed <= 0 || owed > time.Second {
		t.Errorf("the starts use up the rate for %s", owed)
	}
}

func TestWaitQueue_WithoutSpaceRejectsNoCallThatOnlyTheRateDelays(t *testing.T) {
	l, stand := queueOf(t, 1, 0, api.StrategyReject)
	l.configure(waitRules{limit: 1, strategy: api.StrategyReject, rate: 1})
	first := stand("first", 0, "a", time.Time{})
	if err := expect.Receive(t, "the first turn", first.ended); err != nil {
		t.Fatal(err)
	}
	if err := expect.Receive(t, "a call without a slot", stand("full", 0, "a",
		time.Time{}).ended); !errors.Is(err, errQueueFull) {
		t.Errorf("a call without a slot: %v", err)
	}
	l.leave()
	delayed := stand("delayed", 0, "a", time.Time{})
	if n := l.length(); n != 1 {
		t.Fatalf("%d calls wait for the rate", n)
	}
	if err := expect.Receive(t, "a call whose slot is taken", stand("third", 0, "a",
		time.Time{}).ended); !errors.Is(err, errQueueFull) {
		t.Errorf("a call whose slot is taken: %v", err)
	}
	if err := expect.Receive(t, "the delayed turn", delayed.ended); err != nil {
		t.Error(err)
	}
	l.leave()
}

// A queue that waits for its rate to be paid has one timer, however many calls end meanwhile.
func TestWaitQueues_StartOneTimerForEachQueue(t *testing.T) {
	s := newWaitQueues()
	s.configure(waitRules{limit: 1, rate: 0.01})
	q := s.use("k")
	if err := q.enter(t.Context(), entrant{}, func(bool) {}); err != nil {
		t.Fatal(err)
	}
	q.leave()
	s.release("k", q)
	allocations := testing.AllocsPerRun(100, func() { s.release("k", s.use("k")) })
	if keys, _ := s.length(); keys != 1 || allocations > 0 {
		t.Errorf("%d queues, %v allocations for each call", keys, allocations)
	}
}

// The size may change at any time. A closed semaphore issues no permits.
func TestSemaphore_NeverExceedsItsSize(t *testing.T) {
	g := newSemaphore()
	workerSlots := g.workerSlots()
	reserved := make(chan error, 10)
	reserve := func(d *WorkerSlots) {
		go func() { reserved <- d.Reserve(t.Context()) }()
	}
	for range 3 {
		reserve(workerSlots)
	}
	g.resize(2)
	for range 2 {
		if err := expect.Receive(t, "a permit", reserved); err != nil {
			t.Fatal(err)
		}
	}
	g.resize(1) // two are out, so that both have to come back before there is another one
	workerSlots.Release()
	if len(reserved) != 0 || g.used != 1 {
		t.Errorf("%d permits are out of one", g.used)
	}
	workerSlots.Release()
	if err := expect.Receive(t, "the third permit", reserved); err != nil || g.idle() {
		t.Fatal(err)
	}
	workerSlots.Close()
	workerSlots.Release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := workerSlots.Reserve(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a closed door: %v", err)
	}
	if err := g.workerSlots().Reserve(t.Context()); err != nil || workerSlots.Size() != 1 {
		t.Errorf("another door of the gate: %v", err)
	}
}

// It is in use while a queue follows it or a call has its permit.
func TestSemaphore_IsRememberedWhileInUse(t *testing.T) {
	owned := newOwnedSlots()
	g := owned.semaphore("q", 0)
	if owned.semaphore("q", 0) != g || owned.semaphore("q", 1) == g {
		t.Error("a group of a queue has one gate")
	}
	g.resize(1)
	if err := g.workerSlots().Reserve(t.Context()); err != nil {
		t.Fatal(err)
	}
	owned.drop("q", 0)
	owned.drop("q", 0)
	if owned.semaphore("q", 0) != g {
		t.Error("a gate was forgotten while a call had its permit")
	}
	g.workerSlots().Release()
	owned.drop("q", 0)
	if owned.semaphore("q", 0) == g {
		t.Error("an unused semaphore is remembered")
	}
}

// A lane that is busy for weeks remembers only the conversations with waiting calls, and they keep
// taking turns.
func TestWaitQueue_RemembersOnlyWhoWaits(t *testing.T) {
	l, stand := queueOf(t, 1, 4, api.StrategyPriority)
	level := lanerules.PriorityLevel(api.PriorityNormal)
	running := stand("first", level, "first", time.Time{})
	var waiting []*waitingCall
	for i := range 200 {
		s := stand(fmt.Sprint(i), level, fmt.Sprint(i), time.Time{})
		if i%3 == 0 { // leaves without having run
			s.cancel()
			if err := expect.Receive(t, "the cancelled call", s.ended); err == nil {
				t.Fatal("the cancelled call ran")
			}
			continue
		}
		if waiting = append(waiting, s); len(waiting) < 3 {
			continue
		}
		if err := expect.Receive(t, "the running call", running.ended); err != nil {
			t.Fatal(err)
		}
		l.leave()
		running, waiting = waiting[0], waiting[1:]
	}
	if len(l.last) > l.length() {
		t.Errorf("%d conversations are remembered, and %d calls wait", len(l.last), l.length())
	}
	a := stand("a1", level, "a", time.Time{})
	stand("a2", level, "a", time.Time{}).cancel()
	l.turnAway(errQueueClosed)
	if err := expect.Receive(t, "a", a.ended); !errors.Is(err, errQueueClosed) || len(l.last) > 0 {
		t.Errorf("got %v, and %d are remembered", err, len(l.last))
	}
}

// A call that a run itself makes is never rejected, and its turn is the next one, whatever the
// strategy. Other calls are rejected as before.
func TestWaitQueue_TakesCallsOfRunsAlways(t *testing.T) {
	for _, strategy := range []api.Strategy{api.StrategyReject, api.StrategyFIFO,
		api.StrategyPriority} {
		space := 1
		if strategy == api.StrategyReject {
			space = 0
		}
		l, stand := queueOf(t, 1, space, strategy)
		urgent := lanerules.PriorityLevel(api.PriorityUrgent)
		if err := expect.Receive(t, "the first turn",
			stand("first", urgent, "a", time.Time{}).ended); err != nil {
			t.Fatal(err)
		}
		var waiting *waitingCall
		if space > 0 {
			waiting = stand("waiting", urgent, "a", time.Time{})
		}
		own := make(chan error, 2)
		joined := make(chan bool, 2)
		for range 2 {
			go func() {
				own <- l.enter(t.Context(), entrant{sharer: sharer{urgent, "b"}, own: true},
					func(waits bool) { joined <- waits })
			}()
		}
		for range 2 {
			if !expect.Receive(t, "a call of a run", joined) {
				t.Errorf("%s: a call of a run does not wait", strategy)
			}
		}
		if err := expect.Receive(t, "one too many", stand("late", urgent, "c",
			time.Time{}).ended); !errors.Is(err, errQueueFull) {
			t.Errorf("%s: one too many: %v", strategy, err)
		}
		for range 2 {
			l.leave()
			if err := expect.Receive(t, "a call of a run", own); err != nil {
				t.Errorf("%s: a call of a run: %v", strategy, err)
			}
		}
		l.leave()
		if waiting != nil {
			if err := expect.Receive(t, "the waiting call", waiting.ended); err != nil {
				t.Errorf("%s: the call that waited: %v", strategy, err)
			}
		}
	}
}
