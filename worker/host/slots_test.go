package host

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/switchyard/switchyard/activities/slots"
)

type usedSlot struct {
	worker.SlotMarkUsedInfo
	permit *worker.SlotPermit
}

func (u usedSlot) Permit() *worker.SlotPermit { return u.permit }

type releasedSlot struct {
	worker.SlotReleaseInfo
	permit *worker.SlotPermit
}

func (r releasedSlot) Permit() *worker.SlotPermit { return r.permit }

// openPolls opens polls until the supplier delays the next one, and returns their permits.
func openPolls(t *testing.T, s *slotsSupplier) (open []*worker.SlotPermit) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		permit, err := s.ReserveSlot(ctx, nil)
		cancel()
		if err != nil {
			return open
		}
		open = append(open, permit)
	}
}

func TestSlotsSupplier_PollsMoreOnlyWhileThereIsABacklog(t *testing.T) {
	tests := map[string]struct {
		pollers int
		waited  time.Duration
		want    int
	}{
		"a task that waited allows all polls":     {5, time.Millisecond, 5},
		"a task after an idle time allows one":    {5, time.Second, 1},
		"the queue of a key never has more polls": {1, time.Millisecond, 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSlotsSupplier(slots.NewWorkerSlots(10), tt.pollers)
				first := openPolls(t, s)
				if len(first) != 1 {
					t.Fatalf("%d polls of an idle queue, want 1", len(first))
				}
				<-time.After(tt.waited)
				s.MarkSlotUsed(usedSlot{permit: first[0]})
				open := openPolls(t, s)
				if len(open) != tt.want {
					t.Errorf("%d polls after a task, want %d", len(open), tt.want)
				}
				for _, permit := range open {
					s.ReleaseSlot(releasedSlot{permit: permit})
				}
				s.ReleaseSlot(releasedSlot{permit: first[0]})
				if open := openPolls(t, s); len(open) != 1 {
					t.Errorf("%d polls after empty ones, want 1", len(open))
				}
				<-s.idleSignal()
			})
		})
	}
}

func TestSlotsSupplier_ReservesNoPollWhenThePermitIsNotGranted(t *testing.T) {
	s := newSlotsSupplier(slots.NewWorkerSlots(1), 5)
	first := openPolls(t, s)
	s.MarkSlotUsed(usedSlot{permit: first[0]})
	if open := openPolls(t, s); len(open) != 0 {
		t.Fatalf("%d polls without a free slot, want 0", len(open))
	}
	s.ReleaseSlot(releasedSlot{permit: first[0]})
	if open := openPolls(t, s); len(open) != 1 {
		t.Errorf("%d polls with one slot, want 1", len(open))
	}
}
