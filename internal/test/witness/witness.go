// Package witness counts the calls that run at a time, outside of the system under test. Tools
// report the start and the end of their calls to a witness. The witness is one process with one
// clock, so it can decide whether a lane ever ran more calls than its limit.
package witness

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Visit is what a tool reports when its call starts.
type Visit struct {
	Tool string `json:"tool"`
	// Lane is the lane with the key's part, as the tool received it.
	Lane    string `json:"lane"`
	Fence   int64  `json:"fence,omitempty"`
	Run     string `json:"run"`
	Call    string `json:"call"`
	Attempt int    `json:"attempt"`
	PID     int    `json:"pid"`
	// Gate names the gate at which the call waits; empty for none.
	Gate string `json:"gate,omitempty"`
}

// Ending is how a call's execution ended.
type Ending string

const (
	// Running has not ended.
	Running Ending = ""
	// Done completed.
	Done Ending = "done"
	// Stopped ended because its context was over.
	Stopped Ending = "stopped"
	// Vanished ended without a report: its process ended.
	Vanished Ending = "vanished"
)

// Span is one execution of a call. All times are on the witness's clock.
type Span struct {
	Visit
	Began time.Duration
	// Ended is zero while the execution runs.
	Ended  time.Duration
	Ending Ending
	// Over is when the tool noticed that its context is over; zero if it did not.
	Over time.Duration
	// Written and Refused count the writes that the witness accepted, and those it refused for
	// their fencing number.
	Written, Refused int
}

// Key names the call that was executed: run and call.
func (s Span) Key() string { return s.Run + "/" + s.Call }

// Witness receives the reports of tools.
type Witness struct {
	listener net.Listener
	Began    time.Time

	mu      sync.Mutex
	last    time.Duration
	spans   []*Span
	fences  map[string]int64
	open    map[string]bool
	waiting map[string][]net.Conn
	changed chan struct{}
}

// listen returns a witness that tools reach at its Address. Close ends it.
func listen() (*Witness, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	w := &Witness{listener: listener, Began: time.Now(), fences: map[string]int64{},
		open:    map[string]bool{},
		waiting: map[string][]net.Conn{}, changed: make(chan struct{})}
	go w.accept()
	return w, nil
}

// Start returns a witness that ends with the test.
func Start(t testing.TB) *Witness {
	t.Helper()
	w, err := listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Await waits until the spans fulfil a condition, and returns them.
func (w *Witness) Await(ctx context.Context, t testing.TB, what string,
	condition func([]Span) bool) []Span {
	t.Helper()
	for {
		spans, changed := w.Spans()
		if condition(spans) {
			return spans
		}
		select {
		case <-ctx.Done():
			t.Fatalf("timed out waiting %s; the witness saw\n%s", what,
				List(spans[max(0, len(spans)-30):]))
		case <-changed:
		}
	}
}

// Address returns host:port.
func (w *Witness) Address() string { return w.listener.Addr().String() }

// Close stops receiving.
func (w *Witness) Close() error { return w.listener.Close() }

// Now returns the time on the witness's clock.
func (w *Witness) Now() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.tick()
}

// tick returns the time; no two calls return the same, so that the order of events is never lost.
func (w *Witness) tick() time.Duration {
	w.last = max(w.last+1, time.Since(w.Began))
	return w.last
}

// Spans returns the spans so far, in the order of their start, and a channel that closes when there
// are more.
func (w *Witness) Spans() ([]Span, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	spans := make([]Span, len(w.spans))
	for i, s := range w.spans {
		spans[i] = *s
	}
	return spans, w.changed
}

// Open lets calls pass a gate: those that wait and all later ones.
func (w *Witness) Open(gate string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open[gate] = true
	for _, conn := range w.waiting[gate] {
		send(conn, wordGo)
	}
	delete(w.waiting, gate)
}

// change runs a function under the lock and notifies the waiting readers.
func (w *Witness) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Witness) accept() {
	for {
		conn, err := w.listener.Accept()
		if err != nil {
			return
		}
		go w.hear(conn)
	}
}

// hear serves one tool: an open connection is a running call.
func (w *Witness) hear(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	lines := bufio.NewReader(conn)
	line, err := lines.ReadBytes('\n')
	var v Visit
	if err != nil || json.Unmarshal(line, &v) != nil {
		return
	}
	s := w.begin(v, conn)
	for s.Ending == Running {
		word, err := lines.ReadString('\n')
		w.record(s, conn, strings.TrimSpace(word), err)
	}
}

func (w *Witness) begin(v Visit, conn net.Conn) *Span {
	s := &Span{Visit: v}
	w.change(func() {
		s.Began = w.tick()
		w.spans = append(w.spans, s)
		send(conn, wordStarted)
		switch {
		case v.Gate == "":
		case w.open[v.Gate]:
			send(conn, wordGo)
		default:
			w.waiting[v.Gate] = append(w.waiting[v.Gate], conn)
		}
	})
	return s
}

// record records what a tool sent; err means that its connection closed without a report.
func (w *Witness) record(s *Span, conn net.Conn, word string, err error) {
	w.change(func() {
		at := w.tick()
		switch {
		case err != nil:
			w.end(s, conn, Vanished, at)
		case word == wordDone:
			w.end(s, conn, Done, at)
		case word == wordStopped:
			w.end(s, conn, Stopped, at)
		case word == wordOver && s.Over == 0:
			s.Over = at
		case word == wordWrite:
			w.write(s, conn)
		}
	})
}

func (w *Witness) end(s *Span, conn net.Conn, ending Ending, at time.Duration) {
	s.Ending, s.Ended = ending, at
	w.waiting[s.Gate] = slices.DeleteFunc(w.waiting[s.Gate],
		func(c net.Conn) bool { return c == conn })
	send(conn, wordNoted)
}

// write is the resource that lanes protect: it refuses writers with a lower fencing number than the
// highest so far.
func (w *Witness) write(s *Span, conn net.Conn) {
	if s.Fence < w.fences[s.Lane] {
		s.Refused++
		send(conn, wordRefused)
		return
	}
	w.fences[s.Lane] = s.Fence
	s.Written++
	send(conn, wordAccepted)
}

// The words that witness and tools exchange, one per line, after the tool's Visit.
const (
	wordStarted  = "started"
	wordGo       = "go"
	wordOver     = "over"
	wordDone     = "done"
	wordStopped  = "stopped"
	wordNoted    = "noted"
	wordWrite    = "write"
	wordAccepted = "accepted"
	wordRefused  = "refused"
)

// send writes a line; a tool that is gone need not receive it.
func send(w io.Writer, word string) { _, _ = fmt.Fprintln(w, word) }
