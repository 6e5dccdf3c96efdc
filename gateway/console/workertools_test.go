package console

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/workerreport"
)

// askedConsole returns a console that asks workers for their tools by a function.
func askedConsole(t *testing.T, ask func(context.Context) (workerreport.Report, error)) *Console {
	t.Helper()
	catalog := consoleOf(t, waitingRun(), approver).config.Catalog
	c := newConsole(Config{Catalog: catalog, Workers: ask,
		Principal: func(*http.Request) Principal { return approver }}, waitingRun())
	return c
}

// reported returns a report of workers by their name and the version of refund; empty for none.
func reported(t *testing.T, digest string, workers ...[2]string) workerreport.Report {
	t.Helper()
	r := workerreport.Report{Catalogs: map[string][]workerreport.ToolVersion{}}
	for _, w := range workers {
		tools := []workerreport.ToolVersion{{Name: "lookup", Version: "1.0.0", Digest: "l"}}
		if w[1] != "" {
			d := "another"
			if w[1] == "1.0.0" {
				d = digest
			}
			tools = append(tools, workerreport.ToolVersion{Name: "refund", Version: w[1], Digest: d})
		}
		r.Catalogs["of "+w[0]] = tools
		r.Workers = append(r.Workers, workerreport.Catalog{Worker: w[0], Digest: "of " + w[0],
			Tools: len(tools), Lanes: []string{"general"}, Loaded: asked})
	}
	return r
}

// The page of tools shows which workers have which version, asks them once for many browsers, and
// keeps what they said when they do not answer any more.
func TestTools_ShowVersionsOnWorkers(t *testing.T) {
	var asks atomic.Int32
	var away atomic.Bool
	digest := ""
	c := askedConsole(t, func(context.Context) (workerreport.Report, error) {
		asks.Add(1)
		if away.Load() {
			return workerreport.Report{}, errors.New("no worker answers")
		}
		r := reported(t, digest, [2]string{"1@a", "1.0.0"}, [2]string{"2@b", "1.0.0"},
			[2]string{"3@<c>", "2.0.0"}, [2]string{"4@d", ""})
		r.Workers = append(r.Workers, workerreport.Catalog{Worker: "5@e", Failure: "timed out"})
		return r, nil
	})
	refund, _ := c.config.Catalog().Get("refund")
	digest = refund.Digest
	for range 3 {
		page := get(c, "/console/tools").Body.String()
		for _, want := range []string{"same on 2 workers", "2.0.0, another on 1 worker",
			`title="3@&lt;c&gt; "`, "missing on 1 worker", "no answer: timed out",
			"5 workers answered at"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page does not have %q", want)
			}
		}
	}
	if asks.Load() != 1 {
		t.Errorf("the workers were asked %d times", asks.Load())
	}
	away.Store(true)
	c.workers.mu.Lock()
	c.workers.tried = time.Time{}
	c.workers.mu.Unlock()
	if page := get(c, "/console/tools").Body.String(); !strings.Contains(page,
		"They do not answer now.") || !strings.Contains(page, "same on 2 workers") {
		t.Errorf("without an answer: %s", page)
	}
	nobody := askedConsole(t, func(context.Context) (workerreport.Report, error) {
		return workerreport.Report{}, errors.New("no worker answers")
	})
	if page := get(nobody, "/console/tools").Body.String(); !strings.Contains(page,
		"No worker has answered.") || strings.Contains(page, "on workers") {
		t.Errorf("without workers: %s", page)
	}
}

// A run shows what it has used of its limits.
func TestRun_ShowsItsLimits(t *testing.T) {
	f := waitingRun()
	f.run.Limits = &api.Limits{Turns: 50, Calls: 20, Tokens: 9000, Cost: 1.5,
		WallTime: api.Duration(time.Hour)}
	f.run.Usage = api.Usage{Turns: 3, InputTokens: 10, OutputTokens: 20, Cost: 0.5}
	page := get(consoleOf(t, f, approver), "/console/run?id=run%2F1").Body.String()
	for _, want := range []string{"1 of 20", "3 of 50", "10 in, 20 out, of 9,000",
		"$0.5000 of $1.5000", "of 1 h 0 min"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
