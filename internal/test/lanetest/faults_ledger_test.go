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
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// ledger counts effects outside the system: charges of an HTTP service, which fails in many ways,
// and notes of a program in a file.
type ledger struct {
	t      *testing.T
	server *httptest.Server
	// notes is the file that the program of the tool note writes.
	notes string
	seed  uint64

	mu sync.Mutex
	// charges counts the charges by the number of their call, requests the requests.
	charges, requests map[int]int
	counts            map[string]int
	quiet             bool
}

func newLedger(t *testing.T, notes string, seed uint64) *ledger {
	l := &ledger{t: t, notes: notes, seed: seed, charges: map[int]int{}, requests: map[int]int{},
		counts: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /charges", l.charge)
	mux.HandleFunc("GET /charges/{n}", l.find)
	l.server = httptest.NewServer(mux)
	t.Cleanup(l.server.Close)
	return l
}

// calm ends the faults of the service.
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

func (l *ledger) charged(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.charges[n]
}

// noted counts the lines of the file of notes by call.
func (l *ledger) noted() map[int]int {
	l.t.Helper()
	data, err := os.ReadFile(l.notes)
	if err != nil && !os.IsNotExist(err) {
		l.t.Fatal(err)
	}
	counts := map[int]int{}
	for line := range strings.Lines(string(data)) {
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			l.t.Fatal(err)
		}
		counts[n]++
	}
	return counts
}

// The ways in which the service answers a charge.
const (
	chargeOK = iota
	// chargeSlow takes effect after the caller's timeout.
	chargeSlow
	chargeCutAfter
	chargeCutBefore
	charge500After
	charge502After
	charge503Before
	chargeFlood
)

var chargeFaults = []string{chargeSlow: "service slower than the timeout",
	chargeCutAfter:  "service closes the connection after the effect",
	chargeCutBefore: "service closes the connection before the effect",
	charge500After:  "service answers 500 after the effect",
	charge502After:  "service answers 502 after the effect",
	charge503Before: "service answers 503 without effect",
	chargeFlood:     "service answers too much"}

// slowCharge is longer than the tool's timeout, settleCharge longer than slowCharge.
const (
	chargeTimeout = time.Second
	slowCharge    = 2 * time.Second
)

// way returns how a request is answered: the same for the same seed.
func (l *ledger) way(n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests[n]++
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d", l.seed, n, l.requests[n])
	if h.Sum64()%100 < 45 || l.quiet {
		return chargeOK
	}
	way := 1 + int(h.Sum64()/100%uint64(len(chargeFaults)-1))
	l.counts[chargeFaults[way]]++
	return way
}

func (l *ledger) take(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.charges[n]++
}

func (l *ledger) charge(w http.ResponseWriter, r *http.Request) {
	var in struct{ N int }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	way := l.way(in.N)
	switch way {
	case chargeSlow:
		<-time.After(slowCharge) // the service works on, although its caller has left
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
		_, _ = io.WriteString(w, strings.Repeat("x", 3<<20)+`"}`)
	default:
		fmt.Fprintf(w, `{"n":%d}`, in.N)
	}
}

func (l *ledger) find(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Fprintf(w, `{"found":%v,"n":%d}`, l.charged(n) > 0, n)
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

// tools returns the toolspecs of the calls that TestFaults_BreakNoPromise makes.
func (l *ledger) tools() string {
	program, err := os.Executable()
	if err != nil {
		l.t.Fatal(err)
	}
	var specs []string
	for _, lane := range []string{"general", "one", "two", "phone"} {
		specs = append(specs, tool{name: lane, lane: lane, heartbeat: "3s"}.yaml(),
			tool{name: lane + "_once", lane: lane, effect: "once", heartbeat: "30s"}.yaml())
	}
	return strings.Join(specs, "---\n") + fmt.Sprintf(chargeSpecs, chargeTimeout, l.server.URL,
		program, noteFile, slowCharge+2*time.Second)
}

const chargeSpecs = `---
name: charge_blind
version: 1.0.0
description: Charges an account. Nothing can say later whether it did.
parameters: [{name: n, type: integer, required: true}, {name: key, type: string, default: ""}]
entry:
  type: rest
  base_url: %[2]s
  method: POST
  path: /charges
  body: {n: "{{args.n}}"}
  allow: [127.0.0.1]
execution: {effect: once, timeout: %[1]s}
---
name: charge
version: 1.0.0
description: Charges an account.
parameters: [{name: n, type: integer, required: true}, {name: key, type: string, default: ""}]
entry:
  type: rest
  base_url: %[2]s
  method: POST
  path: /charges
  body: {n: "{{args.n}}"}
  allow: [127.0.0.1]
execution: {effect: once, timeout: %[1]s}
verify: {tool: charged, arguments: {n: "{{args.n}}"}, done: found, settle_after: %[5]s}
---
name: charged
version: 1.0.0
description: Says whether an account was charged.
parameters: [{name: n, type: integer, required: true}]
output: {type: object, validation: {properties: [{name: found, type: boolean, required: true}]}}
entry: {type: rest, base_url: %[2]s, path: "/charges/{{args.n}}", allow: [127.0.0.1]}
execution: {timeout: 2s}
---
name: note
version: 1.0.0
description: Appends a line to a file.
parameters: [{name: n, type: integer, required: true}, {name: key, type: string, default: ""}]
output: {type: string}
entry: {type: command, argv: [%[3]s, "{{args.n}}"], env: [%[4]s]}
execution: {effect: once, timeout: 10s}
`

// writeNote is the program of the tool note.
func writeNote(file string) int {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if _, err := fmt.Fprintln(f, os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
