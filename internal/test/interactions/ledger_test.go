package interactions

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// effect is what a call does outside of the system.
type effect struct {
	// Actor is that of the run, or of the run at the top; a fork has that of its source.
	Actor    string `json:"actor"`
	Workflow string `json:"workflow"`
	// Parent is the path of the call that a sub-agent's run works for.
	Parent string `json:"parent,omitempty"`
	Call   string `json:"call"`
	Tool   string `json:"tool"`
	Key    string `json:"key"`
	// N are the numbers that the call was given, one unless it is batched.
	N      []int `json:"n"`
	Amount int   `json:"amount,omitempty"`

	at time.Time
}

// id is that of the call in records.
func (e effect) id() string { return e.Workflow + "/" + e.Call }

// actorVariable is the variable of a run with the name of its actor.
const actorVariable = "actor"

// beginning is what a tool tells when an attempt begins.
type beginning struct {
	Effects []effect `json:"effects"`
	Ways    []string `json:"ways"`
}

// ledger counts what tools do, outside of the system under test: it is a service of the test's
// process, which no fault concerns.
type ledger struct {
	server *httptest.Server

	mu sync.Mutex
	// begins has the times at which attempts of calls began, by the ID of the call. numbers has the
	// first times by actor and number.
	begins  map[string][]time.Time
	numbers map[numbered]time.Time
	effects []effect
	// byKey is the first number of each key that acted, undone when its effect was undone.
	byKey   map[string]int
	undone  map[string]time.Time
	changed chan struct{}
}

type numbered struct {
	actor string
	n     int
}

func newLedger(t *testing.T) *ledger {
	l := &ledger{begins: map[string][]time.Time{}, numbers: map[numbered]time.Time{},
		byKey: map[string]int{}, undone: map[string]time.Time{}, changed: make(chan struct{})}
	mux := http.NewServeMux()
	mux.Handle("POST /begin", serve(l.begin))
	mux.Handle("POST /act", serve(l.act))
	mux.Handle("POST /undo", serve(l.undo))
	mux.Handle("POST /find", serve(l.find))
	l.server = httptest.NewServer(mux)
	t.Cleanup(l.server.Close)
	return l
}

// serve answers what a tool tells.
func serve[In, Out any](f func(In) Out) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in In
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(f(in)) // a killed worker does not read it
	})
}

// change runs a function under the lock and notifies who waits.
func (l *ledger) change(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
	close(l.changed)
	l.changed = make(chan struct{})
}

// begin returns how the attempt behaves.
func (l *ledger) begin(b beginning) (way string) {
	l.change(func() {
		now := time.Now()
		for _, e := range b.Effects {
			l.begins[e.id()] = append(l.begins[e.id()], now)
			for _, n := range e.N {
				if key := (numbered{e.Actor, n}); l.numbers[key].IsZero() {
					l.numbers[key] = now
				}
			}
		}
		attempts := len(l.begins[b.Effects[0].id()])
		way = b.Ways[min(attempts, len(b.Ways))-1]
	})
	return way
}

func (l *ledger) act(effects []effect) bool {
	l.change(func() {
		for _, e := range effects {
			e.at = time.Now()
			l.effects = append(l.effects, e)
			l.byKey[e.Key] = e.N[0]
		}
	})
	return true
}

func (l *ledger) undo(key string) bool {
	l.change(func() { l.undone[key] = time.Now() })
	return true
}

func (l *ledger) find(key string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKey[key]
}

// started reports whether a call with a number has started, and returns a channel that closes when
// the ledger changes.
func (l *ledger) started(actor string, n int) (bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.numbers[numbered{actor, n}].IsZero(), l.changed
}

// ledgerView is what the ledger has of some actors.
type ledgerView struct {
	effects []effect
	begins  map[string][]time.Time
	undone  map[string]time.Time
}

func (l *ledger) of(actors ...string) ledgerView {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := ledgerView{begins: maps.Clone(l.begins), undone: maps.Clone(l.undone)}
	for _, e := range l.effects {
		if slices.Contains(actors, e.Actor) {
			v.effects = append(v.effects, e)
		}
	}
	return v
}
