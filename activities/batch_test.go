package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/activitytest"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// Each call gets its part of the answer, truncated so that all parts fit into history. A hook after
// the call gets each part with the call's arguments and can stop a single one. The process caches
// each message for the next step.
func TestApart_SplitsAnswerOfBatch(t *testing.T) {
	var received []string
	registered, err := hooks.New(tool.NewAfterCall("h", func(_ context.Context,
		c tool.HookCall, output json.RawMessage) (json.RawMessage, error) {
		received = append(received, c.ID+" "+string(c.Arguments)+" "+string(output)[:8])
		if c.ID == "2" {
			return nil, fmt.Errorf("not this one")
		}
		return nil, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	catalog := catalogOf(t, activitytest.BatchSpec("stat",
		func(s *toolspecs.Spec) { s.Execution.MaxResult = 1 << 20 }))
	b := setUp(t, catalog, func(c *Config) { c.Hooks = registered })
	compiled, _ := catalog.Get("stat")
	long := strings.Repeat("x", 1<<19-100)
	x := attempt{id: "1", tool: "stat"}
	x.Arguments = json.RawMessage(`{"paths":["a","b","c"],"unit":"kB"}`)
	x.Parts = []api.Part{{ID: "1", Elements: 1}, {ID: "2", Elements: 2}, {ID: "3"}}
	x.Hooks = []api.Hook{{Name: "h", OnError: api.HookBlocks}}
	x.Origin.Caller.Type = api.CallerAgent
	answer := executor.Answer{Output: json.RawMessage(`["` + long + `","bbbbbb","cc"]`),
		Notes: []string{"noted"}}
	x.Parts = x.Parts[:2]
	result, failure := b.apart(t.Context(), compiled, answer, x, time.Second)
	if failure != nil {
		t.Fatal(failure)
	}
	first, second := result.Parts[0], result.Parts[1]
	if first.Result == nil || first.Result.Cut != 0 || first.Result.Notes[0] != "noted" ||
		first.Result.ExecutionMicros != 1_000_000 {
		t.Errorf("the first part: cut %d, %v", first.Result.Cut, first.Error)
	}
	if second.Error == nil || second.Error.Message != `stat answered, but its answer is withheld because the hook "h" after the call failed: not this one` {
		t.Errorf("the second part: %+v", second)
	}
	if len(received) != 2 || received[1] != `2 {"paths":["b","c"],"unit":"kB"} ["bbbbbb` {
		t.Errorf("the hook received %q", received)
	}
	for _, output := range []string{`["a"]`, `{}`, `"abc"`} {
		if _, failure := b.apart(t.Context(), compiled,
			executor.Answer{Output: json.RawMessage(output)}, x, 0); failure == nil ||
			failure.Type != api.ErrInvalidOutput {
			t.Errorf("%s is split: %v", output, failure)
		}
	}
	x.Parts = append(x.Parts, slices.Repeat([]api.Part{{ID: "n", Elements: 1}}, 3)...)
	x.Hooks = nil
	x.Arguments = json.RawMessage(`{"paths":["a","b","c","d","e","f"]}`)
	answer.Output = json.RawMessage(`["` + strings.Repeat(long+`","`, 5) + `end"]`)
	result, failure = b.apart(t.Context(), compiled, answer, x, 0)
	if size := len(result.Parts[0].Result.Output) +
		len(result.Parts[1].Result.Output); failure != nil || result.Parts[1].Result.Cut == 0 ||
		size > 2*maxBatched/5+100 {
		t.Errorf("two of five parts have %d bytes, %v", size, failure)
	}
	if all := x.outcomes(api.CallOutcome{Error: api.Errorf(api.ErrTimeout,
		"late")}); len(all) != 5 || all[4].ID != "n" || all[4].Error == nil {
		t.Errorf("the failure is reported to %+v", all)
	}
}
