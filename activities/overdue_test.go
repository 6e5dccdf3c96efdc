package activities

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// forgetfulServer answers heartbeats with err.
type forgetfulServer struct {
	client.Client
	err   error
	beats int
}

func (s *forgetfulServer) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	s.beats++
	return s.err
}

// An attempt that starts later than its heartbeat timeout after the server sent its task starts
// only if the server still waits for it.
func TestOverdue_AsksTheServer(t *testing.T) {
	gone := serviceerror.NewNotFound("activity not found")
	for name, test := range map[string]struct {
		age     time.Duration
		inline  bool
		err     error
		asked   int
		refused bool
	}{
		"in time":               {age: time.Second, err: gone},
		"late, awaited":         {age: time.Minute, asked: 1},
		"late, no server":       {age: time.Minute, err: errors.New("away"), asked: 1, refused: true},
		"late, not known":       {age: time.Minute, err: gone, asked: 1, refused: true},
		"late, but not a queue": {age: time.Minute, inline: true, err: gone},
	} {
		t.Run(name, func(t *testing.T) {
			server := &forgetfulServer{err: test.err}
			a := &Activities{config: Config{Client: server}}
			var got *api.Error
			_, err := within(t, "probe", nil, func(ctx context.Context,
				_ converter.EncodedValues) (any, error) {
				ctx, end := context.WithCancelCause(ctx)
				defer end(nil)
				late := attempt{info: activity.GetInfo(ctx)}
				late.info.HeartbeatTimeout = 3 * time.Second
				late.info.StartedTime = time.Now().Add(-test.age)
				if test.inline {
					late.inline = &api.InlineCall{}
				}
				if errors.Is(test.err, gone) {
					end(gone)
				}
				got = a.overdue(ctx, late)
				return nil, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if server.beats != test.asked || (got != nil) != test.refused {
				t.Errorf("asked %d times, %v", server.beats, got)
			}
			if got != nil && (!got.NotStarted || !got.Requeue || got.Type != api.ErrWorkerLost) {
				t.Errorf("%+v", got)
			}
		})
	}
}
