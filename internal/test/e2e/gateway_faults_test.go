package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// gatewayCalls is a flag of make test/gateway.
var gatewayCalls = flag.Int("gateway-calls", 100,
	"number of calls during which TestGatewayFaults kills processes")

const (
	faultClients = 20
	// faultsWithin bounds the test.
	faultsWithin = 10 * time.Minute
	// attemptWithin bounds one request of a client.
	attemptWithin = 20 * time.Second
)

// crowd is a number of clients that make calls and repeat what breaks.
type crowd struct {
	*gatewayLab
	ctx     context.Context
	clients []*mcpClient
	// ended counts the calls whose client has the result.
	ended atomic.Int64

	mu sync.Mutex
	// counts says what clients met, and results what they got, by the mark of the call.
	counts  map[string]int
	results map[string]string
}

func (w *crowd) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// chargeOf returns the arguments of a charge. Some take longer than clients wait.
func chargeOf(client, i int) (mark string, args map[string]any) {
	ms := 50 + 20*((client+i)%10)
	if (client+i)%10 == 9 {
		ms = 2500
	}
	mark = fmt.Sprintf("%d/%d", client, i)
	return mark, map[string]any{"mark": mark, "ms": ms}
}

// make makes a call as a careful client does: it repeats what breaks, with the same key, and asks
// for the result of what is pending. It returns the text of the result, or the type of the error.
func (w *crowd) make(c *mcpClient, mark string, args map[string]any) string {
	pending := ""
	for w.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(w.ctx, attemptWithin)
		var a mcpAnswer
		var err error
		if pending == "" {
			a, err = c.call(ctx, "charge", args, map[string]any{idempotencyKey: mark})
		} else {
			a, err = c.result(ctx, pending)
		}
		cancel()
		met := ""
		switch {
		case err != nil:
			met = "connections that broke"
		case a.status == http.StatusTooManyRequests:
			met = "requests that came too fast"
		case a.Error != nil:
			met = "errors of the protocol: " + a.Error.Message
		case a.Result == nil:
			met = fmt.Sprintf("answers of status %d: %.200s", a.status, a.body)
		case a.pending() != "":
			pending = a.pending()
			w.count("answers that the call is pending")
			continue
		case a.failed() == string(api.ErrQueueFull):
			met = "calls that were not accepted"
		default:
			return cmp.Or(a.failed(), a.text())
		}
		w.count(met)
		select {
		case <-time.After(100 * time.Millisecond):
		case <-w.ctx.Done():
		}
	}
	return "nothing"
}

// run makes the calls of all clients.
func (w *crowd) run(each int) (wait func()) {
	var all sync.WaitGroup
	for n, c := range w.clients {
		all.Go(func() {
			for i := range each {
				mark, args := chargeOf(n, i)
				result := w.make(c, mark, args)
				w.mu.Lock()
				w.results[mark] = result
				w.mu.Unlock()
				w.ended.Add(1)
			}
		})
	}
	return all.Wait
}

// reaches waits until so many calls have ended, so that a fault comes in the middle of others.
func (w *crowd) reaches(ended int) {
	w.t.Helper()
	if until(w.ctx, func() bool { return int(w.ended.Load()) >= ended }) != nil {
		w.t.Fatalf("%d calls have ended, want %d; %v", w.ended.Load(), ended, w.counts)
	}
}

// restartServer kills the server and starts it again on its database and port.
func (l *lab) restartServer(database string, flags ...string) {
	l.t.Helper()
	_, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		l.t.Fatal(err)
	}
	l.Server.Kill()
	l.Server = testserver.NewServer(l.t, append([]string{"--port", port, "--db-filename", database},
		flags...)...)
}

// newCrowd returns clients of both kinds of revisions, each with an identity of its own. Each
// request has another connection, so that requests of a session reach both replicas.
func newCrowd(g *gatewayLab, address string) *crowd {
	g.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), faultsWithin)
	g.t.Cleanup(cancel)
	g.ctx = ctx
	w := &crowd{gatewayLab: g, ctx: ctx, counts: map[string]int{}, results: map[string]string{}}
	for n := range faultClients {
		c := g.client(address, g.apiKey(fmt.Sprint("client", n)), "crowd")
		c.http.Transport.(*http.Transport).DisableKeepAlives = true
		w.clients = append(w.clients, c)
	}
	return w
}

// The clients of two replicas behind a balancer make once calls. During it a gateway, the worker,
// the server and the other gateway are killed, and started again. Every call is executed once, and
// every client gets its result. A call whose worker was killed has an unknown outcome, and is not
// executed again.
func TestGatewayFaults_LoseNoCallAndRepeatNone(t *testing.T) {
	database := filepath.Join(t.TempDir(), "server.db")
	g := prepareGatewayLab(t, "", "--db-filename", database)
	worker := g.serve()
	w := newCrowd(g, "")
	flags := []string{"--direct", "500ms", "--wait", "1s"}
	replicas := []*replica{g.replica(flags...), g.replica(flags...)}
	hosts := make([]string, len(replicas))
	for i, r := range replicas {
		u, err := url.Parse(r.Endpoint)
		if err != nil {
			t.Fatal(err)
		}
		hosts[i] = u.Host
	}
	b := newBalancer(t, hosts...)
	for n, c := range w.clients {
		c.url = "http://" + b.address + "/mcp"
		if n%2 == 0 {
			if err := c.begin(w.ctx); err != nil || c.session == "" {
				t.Fatalf("no session was begun: %v", err)
			}
		}
	}
	each := max(*gatewayCalls/faultClients, 1)
	calls := each * faultClients
	began := time.Now()
	wait := w.run(each)
	restart := func(i int) func() {
		return func() {
			replicas[i].Kill()
			replicas[i] = g.replica(append(flags, "--listen", hosts[i])...)
		}
	}
	for i, fault := range []func(){restart(0), func() {
		worker.Kill()
		worker = g.serve()
	}, func() { g.restartServer(database) }, restart(1)} {
		w.reaches(calls * (i + 1) / 6)
		fault()
	}
	wait()
	w.check(calls)
	t.Logf("%d calls of %d clients took %v", calls, faultClients,
		time.Since(began).Round(time.Second))
	for _, p := range []*testserver.Process{replicas[0].Process, replicas[1].Process, worker} {
		p.Stop() // while there is a server
	}
	g.replaySessions()
}

// check compares the results of the clients with the journal. A client that repeats a call whose
// outcome is unknown gets the same answer.
func (w *crowd) check(calls int) {
	w.t.Helper()
	completed, unknown := 0, map[string]bool{}
	for n, c := range w.clients {
		for i := range calls / faultClients {
			mark, args := chargeOf(n, i)
			switch got := w.results[mark]; got {
			case "charged " + mark:
				completed++
			case string(api.ErrOutcomeUnknown):
				unknown[mark] = true
				if again := w.make(c, mark, args); again != got {
					w.t.Errorf("call %s, repeated: %q, want %q", mark, again, got)
				}
			default:
				w.t.Errorf("call %s returned %q", mark, got)
			}
		}
	}
	executed := w.texts()
	never := 0
	for mark := range w.results {
		switch times := executed[mark]; {
		case times > 1:
			w.t.Errorf("call %s was executed %d times", mark, times)
		case times == 0 && unknown[mark]:
			never++
		case times == 0:
			w.t.Errorf("call %s was not executed and returned %q", mark, w.results[mark])
		}
	}
	if len(w.results) != calls || len(unknown) > faultClients {
		w.t.Errorf("%d of %d calls ended, %d with an unknown outcome", len(w.results), calls,
			len(unknown))
	}
	w.t.Logf("%d calls: %d completed, %d with an unknown outcome, of which %d had not reached "+
		"their tool; the journal has %d lines", calls, completed, len(unknown), never,
		len(w.entries()))
	for what, n := range w.counts {
		w.t.Logf("clients met %d %s", n, what)
	}
}
