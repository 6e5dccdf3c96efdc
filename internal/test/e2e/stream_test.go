package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// streamWithin bounds the test.
const streamWithin = 10 * time.Minute

// streamedRuns returns the number of runs while processes are killed, and how often each kind of
// fault comes.
func streamedRuns() (runs, rounds int) {
	if testing.Short() {
		return 24, 1
	}
	return 40, 2
}

// streamLab is a lab whose stream of records is written to a sink by a process that is killed again
// and again.
type streamLab struct {
	*lab
	// address is that of the server, which stays the same.
	address string
	// flags select the sink, env has its connection string.
	flags, env []string
	// keys returns the keys that the sink has.
	keys func() ([]string, error)
	// kills counts the killed processes.
	kills int
}

// newStreamLab starts a server on whose database it can be started again, and whose runs continue
// as new early.
func newStreamLab(t *testing.T) (l *lab, database string) {
	database = filepath.Join(t.TempDir(), "server.db")
	l = newLab(t, append([]string{"--db-filename", database}, earlyContinue...)...)
	ctx, cancel := context.WithTimeout(context.Background(), streamWithin)
	t.Cleanup(cancel)
	l.ctx = ctx
	return l, database
}

// earlyContinue are flags of the server with which runs continue as new early.
var earlyContinue = []string{"--dynamic-config-value",
	"limit.historyCount.suggestContinueAsNew=60"}

// streamed returns the start of a run: of an agent whose run is long, of one with sub-agents, of a
// plan, or a direct call.
func streamed(i int) switchyard.Start {
	s := switchyard.Start{StartOptions: switchyard.StartOptions{ID: fmt.Sprint("streamed-", i)}}
	text := fmt.Sprintf(`{"text":"run %d"}`, i)
	turn := step(call("append", text), call("append", text), call("broken", `{}`))
	switch i % 4 {
	case 0:
		s.Agent = agent(append(slices.Repeat([]api.ScriptStep{turn}, 15), answer("done"))...)
	case 1:
		s.Agent = agent(step(call("editor", fmt.Sprintf(`{"about":"run %d"}`, i))), answer("done"))
		s.Agent.Tools = append(s.Agent.Tools, "editor")
	case 2:
		s.Plan = &switchyard.Plan{Calls: []api.PlanCall{planCall("x", "append", text),
			planCall("y", "append", `{"text":"${x.text}!"}`)}}
	case 3:
		s.Tool, s.Arguments = "append", json.RawMessage(text)
	}
	if s.Agent != nil {
		s.Prompt = "Go."
	}
	return s
}

// startAll starts the runs, and waits for them, while servers are killed.
func (l *lab) startAll(t *testing.T) (wait func()) {
	var all sync.WaitGroup
	address := l.Address
	runs, _ := streamedRuns()
	for i := range runs {
		all.Go(func() {
			// The runs start over a while, so that the faults come in the middle.
			select {
			case <-time.After(time.Duration(i) * 300 * time.Millisecond):
			case <-l.ctx.Done():
			}
			for l.ctx.Err() == nil {
				if l.complete(address, streamed(i)) {
					return
				}
			}
			t.Errorf("run %d did not end", i)
		})
	}
	return all.Wait
}

// complete starts a run, unless it exists, and reports whether it has ended.
func (l *lab) complete(address string, s switchyard.Start) bool {
	c, err := switchyard.Dial(l.ctx, switchyard.Options{Address: address,
		Logger: testserver.Quiet})
	if err != nil {
		return false
	}
	defer c.Close()
	run, err := c.Start(l.ctx, s)
	if err == nil {
		_, err = run.Result(l.ctx)
	}
	_, ended := errors.AsType[*switchyard.RunError](err)
	return err == nil || ended
}

// follow runs the process that writes the stream, and kills it after random times until stopped is
// closed.
func (s *streamLab) follow(stopped <-chan struct{}) {
	for {
		cmd := exec.Command(testserver.Bin(s.t, "starter"), append([]string{"records", "--follow",
			"--address", s.address}, s.flags...)...)
		cmd.Env = append(os.Environ(), s.env...)
		if err := cmd.Start(); err != nil {
			s.t.Error(err)
			return
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait() // it is killed
			close(ended)
		}()
		done := false
		select {
		case <-time.After(time.Duration(200+rand.IntN(2500)) * time.Millisecond):
		case <-ended: // the sink or the server does not answer
		case <-stopped:
			done = true
		}
		_ = cmd.Process.Kill()
		<-ended
		if s.kills++; done {
			return
		}
	}
}

// awaitAll runs the process without killing it until the sink has so many keys.
func (s *streamLab) awaitAll(want []string) {
	s.t.Helper()
	var messages bytes.Buffer
	cmd := exec.Command(testserver.Bin(s.t, "starter"), append([]string{"records",
		"--follow", "--address", s.address}, s.flags...)...)
	cmd.Env, cmd.Stderr = append(os.Environ(), s.env...), &messages
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	waiting, stop := context.WithTimeout(s.ctx, 2*time.Minute)
	defer stop()
	var got []string
	err := until(waiting, func() bool {
		var failed error
		got, failed = s.keys()
		return failed == nil && len(got) >= len(want)
	})
	_ = cmd.Process.Signal(os.Interrupt) // if it still runs
	if ended := cmd.Wait(); err != nil || ended != nil {
		s.t.Errorf("%v, %v: %s", err, ended, &messages)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		s.t.Errorf("the sink has %d entries, want %d: lost %.300q, twice or unknown %.300q",
			len(got), len(want), without(want, got), without(got, want))
	}
}

// without returns what a sorted list has more often than another one.
func without(list, other []string) (rest []string) {
	left := slices.Clone(other)
	for _, one := range list {
		if i := slices.Index(left, one); i >= 0 {
			left = slices.Delete(left, i, i+1)
		} else {
			rest = append(rest, one)
		}
	}
	return rest
}

// allKeys returns the keys of all calls and runs, read from each run on its own.
func (l *lab) allKeys() (keys []string) {
	l.t.Helper()
	runs, _, err := l.dial().List(l.ctx, switchyard.RunQuery{All: true}, 1000, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, run := range runs {
		for r, err := range audit.Records(l.ctx, l.Client, run.WorkflowID, run.RunID) {
			if err != nil {
				l.t.Fatal(err)
			}
			keys = append(keys, r.Run+"/"+r.CallID)
		}
		s, err := audit.Outline(l.ctx, l.Client, run.WorkflowID, run.RunID)
		if err != nil {
			l.t.Fatal(err)
		}
		keys = append(keys, s.Run)
	}
	slices.Sort(keys)
	return keys
}

// fileKeys returns the keys of a file of JSON Lines.
func fileKeys(path string) (keys []string, err error) {
	text, err := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		var e switchyard.StreamEntry
		err = cmp.Or(err, json.Unmarshal([]byte(line), &e))
		keys = append(keys, e.Key)
	}
	return keys, err
}

// tableKeys returns the keys of the table.
func tableKeys(ctx context.Context, dsn string) ([]string, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	rows, err := conn.Query(ctx, "SELECT key FROM switchyard_records")
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// killed runs the runs while the process of the stream, the worker, the server and what else is in
// faults are killed, and compares the sink with the runs and with the journal of the tools.
func (s *streamLab) killed(database string, faults ...func()) {
	s.t.Helper()
	worker := s.worker()
	wait := s.startAll(s.t)
	stopped, following := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(following)
		s.follow(stopped)
	}()
	faults = append(faults, func() { s.restartServer(database, earlyContinue...) }, func() {
		worker.Kill()
		worker = s.worker()
	})
	runs, rounds := streamedRuns()
	for i := range rounds * len(faults) {
		s.awaitLines(40 * (i + 1))
		faults[i%len(faults)]()
	}
	wait()
	close(stopped)
	<-following
	keys := s.allKeys()
	s.awaitAll(keys)
	for _, e := range s.entries() {
		if _, found := slices.BinarySearch(keys, e.Run+"/"+e.Call); !found {
			s.t.Errorf("the call %s of the run %s ran and is in no record", e.Call, e.Run)
		}
	}
	s.t.Logf("%d entries of %d runs; the process of the stream was killed %d times", len(keys),
		runs, s.kills)
}

func TestFollowAll_LosesAndDoublesNoLineOverKills(t *testing.T) {
	inFull(t)
	l, database := newStreamLab(t)
	path := filepath.Join(t.TempDir(), "stream.jsonl")
	s := &streamLab{lab: l, address: l.Address, flags: []string{"--file", path},
		keys: func() ([]string, error) { return fileKeys(path) }}
	s.killed(database)
}

func TestFollowAll_LosesAndDoublesNoRowOverKills(t *testing.T) {
	p := testserver.NewPostgres(t)
	l, database := newStreamLab(t)
	s := &streamLab{lab: l, address: l.Address, flags: []string{"--postgres"},
		env:  []string{"SWITCHYARD_POSTGRES_DSN=" + p.DSN},
		keys: func() ([]string, error) { return tableKeys(l.ctx, p.DSN) }}
	s.killed(database, p.Restart)
}

// flakyCollector is an OTLP endpoint that is away now and then.
func flakyCollector(t *testing.T) (c *collector, address string) {
	c = newCollector(t)
	var requests atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1)%3 == 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		c.take(w, r)
	}))
	t.Cleanup(front.Close)
	return c, front.URL
}

// keys returns which of all keys have a span.
func (c *collector) keys(all []string) (got []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	spans := map[string]bool{}
	for _, s := range c.spans {
		spans[string(s.GetSpanId())] = true
	}
	for _, key := range all {
		run, call, isCall := strings.Cut(key, "/")
		part := ""
		if isCall {
			part = traceparent.CallSpan(call)
		}
		if spans[string(traceparent.SpanID(run, part))] {
			got = append(got, key)
		}
	}
	return got
}

// An OTLP collector gets the spans of all runs and calls. Those that it gets twice are equal.
func TestFollowAll_LosesNoSpanOverKills(t *testing.T) {
	inFull(t)
	l, database := newStreamLab(t)
	c, address := flakyCollector(t)
	s := &streamLab{lab: l, address: l.Address, flags: []string{"--otlp-endpoint", address,
		"--position", filepath.Join(t.TempDir(), "spans.position")}}
	s.keys = func() ([]string, error) { return c.keys(l.allKeys()), nil }
	s.killed(database)
	for _, fault := range c.faults { // a message of a process that was killed is cut
		if strings.HasPrefix(fault, "two spans") {
			t.Error(fault)
		}
	}
}
