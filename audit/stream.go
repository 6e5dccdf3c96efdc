package audit

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

const (
	// streamPace is the time between two looks at the runs. A look that takes long is followed by a
	// pause of streamRest times its duration, at most streamMaxPause.
	streamPace     = time.Second
	streamRest     = 4
	streamMaxPause = 30 * time.Second
	// streamOverlap is the longest time after which the server lists a run that has ended, plus the
	// difference of the clocks.
	streamOverlap = 2 * time.Minute
	// streamKeep is the time between two batches without entries.
	streamKeep = 10 * time.Second
	// streamReaders bounds the runs that are read at a time.
	streamReaders = 8
	// batchEntries and batchBytes bound a batch, and batchAge the time that an entry waits for
	// others. The size is estimated.
	batchEntries = 500
	batchBytes   = 8 << 20
	batchAge     = time.Second
)

// StreamEntry is one entry of the stream of all runs of a namespace. One of Record, Run and Gap is
// set.
type StreamEntry struct {
	// Key is the same each time that the entry is read, and no other entry has it.
	Key string `json:"key"`
	// Record is the record of a call that has ended.
	Record *api.Record `json:"call,omitempty"`
	// Run is the summary of a run that has ended.
	Run *history.Summary `json:"run,omitempty"`
	// Gap says what the stream may lack.
	Gap *StreamGap `json:"gap,omitempty"`
}

// StreamGap is a part of the stream that could not be read: a run, or the runs that ended in a
// period.
type StreamGap struct {
	WorkflowID string    `json:"workflow_id,omitempty"`
	RunID      string    `json:"run_id,omitempty"`
	From       time.Time `json:"from,omitzero"`
	To         time.Time `json:"to,omitzero"`
	Reason     string    `json:"reason"`
}

// StreamBatch is a number of entries, and the position after them. A reader that stores both in one
// transaction has each entry once. The batch may have no entries.
type StreamBatch struct {
	Entries  []StreamEntry
	Position StreamPosition
}

// StreamPosition says which entries a reader has seen. It is plain data: stored as JSON, it lets
// another process resume. Its size grows with the number of open runs.
type StreamPosition struct {
	// Closed is the time before which all runs that have ended are read. In the position of a new
	// reader it selects the runs that end afterwards; zero for all that the server has.
	Closed time.Time `json:"closed,omitzero"`
	// Missed is the end of the last period that was reported as a gap.
	Missed time.Time `json:"missed,omitzero"`
	// Open has what is read of open runs, by their first executions.
	Open map[string]streamProgress `json:"open,omitempty"`
	// Ended are the last executions of runs that are read although they ended after Closed.
	Ended map[string]time.Time `json:"ended,omitempty"`
}

// streamProgress is how far a run is read: Event is the last event with an entry in the execution
// Part. Later events may be provisional, so it is not the last event that was read.
type streamProgress struct {
	WorkflowID string `json:"workflow_id"`
	Part       string `json:"part"`
	Event      int64  `json:"event,omitempty"`
	// length is the number of events that Part had before it was read; zero if it is unknown.
	length int64
	// Unread is set if the run cannot be decoded and a gap says so.
	Unread bool `json:"unread,omitempty"`
}

// FollowAll yields the records of the calls and the summaries of all runs of a namespace after a
// position, each when the call or the run has ended, and waits for more until ctx ends. Runs of
// sub-agents are included. The entries of a run are in order, those of different runs are not. A
// call is yielded about a second after its end. In a run with a long history, or in which nothing
// happened for minutes, it can take up to 30 seconds.
//
// An error comes last: that of ctx or of the server. Runs that are deleted or cannot be decoded are
// no error but a gap.
func FollowAll(ctx context.Context, c client.Client, namespace string,
	after StreamPosition) iter.Seq2[StreamBatch, error] {
	return followAll(ctx, c, namespace, after, batchEntries)
}

// followAll is FollowAll with batches of about so many entries.
func followAll(ctx context.Context, c client.Client, namespace string, after StreamPosition,
	entries int) iter.Seq2[StreamBatch, error] {
	return func(yield func(StreamBatch, error) bool) {
		s := &stream{client: c, namespace: namespace, yield: yield, at: after.clone(),
			span: time.Hour, polls: map[string]*streamPoll{}, given: time.Now(), limit: entries}
		if err := s.follow(ctx); err != nil && !errors.Is(err, errStreamStopped) {
			yield(StreamBatch{}, err)
		}
	}
}

// clone returns a copy whose maps are not nil.
func (p StreamPosition) clone() StreamPosition {
	open, ended := maps.Clone(p.Open), maps.Clone(p.Ended)
	if open == nil {
		open = map[string]streamProgress{}
	}
	if ended == nil {
		ended = map[string]time.Time{}
	}
	return StreamPosition{Closed: p.Closed, Missed: p.Missed, Open: open, Ended: ended}
}

// errStreamStopped says that the reader wants no more.
var errStreamStopped = errors.New("the reader stopped")

// stream follows all runs for one reader.
type stream struct {
	client    client.Client
	namespace string
	yield     func(StreamBatch, error) bool
	// retention is how long the server keeps runs that have ended; zero if it is unknown.
	retention time.Duration
	// listed is when the open runs were last listed. span is the period of ended runs to list.
	listed time.Time
	span   time.Duration
	polls  map[string]*streamPoll

	mu sync.Mutex // guards at.Open, which readers look up
	at StreamPosition
	// limit is the number of entries of a full batch.
	limit int
	// batch has entries that are not yielded yet, size their estimated size, since when the first
	// arrived, and given when the last batch was yielded.
	batch []StreamEntry
	size  int
	since time.Time
	given time.Time
}

// streamPoll is when an open run last had news, and when it is read again.
type streamPoll struct{ news, next time.Time }

// follow looks at the runs until ctx ends or the reader stops.
func (s *stream) follow(ctx context.Context) error {
	if err := s.begin(ctx, time.Now()); err != nil {
		return err
	}
	for {
		started := time.Now()
		behind, err := s.look(ctx, started)
		if err != nil {
			return err
		}
		if err := s.flush(); err != nil {
			return err
		}
		if behind {
			continue
		}
		rest := min(max(streamPace, streamRest*time.Since(started)), streamMaxPause)
		select {
		case <-time.After(rest):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// look reads what is new. behind is set if more runs that have ended wait to be read.
func (s *stream) look(ctx context.Context, now time.Time) (behind bool, err error) {
	if err := s.readAll(ctx, s.listDue(now)); err != nil {
		return false, err
	}
	open, err := s.listOpen(ctx)
	if err != nil {
		return false, err
	}
	if err := s.readAll(ctx, open); err != nil {
		return false, err
	}
	s.listed = now
	if until := now.Add(-streamOverlap); s.at.Closed.Before(until) {
		if behind, err = s.readPeriod(ctx, until); behind || err != nil {
			return behind, err
		}
	}
	ended, err := s.listNews(ctx)
	if err != nil {
		return false, err
	}
	return false, s.readAll(ctx, ended)
}

// readAll reads runs, several at a time.
func (s *stream) readAll(ctx context.Context, tasks []streamTask) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	arrivals, waiting := make(chan streamArrival), make(chan streamTask)
	var all sync.WaitGroup
	for range min(streamReaders, len(tasks)) {
		all.Go(func() {
			for t := range waiting {
				r := &streamReader{client: s.client, task: t, known: s.findProgress,
					arrivals: arrivals}
				r.read(reading)
			}
		})
	}
	go func() {
		feed(reading, tasks, waiting)
		all.Wait()
		close(arrivals)
	}()
	var failed error
	for a := range arrivals {
		if failed == nil {
			if failed = s.take(a); failed != nil {
				stop()
			}
		}
	}
	if failed == nil {
		failed = ctx.Err()
	}
	return failed
}

// feed sends runs to those who read them, until ctx ends.
func feed(ctx context.Context, tasks []streamTask, waiting chan<- streamTask) {
	defer close(waiting)
	for _, t := range tasks {
		select {
		case waiting <- t:
		case <-ctx.Done():
			return
		}
	}
}

// findProgress returns how far a run is read. first is its first execution.
func (s *stream) findProgress(first string) (streamProgress, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, known := s.at.Open[first]
	return p, known
}

// take takes what a reader tells.
func (s *stream) take(a streamArrival) error {
	if a.err != nil {
		return a.err
	}
	if len(s.batch) == 0 {
		s.since = time.Now()
	}
	for _, e := range a.entries {
		s.batch, s.size = append(s.batch, e), s.size+estimateSize(e)
	}
	s.mark(a, time.Now())
	if len(s.batch) >= s.limit || s.size >= batchBytes ||
		len(s.batch) > 0 && time.Since(s.since) >= batchAge {
		return s.flush()
	}
	return nil
}

// mark notes how far a run is read.
func (s *stream) mark(a streamArrival, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.ended {
		delete(s.at.Open, a.first)
		delete(s.polls, a.first)
		for _, execution := range []string{a.last, a.listed} {
			if execution != "" {
				s.at.Ended[execution] = a.closed
			}
		}
		return
	}
	p := s.polls[a.first]
	if p == nil {
		p = &streamPoll{news: now}
		s.polls[a.first] = p
	}
	if s.at.Open[a.first] != a.at {
		s.at.Open[a.first], p.news = a.at, now
	}
	p.next = now.Add(min(streamMaxPause, max(now.Sub(p.news)/10, 20*a.took)))
}

// flush yields the batch. It yields a batch without entries if the last one is a while ago.
func (s *stream) flush() error {
	if len(s.batch) == 0 && time.Since(s.given) < streamKeep {
		return nil
	}
	batch := StreamBatch{Entries: s.batch, Position: s.at.clone()}
	s.batch, s.size, s.given = nil, 0, time.Now()
	if !s.yield(batch, nil) {
		return errStreamStopped
	}
	return nil
}

// estimateSize estimates the size of an entry.
func estimateSize(e StreamEntry) int {
	size := 1000
	switch {
	case e.Record != nil:
		size += len(e.Record.Arguments)
		if r := e.Record.Result; r != nil {
			size += len(r.Output)
		}
	case e.Run != nil && e.Run.Result != nil:
		size += len(e.Run.Prompt) + len(e.Run.Result.Answer) + len(e.Run.Result.Output)
	}
	return size
}
