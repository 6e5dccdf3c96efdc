package e2e

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
)

// spender returns an agent that charges 20 n times, in as many turns. The arguments of its calls
// differ, since a call that was refused several times with the same arguments is refused for that.
func spender(n int) *api.Agent {
	var steps []api.ScriptStep
	for i := range n {
		steps = append(steps, step(named(fmt.Sprint("c", i), call("charge",
			fmt.Sprintf(`{"mark":"20 for %d","ms":20}`, i)))))
	}
	return withTools(agent(append(steps, answer("done"))...), "charge")
}

// spend starts a run of a principal.
func (l *lab) spend(id, principal string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	return l.run(api.AgentWorkflow, id, api.RunInput{Agent: a,
		Caller: api.Caller{Type: api.CallerDirect, ID: principal}})
}

// charged returns the sum of what calls charged, by the tools' journal.
func (l *lab) charged() (sum int) {
	l.t.Helper()
	for _, e := range l.entries() {
		amount, _, _ := strings.Cut(e.Text, " ")
		n, err := strconv.Atoi(amount)
		if err != nil {
			l.t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// withRules returns the flags of workers with rules and the tool charge.
func (l *lab) withRules(rules string) []string {
	l.t.Helper()
	file, dir := filepath.Join(l.t.TempDir(), "policies.yaml"), l.t.TempDir()
	l.writeFile(file, rules)
	l.writeFile(filepath.Join(dir, "charge.yaml"), `{name: charge, version: 1.0.0,
description: Charges an amount., entry: {type: function, handler: charge},
execution: {effect: once, heartbeat: 1s}, parameters: [
  {name: mark, type: string, required: true}, {name: ms, type: integer, required: true}]}`)
	return []string{"--policies-file", file, "--tools", dir}
}

const spending = `policies:
  - {name: spending, tools: [charge], then: deny, message: the day's limit is 300,
     when: "principal.total('ms', '24h') > 300"}
`

// Concurrent runs of one principal on two workers, which are killed with kill -9, charge exactly up
// to the limit, by a journal outside the system. Another principal has a limit of its own.
func TestOverTime_RacingRunsCannotExceedASum(t *testing.T) {
	l := newLab(t)
	flags := l.withRules(spending)
	workers := []*testserver.Process{l.worker(flags...), l.worker(flags...)}
	const runs, calls = 4, 8
	var all []client.WorkflowRun
	for i := range runs {
		all = append(all, l.spend(fmt.Sprint("spender-", i), "ada", spender(calls)))
	}
	for i, worker := range workers {
		l.awaitEntries(4 * (i + 1))
		worker.Kill()
		l.worker(flags...)
	}
	admitted := 0
	for _, run := range all {
		l.result(run)
		for _, r := range l.records(run) {
			if r.Status != api.CallRefused {
				admitted++
				continue
			}
			if len(r.Policies) != 1 || !strings.Contains(r.Policies[0].Saw,
				"principal.total(charge, ms, 24h0m0s) = 3") {
				t.Errorf("call %s of %s: %+v, %+v", r.CallID, run.GetID(), r.Error, r.Policies)
			}
		}
	}
	// A call whose worker was killed counts, and may not have charged anything.
	if sum := l.charged(); admitted != 15 || sum > 300 || sum < 300-4*20*len(workers) {
		t.Errorf("%d calls were admitted, and charged %d", admitted, sum)
	}
	before := l.charged()
	l.result(l.spend("other", "bob", spender(2)))
	if sum := l.charged(); sum != before+40 {
		t.Errorf("another principal charged %d", sum-before)
	}
}

// Concurrent runs of a principal on two workers, which are killed with kill -9, end at a budget of
// tokens: they exceed it by the steps at most that ran when it was used up. The ledger counted each
// step of theirs. Another principal has a budget of its own.
func TestBudgets_EndTheRunsOfAPrincipal(t *testing.T) {
	l := newLab(t)
	const runs, calls, limit = 4, 30, 5000
	flags := l.withRules(fmt.Sprintf("budgets: [{name: monthly, period: month, tokens: %d}]",
		limit))
	workers := []*testserver.Process{l.worker(flags...), l.worker(flags...)}
	var all []client.WorkflowRun
	for i := range runs {
		all = append(all, l.spend(fmt.Sprint("spender-", i), "ada", spender(calls)))
	}
	for i, worker := range workers {
		l.awaitEntries(4 * (i + 1))
		worker.Kill()
		l.worker(flags...)
	}
	used, steps := 0, 0
	for _, run := range all {
		r := l.result(run)
		tokens := r.Usage.InputTokens + r.Usage.OutputTokens
		used += tokens
		steps += 2*tokens/max(r.Usage.Turns, 1) + 1 // the last step is the longest of the run
		if r.Outcome != api.OutcomeLimit || r.Limit != "principal" ||
			!strings.HasPrefix(r.Answer, "The budget monthly of ada is used up: ") {
			t.Errorf("%s ended with %+v", run.GetID(), r)
		}
	}
	counted := l.counted("ada")
	if used > limit+steps || counted < limit || counted < used {
		t.Errorf("runs used %d tokens of %d, where steps have about %d; %d are counted", used, limit,
			steps/runs, counted)
	}
	if r := l.result(l.spend("other", "bob", spender(1))); r.Outcome != api.OutcomeAnswered {
		t.Errorf("another principal's run ended with %+v", r)
	}
}

// counted returns the tokens that the ledger of a principal has counted.
func (l *lab) counted(principal string) int {
	l.t.Helper()
	var all ledgerrules.PrincipalUsage
	id := api.LedgerWorkflowID(api.DefaultTaskQueue, api.ScopePrincipalCalls,
		api.Caller{ID: principal}, "", "")
	value, err := l.Client.QueryWorkflow(l.ctx, id, "", api.PrincipalUsageQuery)
	if err == nil {
		err = value.Get(&all)
	}
	if err != nil || len(all.Periods) != 1 || all.Principal != principal {
		l.t.Fatalf("the ledger of %s: %+v, %v", principal, all, err)
	}
	return all.Periods[0].Tokens
}
