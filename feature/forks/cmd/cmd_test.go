package cmd

import (
	"path/filepath"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/read"
	"github.com/switchyard/switchyard/feature/forks/run"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestJSONFields_AreDocumented(t *testing.T) {
	clitest.CheckDocumented(t, "../../..", forks.Fork{}, read.ForkedRun{})
}

// A recorded run replays with an observer, which then knows what a fork takes over.
func TestObserve_KeepsTheStateOfARecordedRun(t *testing.T) {
	h, err := histories.Read(filepath.Join("../../../workflows/testdata/histories", "agent"))
	if err != nil {
		t.Fatal(err)
	}
	o := run.NewObserver()
	all, err := observe(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := histories.Replay(all, h); err != nil {
		t.Fatal(err)
	}
	in := o.Input()
	if in.Agent == nil {
		t.Fatal("the observer has no input")
	}
	taken, err := o.State(run.Source{WorkflowID: "source", Prompt: prompt(in)}, "2", run.Edits{})
	if err != nil {
		t.Fatal(err)
	}
	text := "Other."
	next := point{at: "2", Edits: run.Edits{Prompt: &text}}.input(in, taken)
	if taken.Turn != 1 || taken.Calls == 0 || len(taken.State.Messages) < 3 ||
		taken.State.Messages[0].Role != api.RoleUser || next.Beginning.Turn != 1 ||
		next.Beginning.Prompt != text || next.Prompt != "" {
		t.Errorf("a fork at turn 2 takes over %+v with the beginning %+v", taken, next.Beginning)
	}
}
