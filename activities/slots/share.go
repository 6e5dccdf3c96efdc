package slots

import (
	"context"
	"slices"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
)

const (
	// shareCheck is the interval at which this process checks for other workers that could serve a
	// lane.
	shareCheck = 4 * time.Second
	// declineFor is how long a worker declines a group that it gave up for others.
	declineFor = 3 * time.Second
)

// shareOut checks whether other workers have arrived while this process has more than its share of
// the lane's groups, and reports whether to give up this group for them. Only workers that polled
// for slots since this holder took over count: the server lists lost workers for minutes.
func (h *slotGroup) shareOut(ctx context.Context, now time.Time) bool {
	if h.request.Lane.Holders < 2 || now.Sub(h.shared) < shareCheck || h.owned.rank(h) == 0 {
		return false // the share of a process is at least one group
	}
	h.shared = now
	pollers, err := h.owned.findPollers(h.queue).list(now, func() ([]*taskqueuepb.PollerInfo,
		error) {
		return h.slotPollers(ctx)
	})
	if err != nil {
		return false // it is asked again
	}
	var workers []string
	for _, p := range pollers {
		if p.GetIdentity() != h.config.Identity && p.GetLastAccessTime().AsTime().After(h.since) {
			workers = append(workers, p.GetIdentity())
		}
	}
	come := slices.ContainsFunc(workers, func(w string) bool {
		return !slices.Contains(h.workers, w)
	})
	h.workers = workers
	part := (h.request.Lane.Holders + len(workers)) / (1 + len(workers))
	return come && h.owned.rank(h) >= part
}

// slotPollers returns the workers that poll for the lane's slots.
func (h *slotGroup) slotPollers(ctx context.Context) ([]*taskqueuepb.PollerInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, h.lease.Patience())
	defer cancel()
	answer, err := h.config.Client.WorkflowService().DescribeTaskQueue(ctx,
		&workflowservice.DescribeTaskQueueRequest{
			Namespace: h.namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
			TaskQueue: &taskqueuepb.TaskQueue{Name: h.queue, Kind: enumspb.TASK_QUEUE_KIND_NORMAL},
		})
	return answer.GetPollers(), err
}

// pollerList is the latest answer to slotPollers, which all groups of a lane in this process share.
type pollerList struct {
	mu      sync.Mutex
	at      time.Time
	pollers []*taskqueuepb.PollerInfo
}

// list returns the latest answer, and asks if it is old.
func (l *pollerList) list(now time.Time,
	ask func() ([]*taskqueuepb.PollerInfo, error)) ([]*taskqueuepb.PollerInfo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.at) < shareCheck/2 {
		return l.pollers, nil
	}
	pollers, err := ask()
	if err == nil {
		l.at, l.pollers = now, pollers
	}
	return pollers, err
}

// findPollers returns the list of the workers that poll a lane's queue of slots.
func (s *ownedSlots) findPollers(queue string) *pollerList {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.pollers[queue]
	if l == nil {
		l = &pollerList{}
		s.pollers[queue] = l
	}
	return l
}

// rank returns how many groups of the same lane this process owns that sort before h.
func (s *ownedSlots) rank(h *slotGroup) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	rank := 0
	for other := range s.all {
		if other.queue == h.queue && other.request.Group < h.request.Group {
			rank++
		}
	}
	return rank
}

// gaveUp records that this process gave up a group for others.
func (s *ownedSlots) gaveUp(h *slotGroup, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given[groupOf{h.queue, h.request.Group}] = now
}

// declines reports whether this process currently leaves a group to others.
func (s *ownedSlots) declines(queue string, group int, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := groupOf{queue, group}
	if now.Sub(s.given[id]) < declineFor {
		return true
	}
	delete(s.given, id)
	return false
}

// groupOf identifies a group of slots by the queue on which it is offered.
type groupOf struct {
	queue string
	group int
}
