package lanetest

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/internal/test/witness"
	"go.temporal.io/sdk/client"
)

// usual selects the default heartbeat of a tool.
const usual = "usual"

// outage is a way in which the server can be unavailable.
type outage struct {
	name string
	// begin makes the server unavailable to the worker, end makes it available again.
	begin, end func(l *lab, w *wire)
}

func signalServer(s syscall.Signal) func(*lab, *wire) {
	return func(l *lab, _ *wire) {
		if err := syscall.Kill(l.Server.PID(), s); err != nil {
			l.t.Fatal(err)
		}
	}
}

// outages are the outages of these tests.
var outages = []outage{
	{"suspended", signalServer(syscall.SIGSTOP), signalServer(syscall.SIGCONT)},
	{"restarted", func(l *lab, _ *wire) { l.Server.Kill() }, func(l *lab, _ *wire) { l.restart() }},
	{"cut off", func(_ *lab, w *wire) { w.cut() }, func(_ *lab, w *wire) { w.heal() }},
}

// restart starts the server again after Kill, on the same port and database.
func (l *lab) restart() {
	l.t.Helper()
	_, port, err := net.SplitHostPort(l.Server.Address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.serve("--port", port)
}

// serve starts a server whose database outlives it.
func (l *lab) serve(args ...string) {
	l.t.Helper()
	args = append(args, "--db-filename", filepath.Join(l.dir, "server.db"))
	l.Server = testserver.NewServer(l.t, append(args, serverArgs...)...)
}

// endure starts the calls of one plan each, makes the server unavailable for a time, and returns
// the results of the plans. Every call waits for the gate "end", which opens after the outage,
// unless its order has a duration.
func (l *lab) endure(o outage, length time.Duration,
	calls map[string]order) map[string]api.RunResult {
	l.t.Helper()
	l.serve()
	w := newWire(l)
	l.workerAt(w.Address)
	runs := map[string]client.WorkflowRun{}
	for name, call := range calls {
		runs[name] = l.plan(name, planCall("c", name, call))
		l.began(name)
	}
	o.begin(l, w)
	<-time.After(length)
	o.end(l, w)
	l.Open("end")
	results := map[string]api.RunResult{}
	for name, run := range runs {
		results[name] = l.result(l.Client.GetWorkflow(l.ctx, run.GetID(), ""))
	}
	return results
}

// once fails the test if a call was executed more than once or did not complete.
func (l *lab) once(run string) {
	l.t.Helper()
	spans, _ := l.Spans()
	if all := of(spans, run); len(all) != 1 || all[0].Ending != witness.Done {
		l.t.Errorf("%s was executed as follows, want once and to its end:\n%s", run,
			witness.List(all))
	}
}

// Thirty seconds without the server end no run and no call with effect once, also if the call ends
// while the server is unavailable. Calls that are safe to repeat may run again.
func TestOutage_EndsNoCallOnALaneWithoutALimit(t *testing.T) {
	t.Parallel()
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			l := prepareLab(t, "{}",
				toolSpec{name: "pay", lane: "general", effect: "once", heartbeat: usual},
				toolSpec{name: "book", lane: "general", effect: "once", heartbeat: usual},
				toolSpec{name: "read", lane: "general", effect: "read", heartbeat: usual},
				toolSpec{name: "put", lane: "general", heartbeat: usual})
			results := l.endure(o, 30*time.Second, map[string]order{"pay": {N: 1, Gate: "end"},
				"book": {N: 2, MS: 10_000}, "read": {N: 3, Gate: "end"}, "put": {N: 4, MS: 10_000}})
			l.once("pay")
			l.once("book")
			if len(results) != 4 {
				t.Errorf("%d of 4 runs ended", len(results))
			}
		})
	}
}

// An outage of less than two thirds of a lane's lease ends no call on the lane.
func TestOutage_ShorterThanTheLeaseEndsNoCall(t *testing.T) {
	t.Parallel()
	for _, o := range outages {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			l := prepareLab(t, `lanes: {lane: {limit: 2}, keyed: {key: "{{args.key}}"}}`,
				toolSpec{name: "pay", lane: "lane", effect: "once", heartbeat: usual},
				toolSpec{name: "read", lane: "lane", effect: "read", heartbeat: usual},
				toolSpec{name: "book", lane: "keyed", effect: "once", heartbeat: usual})
			l.endure(o, 8*time.Second, map[string]order{"pay": {Gate: "end"}, "read": {Gate: "end"},
				"book": {Gate: "end", Key: "k"}})
			l.once("pay")
			l.once("read")
			l.once("book")
			spans, _ := l.Spans()
			l.report(witness.Excesses(spans, limits(map[string]int{"lane": 2, "keyed": 1})))
		})
	}
}

// The error of a call that a lost lease ends reports the outage.
func TestOutage_IsNamedByTheError(t *testing.T) {
	t.Parallel()
	l := newLab(t, "lanes: {lane: {limit: 1, lease: 2s}}",
		toolSpec{name: "pay", lane: "lane", effect: "once", heartbeat: "1m"})
	w := newWire(l)
	l.workerAt(w.Address)
	run := l.plan("pay", planCall("c", "pay", order{Gate: "never"}))
	l.began("pay")
	w.cut()
	l.await("for the call to stop",
		func(s []witness.Span) bool { return s[0].Ending == witness.Stopped })
	w.heal()
	if err := run.Get(l.ctx, nil); err == nil {
		t.Fatal("a run whose only call was interrupted ended without an error")
	}
	e := l.records(run)["c"].Error
	if e == nil || e.Type != api.ErrOutcomeUnknown ||
		!strings.Contains(e.Message, "no connection to Temporal for ") {
		t.Errorf("the call failed with %+v", e)
	}
}
