package activities

import (
	"context"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/activity"
)

const (
	// livePace is the minimum time between two heartbeats that carry text.
	livePace = 200 * time.Millisecond
	// liveSteps is how many steps of one process may use livePace at a time. If more steps stream
	// text, each sends it less often, which limits the load on the server.
	liveSteps = 20
	// maxLive bounds the text of a heartbeat, in bytes: a few seconds of output of a fast model. It
	// is small because the server records the last heartbeat of a lost worker in history.
	maxLive = 4 << 10
)

// keepStepAlive is keepAlive for the model step of a turn. say takes the streamed text and never
// blocks; it is nil if no heartbeat can carry text.
func (a *Activities) keepStepAlive(ctx context.Context, turn int) (say func(piece string),
	stop func()) {
	p := newPulse(ctx, a.config.Client)
	if p == nil {
		return nil, func() {}
	}
	s := &speech{turn: turn, attempt: int(activity.GetInfo(ctx).Attempt)}
	return func(piece string) { p.say(s, &a.speaking, piece) }, func() { p.fallSilent(&a.speaking) }
}

// say adds a piece of the step's text. speaking counts the steps of this process that stream text.
func (p *pulse) say(s *speech, speaking *atomic.Int64, piece string) {
	if piece == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	if p.speech == nil {
		p.speech = s
		speaking.Add(1)
	}
	s.add(piece)
	p.hasten(max(livePace, livePace*time.Duration(speaking.Load())/liveSteps))
}

// fallSilent stops the heartbeats of a step.
func (p *pulse) fallSilent(speaking *atomic.Int64) {
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.speech != nil {
		speaking.Add(-1)
		p.speech = nil
	}
}

// speech is what a model step has said so far, of which it keeps the end.
type speech struct {
	turn, attempt int
	// said is the length of the whole text, in bytes.
	said int
	tail []byte
}

func (s *speech) add(piece string) {
	piece = executor.ValidText(piece)
	s.said += len(piece)
	s.tail = append(s.tail, piece[max(0, len(piece)-maxLive):]...)
	if len(s.tail) > 2*maxLive {
		s.tail = append(s.tail[:0], s.tail[len(s.tail)-maxLive:]...)
	}
}

// live returns the end of the text, starting at a whole character.
func (s *speech) live() api.Live {
	end := s.tail[max(0, len(s.tail)-maxLive):]
	for len(end) > 0 && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	return api.Live{Turn: s.turn, Attempt: s.attempt, From: s.said - len(end), Text: string(end)}
}
