package inspect

import (
	"testing"

	"github.com/switchyard/switchyard/audit"
)

func TestWhatRuns_NamesTheHook(t *testing.T) {
	t.Parallel()
	running := audit.Running{Kind: audit.KindHook, ID: "before_run-1", State: audit.StateRunning}
	if text := whatRuns(running); text != "the hook before_run-1 is running" {
		t.Errorf("got %q", text)
	}
}
