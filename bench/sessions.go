package main

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

const (
	// sessionCalls is the number of calls of a session that are measured, sessionClients the number
	// of those in flight.
	sessionCalls   = 1_500
	sessionClients = 50
)

// measureSession measures how many calls per second one session makes. The calls do nothing, so
// that what is measured is the session.
func measureSession(ctx context.Context, l *lab) (map[string]float64, error) {
	rate, err := sessionRate(ctx, l, sessionCalls, sessionClients)
	fmt.Fprintf(os.Stderr, "  %.0f calls/s of one session, %d at a time\n", rate, sessionClients)
	return map[string]float64{"session_calls_per_s": rate}, err
}

func sessionRate(ctx context.Context, l *lab, calls, clients int) (float64, error) {
	c := switchyard.NewClient(l.client, switchyard.Options{Caller: "bench"})
	s := c.Session(fmt.Sprint("session/bench/", time.Now().UnixNano()), switchyard.SessionStart{})
	one := func(ctx context.Context, id string) error {
		status, err := s.Call(ctx, switchyard.SessionCall{ID: id, Tool: "payload",
			Arguments: `{"size":10}`, Wait: api.Duration(time.Minute)})
		if err == nil && (status.Outcome == nil || status.Outcome.Error != nil) {
			err = fmt.Errorf("call %s has the status %+v", id, status)
		}
		return err
	}
	if err := one(ctx, "first"); err != nil {
		return 0, err
	}
	var made atomic.Int64
	began := time.Now()
	err := each(ctx, clients, clients, func(ctx context.Context, i int) error {
		for n := made.Add(1); n <= int64(calls); n = made.Add(1) {
			if err := one(ctx, fmt.Sprint("c", n)); err != nil {
				return err
			}
		}
		return nil
	})
	rate := float64(calls) / time.Since(began).Seconds()
	if err != nil {
		return 0, err
	}
	return rate, s.End(ctx, api.EndSession{By: "bench"})
}
