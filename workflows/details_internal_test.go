package workflows

import (
	"fmt"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// underLoad are the details of a run of which 5,000 calls of 40 tools are under way and 100 wait for approval.
func underLoad() *details {
	p := &pipeline{runFacts: newRunFacts(api.RunInput{}), control: &control{approvals: &approvals{}}, questions: &questions{}}
	for i := range 5000 {
		id := fmt.Sprint(i)
		p.runFacts.admitted([]api.Call{{Tool: fmt.Sprint("tool", i%40)}}, []api.AdmissionDecision{{ID: id}})
		if i%10 == 0 {
			p.runFacts.begin(id, nil)
		}
	}
	for i := range 100 {
		p.control.approvals.open = append(p.control.approvals.open, &approval{Approval: api.Approval{Call: fmt.Sprint(i)}})
	}
	return &details{pipeline: p, agent: true}
}

// TestSeenCounts proves that the counts of calls under way are those of the calls, through their whole lives and whatever is
// said of them twice.
func TestSeenCounts(t *testing.T) {
	s := newRunFacts(api.RunInput{})
	calls := []api.Call{{Tool: "a"}, {Tool: "a"}, {Tool: "b"}}
	decisions := []api.AdmissionDecision{{ID: "1"}, {ID: "2"}, {ID: "3"}}
	s.admitted(calls, decisions)
	s.admitted(calls[:1], decisions[:1])
	s.begin("1", []part{{Part: api.Part{ID: "1"}}, {Part: api.Part{ID: "2"}}})
	s.begin("of nobody", nil)
	if a, b := s.tools["a"], s.tools["b"]; a != (underWay{running: 2}) || b != (underWay{waiting: 1}) || len(s.begun) != 2 {
		t.Errorf("got %+v, %v", s.tools, s.begun)
	}
	s.ended(api.CallOutcome{ID: "1", Tool: "a"}, api.Tool{})
	s.ended(api.CallOutcome{ID: "2", Tool: "a"}, api.Tool{})
	s.refused(api.Call{ID: "3", Tool: "b"})
	s.refused(api.Call{ID: "3", Tool: "b"})
	if len(s.tools)+len(s.begun)+len(s.open) != 0 {
		t.Errorf("left: %+v, %v, %v", s.tools, s.begun, s.open)
	}
}

// BenchmarkDetails is what the details cost a large run: glance whenever the run does something, text at most once in each of
// its workflow tasks.
func BenchmarkDetails(b *testing.B) {
	d, info := underLoad(), &workflow.Info{Namespace: "default"}
	b.Run("glance", func(b *testing.B) {
		for b.Loop() {
			d.shown = d.glance()
		}
	})
	b.Run("text", func(b *testing.B) {
		for b.Loop() {
			if len(d.text(info)) > maxDetails {
				b.Fatal("too long")
			}
		}
	})
}
