package folder

import (
	"sync"
	"time"
)

// CatalogEventType is the type of a catalog event.
type CatalogEventType string

const (
	// ToolLoaded is a tool that was there when the subscriber came.
	ToolLoaded CatalogEventType = "tool_loaded"
	// ToolAdded, ToolUpdated and ToolRemoved are changes of a reload.
	ToolAdded   CatalogEventType = "tool_added"
	ToolUpdated CatalogEventType = "tool_updated"
	ToolRemoved CatalogEventType = "tool_removed"
	// ReloadStarted and ReloadCompleted enclose the events of a reload. A check without changes is
	// not a reload.
	ReloadStarted   CatalogEventType = "reload_started"
	ReloadCompleted CatalogEventType = "reload_completed"
	// LoadError is an invalid file or folder, whose previous content stays in effect. It is sent
	// once per fault.
	LoadError CatalogEventType = "load_error"
)

// CatalogEventTypes are all types of catalog events.
var CatalogEventTypes = []CatalogEventType{ToolLoaded, ToolAdded, ToolUpdated, ToolRemoved,
	ReloadStarted, ReloadCompleted, LoadError}

// CatalogEvent is something that happened to a watched catalog. Which fields are set depends on the
// type.
type CatalogEvent struct {
	Type CatalogEventType
	Time time.Time
	// Tool, Version and Digest are set for events about tools: the current tool, or the removed
	// one.
	Tool, Version, Digest string
	// OldVersion and OldDigest are the replaced ones, for tool_updated.
	OldVersion, OldDigest string
	// File is the file that declares the tool, empty for one that the program brings itself; for
	// load_error it is the file or folder that is wrong.
	File string
	// Error is for load_error, nearly always Faults.
	Error error
	// Tools is how many tools there are, Faulty how many files are not in effect as they are
	// written, and Took how long the reload took; for reload_completed.
	Tools, Faulty int
	Took          time.Duration
	// Missed is how many events the subscriber has not got before this one, because it took too
	// long over earlier ones.
	Missed int
}

// maxQueued is how many events wait for a slow subscriber, beside those it gets at first.
const maxQueued = 10_000

// subscriber hands events to a function, one at a time and in order, however long that takes.
type subscriber struct {
	handle func(CatalogEvent)
	limit  int
	wake   chan struct{}

	mu    sync.Mutex
	queue []CatalogEvent
	ended bool
}

// newSubscriber returns a subscriber that first gets the given events.
func newSubscriber(handle func(CatalogEvent), first []CatalogEvent) *subscriber {
	s := &subscriber{handle: handle, limit: len(first) + maxQueued, queue: first,
		wake: make(chan struct{}, 1)}
	go s.deliver()
	return s
}

// send queues an event for the subscriber and never blocks. If the queue is full, the event
// replaces the last one and counts the missing events, so that the subscriber learns of the loss
// and of the latest event.
func (s *subscriber) send(e CatalogEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	if last := len(s.queue) - 1; len(s.queue) >= s.limit {
		e.Missed = s.queue[last].Missed + 1
		s.queue[last] = e
		return
	}
	s.queue = append(s.queue, e)
	s.poke()
}

func (s *subscriber) poke() {
	select {
	case s.wake <- struct{}{}:
	default: // it has been woken already
	}
}

// end ends the subscription. What still waits is delivered first, or dropped.
func (s *subscriber) end(deliver bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	if !deliver {
		s.queue = nil
	}
	s.poke()
}

func (s *subscriber) deliver() {
	for {
		e, some, ended := s.next()
		switch {
		case some:
			s.handle(e)
		case ended:
			return
		default:
			<-s.wake
		}
	}
}

func (s *subscriber) next() (e CatalogEvent, some, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return CatalogEvent{}, false, s.ended
	}
	e = s.queue[0]
	s.queue = s.queue[1:]
	return e, true, s.ended
}
