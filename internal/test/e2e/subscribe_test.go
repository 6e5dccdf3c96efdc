package e2e

import (
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"reflect"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"go.temporal.io/sdk/client"
	tlog "go.temporal.io/sdk/log"
)

// subscriber follows a run from its start while it goes on. It stops after a few events, however
// many, keeps its position as JSON and goes on over a new connection. What is returned waits for
// the run's end and fails the test unless that saw exactly what reading the run afterwards gives.
func (l *lab) subscriber(id string) (check func()) {
	type seen struct {
		events []api.Event
		err    error
	}
	done := make(chan seen, 1)
	go func() {
		var all seen
		kept, more := []byte(`{"workflow_id":"`+id+`"}`), true
		for more && all.err == nil {
			before, wanted := len(all.events), 1+rand.IntN(12)
			all.events, kept, all.err = l.resume(all.events, kept, wanted)
			more = len(all.events) == before+wanted
		}
		done <- all
	}()
	return func() {
		l.t.Helper()
		got := <-done
		var want []api.Event
		for e, err := range audit.Events(l.ctx, l.Client, id, "") {
			if err != nil {
				l.t.Fatal(err)
			}
			want = append(want, e)
		}
		if got.err != nil || !reflect.DeepEqual(got.events, want) {
			l.t.Errorf("the subscriber saw %d events and %v, want the %d there are",
				len(got.events), got.err, len(want))
		}
	}
}

// resume appends so many events after a position, fewer at the run's end, and returns the position
// then.
func (l *lab) resume(events []api.Event, kept []byte, wanted int) ([]api.Event, []byte, error) {
	var position audit.Position
	if err := json.Unmarshal(kept, &position); err != nil {
		return events, kept, err
	}
	c, err := client.DialContext(l.ctx, client.Options{HostPort: l.Address,
		Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return events, kept, err
	}
	defer c.Close()
	s, before := audit.Subscribe(c, position), len(events)
	for e, err := range s.Events(l.ctx) {
		if err != nil {
			return events, kept, err
		}
		if events = append(events, e); len(events)-before == wanted {
			break
		}
	}
	kept, err = json.Marshal(s.Position())
	return events, kept, err
}
