package console

import (
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStreams bounds the streams of all browsers, and maxStreamsEach those of one person.
	maxStreams     = 512
	maxStreamsEach = 32
	// aliveEvery is how often a stream without news is written to, so that proxies keep it.
	aliveEvery = 15 * time.Second
)

// streams counts the open streams.
type streams struct {
	mu     sync.Mutex
	all    int
	each   map[string]int
	ended  chan struct{}
	closed bool
}

func newStreams() *streams {
	return &streams{each: map[string]int{}, ended: make(chan struct{})}
}

// enter takes a place for a stream of a person; ok is false if there is none.
func (s *streams) enter(who string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.all >= maxStreams || s.each[who] >= maxStreamsEach {
		return nil, false
	}
	s.all++
	s.each[who]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.each[who]--; s.each[who] == 0 {
			delete(s.each, who)
		}
	}, true
}

func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.ended)
	}
}

// full refuses a stream. The script of the page asks again later.
func (p *page) full(text string) {
	p.w.Header().Set("Retry-After", "10")
	http.Error(p.w, text, http.StatusServiceUnavailable)
}

// stream sends an event at each change until the browser is gone or the console is closed.
func (p *page) stream(changed func() <-chan struct{}) {
	header := p.w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(p.w)
	// The server's deadline for requests would end the stream. Writers of tests have none.
	_ = control.SetReadDeadline(time.Time{})
	send := func(text string) bool {
		_, err := fmt.Fprint(p.w, text)
		return err == nil && control.Flush() == nil
	}
	next := changed()
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for text := "retry: 2000\n\n"; send(text); {
		select {
		case <-next:
			next, text = changed(), "event: changed\ndata: 1\n\n"
		case <-alive.C:
			text = ": alive\n\n"
		case <-p.console.streams.ended:
			return
		case <-p.r.Context().Done():
			return
		}
	}
}

// inboxEvents tells when what waits changes.
func (c *Console) inboxEvents(p *page) {
	leave, ok := c.streams.enter(p.who.Name)
	if !ok {
		p.full("too many pages are open")
		return
	}
	defer leave()
	changed, done := c.inbox.follow()
	defer done()
	p.stream(changed)
}

// runEvents tells when a run changes.
func (c *Console) runEvents(p *page) {
	leave, ok := c.streams.enter(p.who.Name)
	if !ok {
		p.full("too many pages are open")
		return
	}
	defer leave()
	changed, done, ok := c.runs.follow(p.ref(), p.who.Name)
	if !ok {
		p.full("too many runs are followed")
		return
	}
	defer done()
	p.stream(changed)
}
