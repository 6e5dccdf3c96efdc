package concurrency

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/worker"
)

// usedInfo and releaseInfo are the SDK's descriptions of a slot.
type usedInfo struct {
	worker.SlotMarkUsedInfo
	permit *worker.SlotPermit
}

func (i usedInfo) Permit() *worker.SlotPermit { return i.permit }

// fixed returns a slot supplier with that many slots.
func fixed(t *testing.T, size int) worker.SlotSupplier {
	t.Helper()
	s, err := worker.NewFixedSizeSlotSupplier(size)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reserve reserves a slot in the background and returns a function that returns the permit, nil
// while it waits.
func reserve(ctx context.Context, s worker.SlotSupplier) func() *worker.SlotPermit {
	var mu sync.Mutex
	var permit *worker.SlotPermit
	go func() {
		p, err := s.ReserveSlot(ctx, nil)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			permit = p
		}
	}()
	return func() *worker.SlotPermit {
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		return permit
	}
}

// TestLimit_PollsOnlyWhileATaskMayStart states that polls of all queues wait while as many tasks as
// allowed are in flight, and open in the order in which they came.
func TestLimit_PollsOnlyWhileATaskMayStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		a, b, c := l.Supplier(fixed(t, 5)), l.Supplier(fixed(t, 5)), l.Supplier(fixed(t, 5))
		first := reserve(t.Context(), a)()
		a.MarkSlotUsed(usedInfo{permit: first})
		second := reserve(t.Context(), b)
		if second() != nil || b.TryReserveSlot(nil) != nil || l.Excess() {
			t.Error("a second task may start")
		}
		third := reserve(t.Context(), c)
		a.ReleaseSlot(unused{permit: first})
		if second() == nil || third() != nil {
			t.Errorf("after the first task: %v, %v; want the second poll only", second(), third())
		}
		b.MarkSlotUsed(usedInfo{permit: second()})
		b.ReleaseSlot(unused{permit: second()})
		if third() == nil {
			t.Error("the third poll waits although no task is in flight")
		}
		c.ReleaseSlot(unused{permit: third()})
		if p := a.TryReserveSlot(nil); p == nil {
			t.Error("an eager task may not start although no task is in flight")
		}
	})
}

// TestLimit_ReturnsTasksBeyondIt states that a poll without a task gives its permit to another one,
// and that one of the tasks is returned if both get one.
func TestLimit_ReturnsTasksBeyondIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		a, b := l.Supplier(fixed(t, 5)), l.Supplier(fixed(t, 5))
		idle := reserve(t.Context(), a)()
		other := reserve(t.Context(), b)
		if other() != nil {
			t.Fatal("two polls have the one permit")
		}
		<-time.After(probation)
		if other() == nil {
			t.Fatal("a poll without a task keeps its permit")
		}
		b.MarkSlotUsed(usedInfo{permit: other()})
		a.MarkSlotUsed(usedInfo{permit: idle})
		if !l.Excess() || l.Excess() {
			t.Error("not exactly one of two tasks is returned")
		}
		waiting := reserve(t.Context(), a)
		a.ReleaseSlot(unused{permit: idle})
		if waiting() != nil {
			t.Error("a poll is opened while a task is in flight")
		}
		b.ReleaseSlot(unused{permit: other()})
		if waiting() == nil {
			t.Error("no poll is opened although no task is in flight")
		}
	})
}

// TestLimit_ForgetsPollsThatGiveUp states that a poll that ends while it waits takes no permit.
func TestLimit_ForgetsPollsThatGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1)
		inner := fixed(t, 1)
		s := l.Supplier(fixed(t, 1))
		first := reserve(t.Context(), s)()
		ctx, cancel := context.WithCancel(t.Context())
		limited := l.Supplier(inner)
		ended := make(chan error)
		go func() {
			_, err := limited.ReserveSlot(ctx, nil)
			ended <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		s.ReleaseSlot(unused{permit: first})
		if p := inner.TryReserveSlot(nil); p == nil {
			t.Error("the slot of the poll that gave up is not free")
		}
		if l.used != 0 || len(l.waiting) != 0 {
			t.Errorf("%d permits are used, %d polls wait", l.used, len(l.waiting))
		}
	})
}

// TestNew_LimitsNothingForZero states the default.
func TestNew_LimitsNothingForZero(t *testing.T) {
	l, inner := New(0), fixed(t, 1)
	if l.Supplier(inner) != inner || l.Excess() {
		t.Error("no limit changes the slots")
	}
}
