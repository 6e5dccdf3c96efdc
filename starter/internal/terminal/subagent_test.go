package terminal

import (
	"slices"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/starter/clitest"
)

// A call of an agent shows the id and the usage of its run, while it runs and after its end, and
// how long it has run, which the server does not report.
func TestSubAgents_AreShownWithTheirRuns(t *testing.T) {
	child := &api.ChildRun{WorkflowID: "demo/1.1"}
	var tr Tracker
	tr.event(api.Event{Type: api.EventToolStarted, Time: clitest.Noon, Turn: 1, CallID: "1.1",
		Tool: "research", Summary: "research topic=x", Child: child})
	tr.updateRunning([]audit.Running{{Kind: audit.KindCall, ID: "1.1", State: audit.StateRunning,
		Attempt: 1, Child: child}})
	if got, want := tr.live(clitest.Noon.Add(3*time.Second), "*", 10),
		[]string{"  * 1.1 research topic=x · 3.00s · run demo/1.1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	record := api.Record{CallID: "1.1", Tool: "research", Status: api.CallCompleted, Turn: 1,
		Child: child, Usage: api.Usage{Calls: 2, InputTokens: 1200, OutputTokens: 30},
		Timing: api.Timing{Lane: api.LaneGeneral, Attempts: 1,
			Duration: api.Duration(4 * time.Second)}}
	tr.event(api.Event{Type: api.EventToolCompleted, Time: clitest.Noon, Turn: 1, CallID: "1.1",
		Tool: "research", Summary: "research topic=x", Record: &record})
	if got, want := tr.flush(),
		[]string{"  ✓ 1.1 research · 4.00s · run demo/1.1, 2 calls, 1,200 tokens in, 30 out"}; !slices.Equal(got,
		want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
