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

// subscriber follows a run from its start. It stops after some events, stores its position as JSON
// and continues over a new connection. The returned function waits for the run's end and fails the
// test unless the subscriber saw exactly what reading the run gives.
func (l *lab) subscriber(id string) (check func()) {
	type received struct {
		events []api.Event
		err    error
	}
	done := make(chan received, 1)
	go func() {
		var all received
		stored, more := []byte(`{"workflow_id":"`+id+`"}`), true
		for more && all.err == nil {
			before, wanted := len(all.events), 1+rand.IntN(12)
			all.events, stored, all.err = l.resume(all.events, stored, wanted)
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

// resume appends n events after a position, fewer at the run's end, and returns the next position.
func (l *lab) resume(events []api.Event, stored []byte, wanted int) ([]api.Event, []byte, error) {
	var position audit.Position
	if err := json.Unmarshal(stored, &position); err != nil {
		return events, stored, err
	}
	c, err := client.DialContext(l.ctx, client.Options{HostPort: l.Address,
		Logger: tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))})
	if err != nil {
		return events, stored, err
	}
	defer c.Close()
	s, before := audit.Subscribe(c, position), len(events)
	for e, err := range s.Events(l.ctx) {
		if err != nil {
			return events, stored, err
		}
		if events = append(events, e); len(events)-before == wanted {
			break
		}
	}
	stored, err = json.Marshal(s.Position())
	return events, stored, err
}
