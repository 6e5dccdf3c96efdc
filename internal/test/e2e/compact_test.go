package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
)

// A run whose conversation is ten times its model's window, over several histories and two workers,
// ends with the right answer from its first turn. The model is never sent more than its window.
// Records and events are complete: summarized turns are not lost.
func TestCompaction_KeepsLongConversationsInTheWindow(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=150")
	l.worker()
	l.worker()
	const turns = 80
	run := l.runAgent("run", compacting(turns, 4000))
	first := run.GetRunID()
	r := l.result(run)
	if r.Outcome != api.OutcomeAnswered || r.Answer != "the code is 4711" || r.Usage.Calls != turns+
		1 {
		t.Errorf("result: %+v", r)
	}
	if parts := len(l.histories("run", first)); parts < 3 {
		t.Errorf("the run has %d parts: it did not continue as new", parts)
	}
	steps, compactions := 0, 0
	for e, err := range audit.Events(l.ctx, l.Client, "run", first) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Step == nil {
			continue
		}
		steps++
		if e.Step.Usage.InputTokens > 4000 {
			t.Errorf("event %d is of a step with %d tokens", e.Sequence, e.Step.Usage.InputTokens)
		}
		if c := e.Step.Compacted; c != nil {
			compactions++
			if c.Messages == 0 || !strings.Contains(e.Step.Message.Text,
				`${code} = {"bytes":4,"text":"4711"}`) && !strings.Contains(e.Step.Message.Text,
				"4711") {
				t.Errorf("event %d: %+v %s", e.Sequence, c, e.Step.Message.Text)
			}
		}
	}
	if compactions < 5 || r.Usage.Turns != steps || steps != turns+2+compactions {
		t.Errorf("%d steps, %d of them compactions, where the run counts %d", steps, compactions,
			r.Usage.Turns)
	}
	records := l.records(run)
	if len(records) != turns+1 || slices.ContainsFunc(records,
		func(r api.Record) bool { return r.Status != api.CallCompleted || r.Result.Cut > 0 }) {
		t.Errorf("%d records: %+v", len(records), records)
	}
}
