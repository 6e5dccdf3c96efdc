package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/audit"
)

// TestWaiting proves that something is said to wait for a worker only when it has waited for longer than a start takes.
func TestWaiting(t *testing.T) {
	var tr tracker
	for _, c := range []struct {
		waited time.Duration
		want   bool
	}{{100 * time.Millisecond, false}, {2 * time.Second, true}} {
		r := audit.Running{State: audit.StateWaiting, Since: noon}
		now := noon.Add(c.waited)
		if got := strings.Contains(tr.otherLine(r, now, "*"), "waits for a worker"); got != c.want {
			t.Errorf("the run after %s: waits = %t, want %t", c.waited, got, c.want)
		}
		r.Kind = audit.KindCall
		if got := strings.Contains(strings.Join(tr.runningParts(r, now), " "), "waits for a worker"); got != c.want {
			t.Errorf("a call after %s: waits = %t, want %t", c.waited, got, c.want)
		}
	}
}

// TestReadyHint proves that what dev prints for another terminal leads to its server and, where it cannot be derived,
// to its Web UI.
func TestReadyHint(t *testing.T) {
	for _, c := range []struct{ address, ui, want string }{
		{"127.0.0.1:7233", localUI, "starter call echo"},
		{"127.0.0.1:7233", "http://127.0.0.1:9000", "starter --ui-address http://127.0.0.1:9000 call echo"},
		{"127.0.0.1:7300", "http://127.0.0.1:8300", "starter --address 127.0.0.1:7300 --ui-address http://127.0.0.1:8300 call echo"},
	} {
		var out bytes.Buffer
		a := &app{Stdio: Stdio{Out: &out}}
		s := &devStack{serverReady: serverReady{Address: c.address, UI: c.ui, Namespace: "default"}}
		f := &devFlags{port: defaultPort}
		if !strings.HasSuffix(c.address, ":7233") {
			f.port = 7300
		}
		if err := a.tellReady(s, f); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), "terminal: "+c.want) {
			t.Errorf("%s: want %q in\n%s", c.address, c.want, out.String())
		}
	}
}
