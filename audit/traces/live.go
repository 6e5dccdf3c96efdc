package traces

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	tracepb "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/proto"
)

// Limits of a Live. What exceeds them waits or is dropped; runs never wait for it.
const (
	// followed bounds the runs that are followed at a time, waiting the runs that wait for it.
	followed = 64
	waiting  = 10_000
	// queued bounds the spans that wait to be sent, and queuedBytes their size: a span with content
	// may have a megabyte.
	queued      = 20_000
	queuedBytes = 64 << 20
	// idle is the time without an event after which a run is parked if another run waits.
	idle = time.Minute
	// sendPace is how long spans wait for others to be sent together. sendPatience bounds the
	// attempts to send a batch, and lastPatience those for the remaining spans when the process
	// ends.
	sendPace     = time.Second
	sendPatience = 30 * time.Second
	lastPatience = 3 * time.Second
)

// Live follows runs by their histories and sends their spans as they end. It is independent of the
// execution of the runs and receives only their IDs.
type Live struct {
	client   client.Client
	endpoint *Endpoint
	options  Options
	logger   *slog.Logger
	runs     chan audit.Position
	spans    chan *tracepb.Span
	// bytes is the size of the spans that wait to be sent.
	bytes atomic.Int64
	mu    sync.Mutex
	// seen are the runs that are followed, that wait, or that were followed recently.
	seen map[string]bool
	past []string
	sent atomic.Int64
	// dropped counts the spans that were not sent. away is set after that was logged.
	dropped atomic.Int64
	away    atomic.Bool
}

// NewLive returns a Live that sends to an endpoint once it runs.
func NewLive(c client.Client, endpoint *Endpoint, o Options, logger *slog.Logger) *Live {
	return &Live{
		client:   c,
		endpoint: endpoint,
		options:  o,
		logger:   logger,
		runs:     make(chan audit.Position, waiting),
		spans:    make(chan *tracepb.Span, queued),
		seen:     map[string]bool{},
	}
}

// Counts returns the number of sent and of dropped spans.
func (l *Live) Counts() (sent, dropped int64) { return l.sent.Load(), l.dropped.Load() }

// Saw reports a run in progress. run is the first execution of its chain. Saw returns at once, and
// ignores known runs.
func (l *Live) Saw(workflowID, run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[run] {
		return
	}
	select {
	case l.runs <- audit.Position{WorkflowID: workflowID, Run: run}:
		l.seen[run] = true
	default: // the next execution or worker reports the run again
	}
}

// forget bounds the finished runs in seen. They stay known for a while because queries make their
// worker report them again.
func (l *Live) forget(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.past = append(l.past, run); len(l.past) > waiting {
		delete(l.seen, l.past[0])
		l.past = l.past[1:]
	}
}

// Run follows and sends until ctx ends, and then sends the remaining spans.
func (l *Live) Run(ctx context.Context) {
	var all sync.WaitGroup
	for range followed {
		all.Go(func() {
			for {
				select {
				case at := <-l.runs:
					l.follow(ctx, at)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	sending := make(chan struct{})
	go func() {
		defer close(sending)
		l.send(ctx)
	}()
	all.Wait()
	close(l.spans)
	<-sending
}

// errParked ends the following of a run for another one that waits.
var errParked = errors.New("another run waits to be followed")

// follow yields the spans of a run from a position to its end.
func (l *Live) follow(ctx context.Context, at audit.Position) {
	events := audit.Subscribe(l.client, at)
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := l.followOnce(ctx, events)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errParked) && l.later(events.Position()):
			return
		case err == nil,
			errors.Is(err, audit.ErrNotFound),
			errors.Is(err, history.ErrNotARun),
			errors.Is(err, history.ErrUnreadable):
			if err != nil {
				l.logger.Warn(
					"the traces of a run end early",
					"workflow_id",
					at.WorkflowID,
					"error",
					err,
				)
			}
			l.forget(at.Run)
			return
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// later appends a run to those that wait, and reports false if there are too many.
func (l *Live) later(at audit.Position) bool {
	select {
	case l.runs <- at:
		return true
	default:
		return false
	}
}

func (l *Live) followOnce(ctx context.Context, events *audit.Subscription) error {
	following, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var last atomic.Int64
	go l.park(following, cancel, &last)
	var place *tree
	for e, err := range events.Events(following) {
		if err != nil {
			return errors.Join(context.Cause(following), err)
		}
		last.Store(time.Now().UnixNano())
		if place == nil {
			s := events.Summary()
			root, err := audit.Root(following, l.client, s)
			if err != nil {
				return err
			}
			place = newTree(s, root, l.options)
		}
		if ends(e) {
			l.queue(place.of(e, events.Summary()))
		}
	}
	return nil
}

// park ends the following of a run without events since last if other runs wait.
func (l *Live) park(ctx context.Context, end context.CancelCauseFunc, last *atomic.Int64) {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if len(l.runs) > 0 && time.Since(time.Unix(0, last.Load())) >= idle {
				end(errParked)
			}
		case <-ctx.Done():
			return
		}
	}
}

// queue queues a span to be sent, or drops it.
func (l *Live) queue(span *tracepb.Span) {
	size := int64(proto.Size(span))
	if l.bytes.Add(size) <= queuedBytes {
		select {
		case l.spans <- span:
			return
		default:
		}
	}
	l.bytes.Add(-size)
	l.drop(1, errors.New("too many spans are waiting to be sent"))
}

// drop counts spans that are not sent, and logs the first until some are sent again.
func (l *Live) drop(n int, err error) {
	l.dropped.Add(int64(n))
	if !l.away.Swap(true) {
		l.logger.Warn(
			"spans are dropped because they cannot be sent; send them later with starter traces",
			"endpoint",
			l.endpoint.Address(),
			"error",
			err,
		)
	}
}

// send sends queued spans until the queue is closed.
func (l *Live) send(ctx context.Context) {
	var batch Batch
	tick := time.NewTicker(sendPace)
	defer tick.Stop()
	trying, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(lastPatience, stop) })()
	for {
		select {
		case span, open := <-l.spans:
			if !open {
				l.sendBatch(ctx, trying, batch.Take())
				return
			}
			l.bytes.Add(-int64(proto.Size(span)))
			l.sendBatch(ctx, trying, batch.Add(span))
		case <-tick.C:
			l.sendBatch(ctx, trying, batch.Take())
		}
	}
}

// sendBatch sends a batch with retries until trying ends, a little after ctx.
func (l *Live) sendBatch(ctx, trying context.Context, spans []*tracepb.Span) {
	switch {
	case len(spans) == 0:
		return
	case ctx.Err() != nil && l.away.Load():
		l.drop(len(spans), ctx.Err())
		return
	}
	sending, cancel := context.WithTimeout(trying, sendPatience)
	defer cancel()
	refused, why, err := l.endpoint.SendAgain(sending, spans)
	if err != nil {
		l.drop(len(spans), err)
		return
	}
	l.away.Store(false)
	l.sent.Add(int64(len(spans) - refused))
	if refused > 0 {
		l.drop(refused, errors.New("the endpoint rejected spans: "+why))
	}
}
