package workflows

import (
	"fmt"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/turn"
	"go.temporal.io/sdk/workflow"
)

// underLoad returns the details of a run with 5,000 running calls of 40 tools, of which 100 wait
// for approval.
func underLoad() *details {
	p := &pipeline{runFacts: turn.NewFacts(&api.RunInput{}),
		control: &control{approvals: &approvals{}}, questions: &questions{}}
	for i := range 5000 {
		id := fmt.Sprint(i)
		p.runFacts.RecordAdmissions([]api.Call{{Tool: fmt.Sprint("tool", i%40)}},
			[]api.AdmissionDecision{{ID: id}}, 1, time.Time{})
		if i%10 == 0 {
			p.runFacts.Begin(id, nil)
		}
	}
	for i := range 100 {
		p.control.approvals.open = append(p.control.approvals.open,
			&approval{Approval: api.Approval{Call: fmt.Sprint(i)}})
	}
	return &details{pipeline: p, agent: true}
}

// BenchmarkDetails measures the details of a large run: glance after each action, text at most once
// per workflow task.
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
