package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/stats"
	"go.temporal.io/sdk/client"
)

// mixed are courses of the runs of TestReport_EqualsCounting; solved is whether each reaches its
// goal.
var mixed = []struct {
	solved bool
	start  func(l *lab, id string) client.WorkflowRun
}{
	{true, func(l *lab, id string) client.WorkflowRun {
		return l.run(api.CallWorkflow, id, api.RunInput{Call: &api.Call{Tool: "append",
			Arguments: `{"text":"direct"}`}})
	}},
	{false, func(l *lab, id string) client.WorkflowRun {
		return l.run(api.CallWorkflow, id, api.RunInput{Call: &api.Call{Tool: "broken",
			Arguments: `{}`}})
	}},
	{true, func(l *lab, id string) client.WorkflowRun {
		return l.runAgent(id, withTools(agent(step(call("append", `{"text":"a"}`),
			call("flaky", `{}`), call("nosuch", `{}`), call("append", `{"txet":1}`)),
			answer("done")), "append flaky"))
	}},
	{false, func(l *lab, id string) client.WorkflowRun {
		a := withTools(appendTurns(3), "append")
		a.Limits = api.Limits{Turns: 1}
		return l.runAgent(id, a)
	}},
	{true, func(l *lab, id string) client.WorkflowRun {
		return l.runAgent(id, withTools(agent(step(call("writer", `{"about":"rails"}`)),
			answer("done")), "writer"))
	}},
	{true, func(l *lab, id string) client.WorkflowRun {
		return l.run(api.AgentWorkflow, id, api.RunInput{Agent: batchedAgent(), Prompt: "Go."})
	}},
	{true, func(l *lab, id string) client.WorkflowRun {
		a := withTools(agent(step(call("append", `{"text":"withheld"}`)), answer("done")), "append")
		return l.run(api.AgentWorkflow, id, api.RunInput{Agent: a, Prompt: "Go.", DryRun: true})
	}},
	{true, func(l *lab, id string) client.WorkflowRun {
		a := withTools(agent(answer("done")), "append")
		a.Checker = &api.Checker{Tool: "append", Arguments: json.RawMessage(`{"text": "{{args.answer}}"}`)} // which decides nothing
		return l.runAgent(id, a)
	}},
	{false, func(l *lab, id string) client.WorkflowRun { // what it asks for is cancelled
		run := l.runAgent(id, withTools(agent(step(call("hold_read", `{}`)), answer("done")),
			"hold_read"))
		l.await("for a call of "+id, func() bool { return l.executions()["1.1 hold_read"] > 0 })
		if err := l.Client.CancelWorkflow(l.ctx, id, ""); err != nil {
			l.t.Fatal(err)
		}
		return run
	}},
}

// starter report of 200 runs with all kinds of ends, retries, refused and withheld calls,
// sub-agents, batches, approvals and a person's evaluation has the same numbers as counts of the
// records, the started runs and the tools' journal.
func TestReport_EqualsCounting(t *testing.T) {
	l := newLab(t)
	l.worker()
	all := 200
	if testing.Short() {
		all = 50
	}
	solved, runs := 0, []client.WorkflowRun{l.decisions("approved")}
	for n := 1; n < all; n++ {
		one := mixed[n%len(mixed)]
		runs = append(runs, one.start(l, "mixed-"+strconv.Itoa(n)))
		if one.solved {
			solved++
		}
	}
	for _, run := range runs {
		_ = run.Get(l.ctx, nil) // many of them fail
	}
	l.say("evaluate", "mixed-1", "solved", "--by", "ada") // broken; its end says otherwise
	var got stats.Report
	l.await("for all runs and the evaluation to be listed", func() bool {
		got = stats.Report{}
		if err := json.Unmarshal([]byte(l.say("report", "--limit", "1000", "--output", "json")),
			&got); err != nil {
			t.Fatal(err)
		}
		return got.Runs.All == all && got.Runs.ByPeople == 1 && got.Runs.Open == 0
	})
	if want := (stats.RunCounts{All: all, Successful: solved + 2, Solved: 1,
		Failed: all - solved - 2, ByPeople: 1}); got.Runs != want {
		t.Errorf("runs %+v, want %+v", got.Runs, want)
	}

	counts, tokens, executed := map[string]int{}, 0, map[string]int{}
	for line := range strings.Lines(l.say("records", "--limit", "1000", "--output", "json")) {
		var r struct {
			Tool, Status string
			DryRun       bool `json:"dry_run"`
			Batched      bool
			Attempts     int
			Result       int `json:"result_tokens"`
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if counts["calls"]++; r.DryRun {
			counts["withheld"]++
			continue
		}
		counts[r.Status]++
		counts["retries"] += max(r.Attempts-1, 0)
		if tokens += r.Result; r.Batched {
			counts["batched"]++
		}
		if r.Status == "completed" {
			executed[r.Tool]++
		}
	}
	c := got.Calls
	want := fmt.Sprint(counts["calls"], counts["completed"], counts["failed"], counts["refused"],
		counts["cancelled"], counts["withheld"], counts["batched"], counts["retries"], tokens)
	if text := fmt.Sprint(c.Calls, c.Completed, c.Failed, c.Refused, c.Cancelled, c.Withheld,
		c.Batched, c.Retries, c.ResultTokens); text != want {
		t.Errorf("calls %s, want %s", text, want)
	}
	if rate := float64(counts["completed"]) / float64(counts["calls"]-counts["withheld"]); math.Abs(
		rate-c.SuccessRate) > 1e-9 {
		t.Errorf("success rate %v, want %v", c.SuccessRate, rate)
	}
	done := map[string]int{}
	for _, e := range l.entries() {
		done[e.Tool]++
	}
	for _, g := range got.Tools {
		if g.Completed != executed[g.Name] || (g.Name == "append" || g.Name == "publish") &&
			g.Completed != done[g.Name] {
			t.Errorf("%s completed %d times, %d by the records, %d by what it did", g.Name,
				g.Completed, executed[g.Name], done[g.Name])
		}
	}
	if perRun := float64(got.Usage.InputTokens+got.Usage.OutputTokens) / float64(solved+
		2); math.Abs(perRun-got.TokensPerSuccessfulRun) > 1e-6 || len(got.Agents) != 2 {
		t.Errorf("TPST %v, want %v; agents %+v", got.TokensPerSuccessfulRun, perRun,
			got.Agents)
	}
}

// say runs starter and returns its standard output.
func (l *lab) say(args ...string) string {
	l.t.Helper()
	out, err := l.starter(args...).Output()
	if err != nil {
		l.t.Fatalf("starter %v: %v", args, err)
	}
	return string(out)
}
