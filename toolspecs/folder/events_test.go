package folder

import (
	"fmt"
	"testing"
)

// A late subscriber first receives the current state. A slow or stuck subscriber delays no one
// else: it receives the events that its buffer can contain, and the last event has the number of
// lost ones.
func TestSubscribers_GetTheStateFirst(t *testing.T) {
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a"),
		"b.yaml": specOf("b")})
	l.write("b.yaml", "name: b\n")
	l.reload()
	first := make(chan CatalogEvent)
	stop := l.w.Subscribe(func(e CatalogEvent) { first <- e })
	for _, want := range []string{"loaded a in a.yaml", "loaded b in b.yaml", "error b.yaml: …"} {
		if got := l.line(<-first); !alike(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	hangs, got := make(chan struct{}), make(chan CatalogEvent)
	l.w.Subscribe(func(e CatalogEvent) {
		<-hangs
		got <- e
	})
	stop()
	stop()
	for i := range maxQueued + 100 {
		l.w.publish(CatalogEvent{Type: ReloadCompleted, Tools: i})
	}
	close(hangs)
	tools, missed, events := -1, 0, 0
	for tools < maxQueued+99 {
		e := <-got
		if e.Type == ReloadCompleted {
			events++
			if missed += e.Missed; e.Tools != tools+1+e.Missed {
				t.Fatalf("after %d came %d, with %d missed", tools, e.Tools, e.Missed)
			}
			tools = e.Tools
		}
	}
	if missed == 0 || events+missed != maxQueued+100 {
		t.Errorf("%d events came and %d were missed, of %d", events, missed, maxQueued+100)
	}
	select {
	case e := <-first:
		t.Errorf("after the end of the subscription came %+v", e)
	default:
	}
}

// Events before the end are delivered after it too.
func TestSubscribers_ReceiveEventsAfterTheEnd(t *testing.T) {
	w, err := Watch(WatchConfig{})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan CatalogEvent)
	w.Subscribe(func(e CatalogEvent) { got <- e })
	for i := range 3 {
		w.publish(CatalogEvent{Type: ReloadCompleted, Tools: i})
	}
	w.Close()
	w.publish(CatalogEvent{Type: LoadError})
	for i := range 3 {
		if e := <-got; fmt.Sprint(e.Type, e.Tools) != fmt.Sprint(ReloadCompleted, i) {
			t.Errorf("got %+v", e)
		}
	}
}
