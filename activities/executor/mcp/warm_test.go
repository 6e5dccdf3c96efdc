package mcp

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/toolspecs"
)

// keepWarm has n sessions ready and waits for them.
func (b *mcpBench) keepWarm(t *testing.T, n int) {
	t.Helper()
	b.KeepWarm([]*toolspecs.Spec{b.spec("echo", func(s *toolspecs.Spec) {
		inSession(s)
		s.Entry.Warm = n
	})})
	b.awaitWarm(t, n)
}

func (b *mcpBench) awaitWarm(t *testing.T, n int) {
	t.Helper()
	awaitTrue(t, "the warm sessions", func() bool { return b.WarmSessions() == n })
}

func awaitTrue(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	late := time.After(30 * time.Second)
	for !done() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("gave up waiting for %s", what)
		}
	}
}

// warmConns returns the connections that no run uses.
func (m *Executor) warmConns() (all []*mcpConn) {
	m.warm.mu.Lock()
	defer m.warm.mu.Unlock()
	for _, s := range m.warm.servers {
		all = append(all, s.conns...)
	}
	return all
}

// remembers returns the process of a session's server, and what it remembers with another text.
func (s *runSession) remembers(text string) (pid, all string) {
	s.t.Helper()
	answer, e := s.call(s.t.Context(), "remember", `{"text":"`+text+`"}`, inSession)
	if e != nil {
		s.t.Fatal(e)
	}
	pid, all, _ = strings.Cut(answer, " ")
	return pid, all
}

// Each run has a server of its own, which started before its first call and ends with the run.
func TestWarmSession_IsTakenByOneRun(t *testing.T) {
	b := stdioBench(t)
	b.keepWarm(t, 1)
	var servers []string
	for _, text := range []string{"a", "b", "c"} {
		ready := b.warmConns()
		s := b.session(t)
		server, all := s.remembers(text)
		if all != text || slices.Contains(servers, server) {
			t.Errorf("server %s remembers %q, others are %q", server, all, servers)
		}
		servers = append(servers, server)
		b.awaitWarm(t, 1)
		taken := s.Value.(*session).conn.mcpConn
		if len(ready) != 1 || taken != ready[0] || slices.Contains(b.warmConns(), taken) {
			t.Errorf("run %s did not take the ready session, or left it", text)
		}
		if text == "b" {
			continue // ends with the test
		}
		if err := s.Value.(*session).Close(); err != nil || taken.conn.Err() == nil ||
			slices.Contains(b.warmConns(), taken) {
			t.Errorf("the session of run %s did not end: %v", text, err)
		}
	}
}

// A run whose calls may ask people needs a server that knows it.
func TestWarmSession_FitsTheRun(t *testing.T) {
	b := stdioBench(t)
	b.keepWarm(t, 1)
	ready := b.warmConns()
	for name, change := range map[string]func(*toolspecs.Spec, *executor.InstanceInfo){
		"questions": func(_ *toolspecs.Spec, i *executor.InstanceInfo) { i.Asks = true },
		"another server": func(s *toolspecs.Spec, _ *executor.InstanceInfo) {
			s.Entry.SetEnv = map[string]string{"A": "b"}
		},
	} {
		spec, info := b.spec("echo", inSession), executor.InstanceInfo{}
		change(spec, &info)
		i, err := b.StartInstance(t.Context(), spec, info)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := i.Call(t.Context(), spec, []byte(`{"text":"x"}`)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !slices.Equal(b.warmConns(), ready) {
			t.Errorf("%s: the run took a warm session", name)
		}
		_ = i.Value.(*session).Close()
	}
}

// A server that dies before a run uses it costs no call.
func TestWarmSession_IsReplacedIfItsServerDies(t *testing.T) {
	b := stdioBench(t)
	b.keepWarm(t, 2)
	before := b.warmConns()
	if _, err := before[0].conn.Call(t.Context(), mcpclient.Request{Tool: "die"}); err == nil {
		t.Fatal("the server lives")
	}
	if text := b.session(t).count(); text != "1" {
		t.Errorf("the call of a run counts %s", text)
	}
	b.awaitWarm(t, 2)
	if slices.Contains(b.warmConns(), before[0]) {
		t.Error("the dead session is kept")
	}
}

// KeepWarm ends the sessions that are no longer declared, and Close ends all.
func TestWarmSessions_FollowTheToolspecs(t *testing.T) {
	b := stdioBench(t)
	b.keepWarm(t, 3)
	all := b.warmConns()
	b.keepWarm(t, 3)
	if !slices.Equal(b.warmConns(), all) {
		t.Error("an equal declaration replaces sessions")
	}
	b.keepWarm(t, 1)
	expect.Receive(t, "the end of the third session", all[2].conn.Done())
	b.entry.SetEnv = map[string]string{"A": "b"}
	b.keepWarm(t, 1)
	expect.Receive(t, "the end of the session with the changed server", all[0].conn.Done())
	last := b.warmConns()[0]
	b.Close()
	if last.conn.Err() == nil || b.WarmSessions() != 0 {
		t.Error("the worker leaves sessions behind")
	}
	b.KeepWarm([]*toolspecs.Spec{b.spec("echo", func(s *toolspecs.Spec) { s.Entry.Warm = 1 })})
	if got := b.warmConns(); len(got) != 0 {
		t.Error("a stopped worker opens sessions")
	}
}

// pauses is a log handler that passes on the waits before warm sessions are replaced.
type pauses struct {
	slog.Handler
	got chan time.Duration
}

func (pauses) Enabled(context.Context, slog.Level) bool { return true }

func (p pauses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "retry_after" {
			p.got <- a.Value.Duration()
		}
		return true
	})
	return nil
}

// A server that cannot start is tried less and less often.
func TestWarmSession_OfABrokenServerIsTriedLater(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "starts")
	log := pauses{slog.DiscardHandler, make(chan time.Duration, 10)}
	m := New(Options{Log: slog.New(log)})
	defer m.Close()
	spec := &toolspecs.Spec{Name: "echo", Entry: toolspecs.Entry{Type: toolspecs.KindMCP,
		Argv: []string{"sh", "-c", "echo $$ >> " + marker + "; exec " + strings.Join(
			mcpserver.Argv(mcpserver.Dies), " ")}, Warm: 2}}
	m.KeepWarm([]*toolspecs.Spec{spec})
	var got []time.Duration
	for range 3 {
		got = append(got, expect.Receive(t, "a failure", log.got))
	}
	if !slices.Equal(got, []time.Duration{time.Second, 2 * time.Second, 4 * time.Second}) {
		t.Errorf("waits %s", got)
	}
	started, err := os.ReadFile(marker)
	if n := strings.Count(string(started), "\n"); err != nil || n > 6 {
		t.Errorf("the server was started %d times, %v", n, err)
	}
}
