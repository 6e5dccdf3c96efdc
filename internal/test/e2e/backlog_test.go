package e2e

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// One of the workers that serve metrics reads the backlog, and another takes over when it stops.
func TestBacklog_IsReadByOneWorker(t *testing.T) {
	l := newLab(t)
	var workers [2]*testserver.Process
	var addresses [2]string
	for i := range workers {
		workers[i] = l.worker("--metrics-address", "127.0.0.1:0")
		addresses[i] = l.metrics
	}
	reads := func(i int) bool {
		l.metrics = addresses[i]
		return strings.Contains(l.readMetrics(), "\nswitchyard_runs_running{")
	}
	l.await("for a reader", func() bool { return reads(0) || reads(1) })
	reader := 0
	if reads(1) {
		reader = 1
	}
	if reads(1 - reader) {
		t.Error("both workers read the backlog")
	}
	workers[reader].Stop()
	l.await("for the other worker to take over", func() bool { return reads(1 - reader) })
}
