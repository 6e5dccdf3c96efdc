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

// How much a Live takes on. What is more waits or is dropped: no run ever waits for it.
const (
	// followed is how many runs are followed at a time, waiting how many wait to be.
	followed = 64
	waiting  = 10_000
	// queued is how many spans wait to be sent, queuedBytes how many bytes they have at most: with content one may have a megabyte.
	queued      = 20_000
	queuedBytes = 64 << 20
	// idle is after how long without an event a run makes room for one that waits.
	idle = time.Minute
	// sendPace is how long spans wait for others, to be sent together, sendPatience how long they are tried to be sent, and lastPatience
	// how long all that are left when the process ends.
	sendPace     = time.Second
	sendPatience = 30 * time.Second
	lastPatience = 3 * time.Second
)

// Live follows runs by their histories and sends the spans as they end. It stands beside what executes the runs, and takes
// nothing from it but their ids.
type Live struct {
	client   client.Client
	endpoint *Endpoint
	options  Options
	logger   *slog.Logger
	runs     chan audit.Position
	spans    chan *tracepb.Span
	// bytes are those of the spans that wait to be sent.
	bytes atomic.Int64
	mu    sync.Mutex
	// seen are the runs that are followed or wait to be, and the last ones that were.
	seen map[string]bool
	past []string
	sent atomic.Int64
	// dropped counts spans that were not sent, and away says that this was told of.
	dropped atomic.Int64
	away    atomic.Bool
}

// NewLive returns a Live that sends to an endpoint once it runs.
func NewLive(c client.Client, endpoint *Endpoint, o Options, logger *slog.Logger) *Live {
	return &Live{client: c, endpoint: endpoint, options: o, logger: logger, runs: make(chan audit.Position, waiting), spans: make(chan *tracepb.Span, queued),
		seen: map[string]bool{}}
}

// Counts returns how many spans were sent and how many dropped.
func (l *Live) Counts() (sent, dropped int64) { return l.sent.Load(), l.dropped.Load() }

// Saw says that a run is under way; run is the first execution of its chain. It returns at once, and does nothing for a run that
// is known.
func (l *Live) Saw(workflowID, run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[run] {
		return
	}
	select {
	case l.runs <- audit.Position{WorkflowID: workflowID, Run: run}:
		l.seen[run] = true
	default: // the run is seen again with its next execution or worker
	}
}

// forget keeps a run that is over as known for as long as there are not too many: queries have its worker see it again.
func (l *Live) forget(run string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.past = append(l.past, run); len(l.past) > waiting {
		delete(l.seen, l.past[0])
		l.past = l.past[1:]
	}
}

// Run follows and sends until ctx ends, and then sends what is there.
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

// errRoom ends the following of a run that makes room for another.
var errRoom = errors.New("another run waits to be followed")

// follow gives the spans of a run from a position on to its end.
func (l *Live) follow(ctx context.Context, at audit.Position) {
	events := audit.Subscribe(l.client, at)
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := l.followOnce(ctx, events)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, errRoom) && l.later(events.Position()):
			return
		case err == nil, errors.Is(err, audit.ErrNotFound), errors.Is(err, history.ErrNotARun), errors.Is(err, history.ErrUnreadable):
			if err != nil {
				l.logger.Warn("the traces of a run end early", "workflow_id", at.WorkflowID, "error", err)
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

// later puts a run behind those that wait; false where there is no room.
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
	go l.makeRoom(following, cancel, &last)
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

// makeRoom ends the following of a run that has been quiet since last, where others wait.
func (l *Live) makeRoom(ctx context.Context, end context.CancelCauseFunc, last *atomic.Int64) {
	tick := time.NewTicker(idle)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if len(l.runs) > 0 && time.Since(time.Unix(0, last.Load())) >= idle {
				end(errRoom)
			}
		case <-ctx.Done():
			return
		}
	}
}

// queue has a span sent, or drops it.
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
	l.drop(1, errors.New("too many spans wait to be sent"))
}

// drop counts spans that are not sent, and says so once until some are sent again.
func (l *Live) drop(n int, err error) {
	l.dropped.Add(int64(n))
	if !l.away.Swap(true) {
		l.logger.Warn("traces are not sent, and dropped; runs are not affected, and starter traces sends them later", "endpoint", l.endpoint.Address(), "error", err)
	}
}

// send sends what is queued until the queue is closed.
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

// sendBatch tries for a while, and no longer than trying lasts: a little longer than ctx, with which the process ends.
func (l *Live) sendBatch(ctx, trying context.Context, spans []*tracepb.Span) {
	switch {
	case len(spans) == 0:
		return
	case ctx.Err() != nil && l.away.Load():
		l.drop(len(spans), ctx.Err()) // nobody waits again for one who is away
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
		l.drop(refused, errors.New("the endpoint refused them: "+why))
	}
}
