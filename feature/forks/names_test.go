package forks_test

import (
	"testing"

	"github.com/switchyard/switchyard/feature/forks"
)

// These names are in histories: a changed one breaks open runs.
func TestNames_AreFrozen(t *testing.T) {
	for got, want := range map[string]string{forks.InputKey: "forked_from", forks.StateKey: "forks",
		forks.Signal: "switchyard/fork_part"} {
		if got != want {
			t.Errorf("%q was %q: runs in flight know it by that name", got, want)
		}
	}
}
