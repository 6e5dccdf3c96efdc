package lanetest

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger counts what happens outside of the system: it is an HTTP service that takes effects, and
// it decides in which way each attempt of a tool fails. Tools in other processes ask it at the
// beginning of an attempt.
type ledger struct {
	server *httptest.Server
	seed   uint64

	mu sync.Mutex
	// effects counts the effects that the service took, by the number of their call. begins has the
	// times at which attempts reached a tool.
	effects map[int]int
	begins  map[int][]time.Time
	counts  map[string]int
	// programs are the process ids of the MCP server programs that have started.
	programs []int
	quiet    bool
}

func newLedger(t *testing.T, seed uint64) *ledger {
	l := &ledger{seed: seed, effects: map[int]int{}, begins: map[int][]time.Time{},
		counts: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", l.charge)
	mux.HandleFunc("GET /charges/{n}", l.find)
	mux.HandleFunc("GET /begin/{kind}/{n}", l.begin)
	mux.HandleFunc("POST /effects/{n}", l.effect)
	mux.HandleFunc("POST /programs/{n}", l.program)
	l.server = httptest.NewServer(mux)
	t.Cleanup(l.server.Close)
	return l
}

// calm ends the faults of the tools.
func (l *ledger) calm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quiet = true
}

func (l *ledger) faults() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.counts)
}

func (l *ledger) took(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.effects[n]
}

// began returns when the attempts of a call reached their tool.
func (l *ledger) began(n int) []time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.begins[n])
}

// lastProgram returns one of the MCP server programs by a number, zero if none has started.
func (l *ledger) lastProgram(i int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.programs) == 0 {
		return 0
	}
	newest := l.programs[max(0, len(l.programs)-faultWorkers):]
	return newest[i%len(newest)]
}

// The ways in which an attempt of a tool fails.
const (
	wayOK           = ""
	chargeSlow      = "service slower than the timeout"
	chargeCutAfter  = "service closes the connection after the effect"
	chargeCutBefore = "service closes the connection before the effect"
	charge500After  = "service answers 500 after the effect"
	charge502After  = "service answers 502 after the effect"
	charge503Before = "service answers 503 without effect"
	chargeFlood     = "service answers too much"

	functionFails  = "function fails transiently without effect"
	functionPanics = "function panics after the effect"
	functionFloods = "function answers too much"
	functionSlow   = "function slower than the timeout"

	programFails  = "program fails without effect"
	programKilled = "program killed after the effect"
	programFloods = "program answers too much"
	programSlow   = "program slower than the timeout"

	mcpExitsBefore = "MCP server exits before the effect"
	mcpExitsAfter  = "MCP server exits after the effect"
	mcpFails       = "MCP server answers with an internal error after the effect"
	mcpFloods      = "MCP server answers too much"
	mcpSlow        = "MCP server slower than the timeout"
)

// The kinds of tools that fail, and their ways.
const (
	kindCharge   = "charge"
	kindFunction = "function"
	kindProgram  = "program"
	kindStdio    = "stdio"
	kindHTTP     = "http"
)

var faultsOf = map[string][]string{
	kindCharge: {chargeSlow, chargeCutAfter, chargeCutBefore, charge500After, charge502After,
		charge503Before, chargeFlood},
	kindFunction: {functionFails, functionPanics, functionFloods, functionSlow},
	kindProgram:  {programFails, programKilled, programFloods, programSlow},
	kindStdio:    {mcpExitsBefore, mcpExitsAfter, mcpFails, mcpFloods, mcpSlow},
	kindHTTP:     {mcpFails, mcpFloods, mcpSlow},
}

const (
	// failing is how many of a hundred attempts of these tools fail in their way.
	failing = 25
	// toolTimeout is the timeout of these tools, slow is longer.
	toolTimeout = 2 * time.Second
	slow        = 3 * time.Second
	// tooMuch is larger than the result limit of every tool, and than what a program may print.
	tooMuch = 1 << 20
)

// way notes that an attempt begins and returns how it fails: the same for the same seed.
func (l *ledger) way(kind string, n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begins[n] = append(l.begins[n], time.Now())
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d", l.seed, n, len(l.begins[n]))
	if h.Sum64()%100 >= failing || l.quiet {
		return wayOK
	}
	ways := faultsOf[kind]
	way := ways[h.Sum64()/100%uint64(len(ways))]
	l.counts[way]++
	return way
}

func (l *ledger) take(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.effects[n]++
}

// begin, effect and program serve tools in other processes.
func (l *ledger) begin(w http.ResponseWriter, r *http.Request) {
	if n, ok := numberOf(w, r); ok {
		_, _ = io.WriteString(w, l.way(r.PathValue("kind"), n))
	}
}

func (l *ledger) effect(w http.ResponseWriter, r *http.Request) {
	if n, ok := numberOf(w, r); ok {
		l.take(n)
	}
}

func (l *ledger) program(w http.ResponseWriter, r *http.Request) {
	if pid, ok := numberOf(w, r); ok {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.programs = append(l.programs, pid)
	}
}

func numberOf(w http.ResponseWriter, r *http.Request) (n int, ok bool) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
	return n, err == nil
}

func (l *ledger) charge(w http.ResponseWriter, r *http.Request) {
	var in struct{ N int }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	way := l.way(kindCharge, in.N)
	switch way {
	case chargeSlow:
		<-time.After(slow) // the service works on, although its caller has left
	case chargeCutBefore:
		hangUp(w)
		return
	case charge503Before:
		http.Error(w, "busy", http.StatusServiceUnavailable)
		return
	}
	l.take(in.N)
	switch way {
	case chargeCutAfter:
		hangUp(w)
	case charge500After:
		http.Error(w, "broken", http.StatusInternalServerError)
	case charge502After:
		http.Error(w, "no answer from behind", http.StatusBadGateway)
	case chargeFlood:
		_, _ = io.WriteString(w, `{"n":`+strconv.Itoa(in.N)+`,"text":"`)
		_, _ = io.WriteString(w, strings.Repeat("x", 3*tooMuch)+`"}`)
	default:
		fmt.Fprintf(w, `{"n":%d}`, in.N)
	}
}

func (l *ledger) find(w http.ResponseWriter, r *http.Request) {
	if n, ok := numberOf(w, r); ok {
		fmt.Fprintf(w, `{"found":%v,"n":%d}`, l.took(n) > 0, n)
	}
}

// hangUp closes the connection without an answer.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
