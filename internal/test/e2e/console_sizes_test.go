package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// consoleRuns and consoleCalls are flags of make test/console-sizes.
var (
	consoleRuns  = flag.Int("console-runs", 0, "number of runs of TestConsoleSizes; 0 skips it")
	consoleCalls = flag.Int("console-calls", 5000, "number of calls of its long run")
)

const (
	// sizeTurns are the turns of the long run, sizeRounds how often each page is opened.
	sizeTurns  = 50
	sizeRounds = 9
	// sizesWithin bounds the test.
	sizesWithin = 50 * time.Minute
)

// TestConsoleSizes measures how long the pages of the console take with many runs, and with a run
// of many calls, beside the list of Temporal's Web UI in the same browser.
func TestConsoleSizes(t *testing.T) {
	if *consoleRuns == 0 {
		t.Skip("make test/console-sizes runs this test")
	}
	b := newBrowserLab(t, "--headless=false")
	b.within(sizesWithin)
	b.worker("--tools", "testdata/tools")
	_, console := b.console("127.0.0.1:0", "--ui-address", b.UI)
	many := call("produce", `{"bytes":100}`)
	many.Repeat = *consoleCalls / sizeTurns
	var turns []api.ScriptStep
	for range sizeTurns {
		turns = append(turns, step(many))
	}
	large := b.runAgent("large", withTools(agent(append(turns, answer("done"))...), "produce"))
	c := b.dial()
	began := time.Now()
	numbers := make(chan int)
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			for i := range numbers {
				run, err := c.Call(b.ctx, "append", arguments("text", fmt.Sprint("run ", i)),
					switchyard.StartOptions{ID: fmt.Sprintf("small-%05d", i)})
				if err == nil {
					_, err = run.Result(b.ctx)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range *consoleRuns {
		numbers <- i
	}
	close(numbers)
	all.Wait()
	if r := b.result(large); r.Usage.Calls != *consoleCalls {
		t.Errorf("the long run made %d calls", r.Usage.Calls)
	}
	t.Logf("%d runs and %d calls took %s", *consoleRuns, *consoleCalls,
		time.Since(began).Round(time.Second))
	newest := fmt.Sprintf("small-%05d", *consoleRuns-1)
	b.await("for the newest run in the list", func() bool {
		list, _, err := c.List(b.ctx, switchyard.RunQuery{}, 50, nil)
		b.must(err)
		for _, r := range list {
			if r.WorkflowID == newest {
				return true
			}
		}
		return false
	})
	ui := b.UI + "/namespaces/default/workflows?query=" +
		url.QueryEscape("SwitchyardKind IS NOT NULL")
	b.browse("sizes", map[string]any{"console": console, "rounds": sizeRounds,
		"pages": map[string]any{
			"runs":               map[string]string{"path": "runs", "text": newest},
			"runs, filtered":     map[string]string{"path": "runs?status=completed&tool=append", "text": newest},
			"Temporal UI's list": map[string]string{"path": ui, "text": newest},
			"run of many calls":  map[string]string{"path": "run?id=large", "text": "Earlier events"},
			"inbox":              map[string]string{"path": "inbox", "text": "Nothing waits"},
			"report":             map[string]string{"path": "report", "text": "About 100 runs"},
		}}, browserSteps{"measured": func() any {
		var measured map[string]struct {
			First, Rest    struct{ Painted, Shown int }
			Painted, Shown int
		}
		b.must(json.Unmarshal(b.data, &measured))
		for name, m := range measured {
			t.Logf("%-20s first paint %4d ms, first time %4d ms; complete %4d ms, first time %4d ms",
				name, m.Painted, m.First.Painted, m.Shown, m.First.Shown)
		}
		for _, name := range []string{"runs", "runs, filtered", "run of many calls", "inbox"} {
			if m := measured[name]; m.Painted >= 1000 {
				t.Errorf("%s: the first paint takes %d ms", name, m.Painted)
			}
		}
		return nil
	}})
}
