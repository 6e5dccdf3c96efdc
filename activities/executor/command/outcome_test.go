//go:build unix

package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// A file counts the effects of a program. The cases show which ends leave open whether the call
// took effect, and which calls did not start.
func TestCommand_TellsUnclearEndsFromClearOnes(t *testing.T) {
	const effect = `echo effect >> "$1"; `
	type known struct {
		effects             int
		notStarted, unclear bool
	}
	for name, test := range map[string]struct {
		entry func(ledger string) toolspecs.CommandEntry
		want  known
		// once and repeatable are the types of the errors.
		once, repeatable api.ErrorType
	}{
		"exit code": {func(l string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: shell(effect+`exit 3`, l)}
		}, known{1, false, false}, api.ErrExecution, api.ErrExecution},
		"killed for output": {func(l string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: shell(effect+`yes`, l), MaxOutput: 1000}
		}, known{1, false, true}, api.ErrOutcomeUnknown, api.ErrExecution},
		"killed from outside": {func(l string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: shell(effect+`kill -KILL $$`, l)}
		}, known{1, false, true}, api.ErrOutcomeUnknown, api.ErrExecution},
		"timeout": {func(l string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: shell(effect+`sleep 60`, l)}
		}, known{1, false, true}, api.ErrOutcomeUnknown, api.ErrTimeout},
		"no program": {func(string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: []string{"no-such-program-here"}}
		}, known{0, true, false}, api.ErrExecutorNotFound, api.ErrExecutorNotFound},
		"no folder": {func(l string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: shell(effect, l), Dir: "no/such/folder"}
		}, known{0, true, false}, api.ErrPreconditionFailed, api.ErrPreconditionFailed},
		"wrong argument": {func(string) toolspecs.CommandEntry {
			return toolspecs.CommandEntry{Argv: []string{"echo", "x{{args.nul}}"}}
		}, known{0, true, false}, api.ErrValidation, api.ErrValidation},
	} {
		for kind, want := range map[api.Effect]api.ErrorType{api.EffectOnce: test.once,
			api.EffectIdempotent: test.repeatable} {
			ledger := filepath.Join(t.TempDir(), "ledger")
			spec := commandSpec(test.entry(ledger))
			spec.Execution.Effect = kind
			ctx, _, stop := executor.WithClock(t.Context(), time.Second)
			_, err := Executor{}.Execute(ctx, spec, json.RawMessage(`{"nul":"\u0000"}`))
			if err == nil {
				t.Fatalf("%s: the call succeeded", name)
			}
			e := executor.CallError(ctx, err, spec)
			stop()
			lines, _ := os.ReadFile(ledger)
			got := known{strings.Count(string(lines), "effect"), e.NotStarted, e.MayHaveActed()}
			if got != test.want || e.Type != want {
				t.Errorf("%s, %s: got %+v, %+v", name, kind, got, e)
			}
		}
	}
}
