// Package concurrency limits how many calls a worker runs at once, over all its lanes.
package concurrency

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/worker"
)

// probation is how long a poll keeps a permit. A poll of a queue with waiting tasks gets one at
// once. A poll without a task gives its permit to another queue and stays open.
const probation = 200 * time.Millisecond

// Limit issues permits for tasks, at most size at a time, in the order of the requests. A poll
// needs a permit to be opened, so that tasks wait at the server while all permits are in use, where
// other workers can take them. A poll that has lost its permit on probation may still get a task,
// which is then one too many: Excess reports that it must be returned to the server.
type Limit struct {
	size int

	mu sync.Mutex
	// used counts the permits: polls on probation and tasks in flight.
	used int
	// leaving counts the tasks that are being returned. They are still in flight, but not used.
	leaving int
	waiting []chan struct{}
}

// New returns a limit of size permits; nil, which limits nothing, for zero.
func New(size int) *Limit {
	if size <= 0 {
		return nil
	}
	return &Limit{size: size}
}

// Excess reports whether more tasks are in flight than the limit allows, so that the calling task
// must be returned. It is called once for each task, before it starts.
func (l *Limit) Excess() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.used <= l.size {
		return false
	}
	l.used--
	l.leaving++
	return true
}

// Supplier returns a slot supplier that takes its slots from inner and a permit for each.
func (l *Limit) Supplier(inner worker.SlotSupplier) worker.SlotSupplier {
	if l == nil {
		return inner
	}
	return &supplier{SlotSupplier: inner, limit: l, slots: map[*worker.SlotPermit]*slot{}}
}

// acquire waits for a permit. It returns the error of ctx.
func (l *Limit) acquire(ctx context.Context) error {
	l.mu.Lock()
	if l.used < l.size && len(l.waiting) == 0 {
		l.used++
		l.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	l.waiting = append(l.waiting, turn)
	l.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.waiting, turn); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.release()
	}
	return ctx.Err()
}

// release returns a permit and gives it to the next poll. The caller holds mu.
func (l *Limit) release() {
	l.used--
	for l.used < l.size && len(l.waiting) > 0 {
		l.used++
		close(l.waiting[0])
		l.waiting = l.waiting[1:]
	}
}

// slot is the state of a slot, guarded by Limit.mu.
type slot struct {
	// permitted means that the slot has a permit, used that it has a task.
	permitted, used bool
	timer           *time.Timer
}

// supplier is the worker.SlotSupplier of one task queue.
type supplier struct {
	worker.SlotSupplier
	limit *Limit
	// slots is guarded by limit.mu.
	slots map[*worker.SlotPermit]*slot
}

// ReserveSlot implements worker.SlotSupplier.
func (s *supplier) ReserveSlot(ctx context.Context,
	info worker.SlotReservationInfo) (*worker.SlotPermit, error) {
	permit, err := s.SlotSupplier.ReserveSlot(ctx, info)
	if err != nil {
		return nil, err
	}
	if err := s.limit.acquire(ctx); err != nil {
		s.SlotSupplier.ReleaseSlot(unused{permit: permit})
		return nil, err
	}
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	one := &slot{permitted: true}
	one.timer = time.AfterFunc(probation, func() { s.endProbation(one) })
	s.slots[permit] = one
	return permit, nil
}

// endProbation takes the permit of a poll without a task.
func (s *supplier) endProbation(one *slot) {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	if one.permitted && !one.used {
		one.permitted = false
		s.limit.release()
	}
}

// TryReserveSlot implements worker.SlotSupplier, for a task that arrives without a poll.
func (s *supplier) TryReserveSlot(info worker.SlotReservationInfo) *worker.SlotPermit {
	s.limit.mu.Lock()
	defer s.limit.mu.Unlock()
	if s.limit.used >= s.limit.size {
		return nil
	}
	permit := s.SlotSupplier.TryReserveSlot(info)
	if permit != nil {
		s.limit.used++
		s.slots[permit] = &slot{permitted: true, timer: time.NewTimer(0)}
	}
	return permit
}

// MarkSlotUsed implements worker.SlotSupplier.
func (s *supplier) MarkSlotUsed(info worker.SlotMarkUsedInfo) {
	s.limit.mu.Lock()
	if one := s.slots[info.Permit()]; one != nil {
		one.timer.Stop()
		if !one.permitted {
			s.limit.used++
		}
		one.permitted, one.used = true, true
	}
	s.limit.mu.Unlock()
	s.SlotSupplier.MarkSlotUsed(info)
}

// ReleaseSlot implements worker.SlotSupplier.
func (s *supplier) ReleaseSlot(info worker.SlotReleaseInfo) {
	s.limit.mu.Lock()
	if one := s.slots[info.Permit()]; one != nil {
		delete(s.slots, info.Permit())
		one.timer.Stop()
		switch {
		case one.used && s.limit.leaving > 0:
			s.limit.leaving--
		case one.permitted:
			one.permitted = false
			s.limit.release()
		}
	}
	s.limit.mu.Unlock()
	s.SlotSupplier.ReleaseSlot(info)
}

// unused is the worker.SlotReleaseInfo of a slot whose poll was never opened. It has only the
// permit, because the type of Reason has no exported name.
type unused struct {
	worker.SlotReleaseInfo
	permit *worker.SlotPermit
}

// Permit implements worker.SlotReleaseInfo.
func (u unused) Permit() *worker.SlotPermit { return u.permit }
