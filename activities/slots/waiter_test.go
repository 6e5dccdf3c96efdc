package slots

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/expect"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// TestWaiting_ShortensTheHeartbeatTimeout proves that a call with one attempt that waits has twice
// the lane's lease as heartbeat timeout, and its own again before it starts. It does not start if
// the server may still have the short one.
func TestWaiting_ShortensTheHeartbeatTimeout(t *testing.T) {
	shortenAfter = time.Millisecond
	t.Cleanup(func() { shortenAfter = time.Second })
	const lease, usual = time.Hour, 10 * time.Hour
	lost := errors.New("no connection")
	for name, test := range map[string]struct {
		attempts int32
		timeout  time.Duration
		answers  []error
		want     []time.Duration
		requeued bool
	}{
		"once":               {1, usual, []error{nil, nil}, []time.Duration{2 * lease, usual}, false},
		"perhaps shortened":  {1, usual, []error{lost, nil}, []time.Duration{2 * lease, usual}, false},
		"perhaps lengthened": {1, usual, []error{nil, lost}, []time.Duration{2 * lease, usual}, true},
		"fixed": {1, usual, []error{serviceerror.NewUnimplemented("")},
			[]time.Duration{2 * lease}, false},
		"repeatable":    {3, usual, nil, nil, false},
		"short already": {1, 2 * lease, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newSlotsProcess(t)
			answers := make(chan error, len(test.answers))
			for _, err := range test.answers {
				answers <- err
			}
			p.server.answer = func() error { return <-answers }
			q := p.served(t, p.hostInstance(t, api.Lane{Limit: 1, QueueSize: new(1)}, lease))
			running, err := q.startCall(t.Context(), activity.Info{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			began := make(chan error, 1)
			go func() {
				_, err := q.startCall(t.Context(), activity.Info{TaskToken: []byte("call"),
					Attempt: 1, HeartbeatTimeout: test.timeout,
					RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: test.attempts}}, nil)
				began <- err
			}()
			told := expect.Receive(t, "the heartbeat of a waiting call", p.server.calls)
			if !told.Waiting || told.Acted {
				t.Errorf("a heartbeat %+v", told)
			}
			var got []time.Duration
			if len(test.want) > 0 {
				got = append(got, expect.Receive(t, "a timeout", p.server.requested))
			}
			running.end()
			err = expect.Receive(t, "the start of the call", began)
			if app, ok := errors.AsType[*temporal.ApplicationError](err); ok != test.requeued ||
				ok && app.Type() != string(api.ErrWorkerLost) || !ok && err != nil {
				t.Errorf("the call started with %v", err)
			}
			for len(p.server.requested) > 0 {
				got = append(got, <-p.server.requested)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("the timeouts %v were requested, want %v", got, test.want)
			}
		})
	}
}
