package terminal

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/clitest"
)

// A call waits for a worker only if it has waited longer than a start takes.
func TestWaiting_IsShownAfterADelay(t *testing.T) {
	var tr Tracker
	for _, c := range []struct {
		waited time.Duration
		want   bool
	}{{100 * time.Millisecond, false}, {2 * time.Second, true}} {
		r := audit.Running{State: audit.StateWaiting, Since: clitest.Noon}
		now := clitest.Noon.Add(c.waited)
		if got := strings.Contains(tr.otherLine(r, now, "*"), "waits for a worker"); got != c.want {
			t.Errorf("the run after %s: waits = %t, want %t", c.waited, got, c.want)
		}
		r.Kind = audit.KindCall
		if got := strings.Contains(strings.Join(tr.RunningParts(r, now), " "),
			"waits for a worker"); got != c.want {
			t.Errorf("a call after %s: waits = %t, want %t", c.waited, got, c.want)
		}
	}
}
