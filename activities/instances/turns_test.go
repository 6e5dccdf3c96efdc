package instances

import (
	"context"
	"errors"
	"testing"

	"github.com/switchyard/switchyard/internal/test/expect"
)

// enters starts to enter and returns the channel of the result.
func enters(ctx context.Context, ts *turns, alone bool) <-chan error {
	done := make(chan error, 1)
	go func() { done <- ts.enter(ctx, alone) }()
	return done
}

func waits(t *testing.T, ts *turns, n int) {
	t.Helper()
	expect.Eventually(t, "calls to wait", func() bool {
		ts.mu.Lock()
		defer ts.mu.Unlock()
		return len(ts.waiting) == n
	})
}

func TestTurns_OverlapSharedCallsAndIsolateExclusiveOnes(t *testing.T) {
	var ts turns
	for range 2 {
		if err := ts.enter(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	exclusive := enters(t.Context(), &ts, true)
	waits(t, &ts, 1)
	shared := enters(t.Context(), &ts, false) // it does not overtake
	waits(t, &ts, 2)
	ts.leave()
	waits(t, &ts, 2)
	ts.leave()
	if err := expect.Receive(t, "the exclusive call", exclusive); err != nil {
		t.Fatal(err)
	}
	waits(t, &ts, 1)
	ts.leave()
	if err := expect.Receive(t, "the shared call", shared); err != nil {
		t.Fatal(err)
	}
}

func TestTurns_ForgetCallsThatStopWaiting(t *testing.T) {
	var ts turns
	if err := ts.enter(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	over := errors.New("over")
	ctx, end := context.WithCancelCause(t.Context())
	exclusive := enters(ctx, &ts, true)
	waits(t, &ts, 1)
	shared := enters(t.Context(), &ts, false)
	waits(t, &ts, 2)
	end(over)
	if err := expect.Receive(t, "the exclusive call", exclusive); !errors.Is(err, over) {
		t.Errorf("got %v", err)
	}
	if err := expect.Receive(t, "the shared call", shared); err != nil {
		t.Errorf("got %v", err)
	}
}
