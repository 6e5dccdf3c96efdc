package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"go.temporal.io/sdk/client"
)

// ledgerCalls is how many calls of one principal begin at once.
const ledgerCalls = 400

// ledgerRule asks the principal's ledger about each call and denies none.
const ledgerRule = `policies:
  - {name: spending, tools: [payload_general], then: deny, message: too much,
     when: "principal.total('size', '24h') > 1000000000"}
`

// measureLedgerCalls measures how many calls a second one principal makes that a rule about
// earlier calls is asked about, and what that is of the rate without the rule. The calls are one
// plan's, because direct calls would measure the start of 400 workflows, too. A call that is
// refused fails its plan, and the figures with it.
func measureLedgerCalls(ctx context.Context, l *lab) (map[string]float64, error) {
	return l.ledgerCalls(ctx, ledgerCalls)
}

func (l *lab) ledgerCalls(ctx context.Context, calls int) (map[string]float64, error) {
	free, err := l.planRate(ctx, calls, "")
	if err != nil {
		return nil, err
	}
	counted, err := l.planRate(ctx, calls, ledgerRule)
	return map[string]float64{"ledger_calls_per_s": counted, "ledger_calls_ratio": counted / free}, err
}

// withPolicies returns a yard, with the flags that give its workers the policies.
func withPolicies(ctx context.Context, l *lab, policies string) (context.Context, *yard, []string,
	error) {
	ctx, y, err := newYard(ctx, l, "lanes: {}", api.LaneGeneral)
	if err != nil || policies == "" {
		return ctx, y, nil, err
	}
	path := filepath.Join(y.dir, "policies.yaml")
	return ctx, y, []string{"--policies-file", path}, os.WriteFile(path, []byte(policies), 0o600)
}

// planRate returns how many calls a second one principal's plan makes at once under the policies,
// the median of several runs.
func (l *lab) planRate(ctx context.Context, calls int, policies string) (float64, error) {
	ctx, y, flags, err := withPolicies(ctx, l, policies)
	if err != nil {
		return 0, err
	}
	defer y.close()
	if _, err := y.startAs(serveWorker, []string{api.LaneGeneral}, flags...); err != nil {
		return 0, err
	}
	plan := api.Plan{Name: "at-once"}
	for i := range calls {
		plan.Calls = append(plan.Calls, api.PlanCall{ID: fmt.Sprint("c", i),
			Tool: "payload_general", Arguments: json.RawMessage(`{"size":8}`)})
	}
	packed := api.Pack(plan)
	var rates []float64
	for range 1 + max(l.pairs/5, 1) { // the first one warms up
		began := time.Now()
		run, err := l.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: yardQueue},
			api.PlanWorkflow, api.RunInput{Plan: &packed, Caller: api.Caller{ID: "ada"}})
		if err == nil {
			err = run.Get(ctx, nil)
		}
		if err != nil {
			return 0, err
		}
		rates = append(rates, float64(calls)/time.Since(began).Seconds())
	}
	rates = rates[1:]
	slices.Sort(rates)
	return rates[len(rates)/2], nil
}

// measureLedgerRecovery fills a ledger to its bound, kills the worker that has it in its memory,
// and returns how long it takes until the ledger answers on another one.
func measureLedgerRecovery(ctx context.Context, l *lab) (map[string]float64, error) {
	ctx, y, flags, err := withPolicies(ctx, l, ledgerRule)
	if err != nil {
		return nil, err
	}
	defer y.close()
	doomed, err := y.startAs(serveWorker, []string{api.LaneGeneral}, flags...)
	if err != nil {
		return nil, err
	}
	f := filler{ledgers.New(l.client), ledgers.Ledger{ID: "switchyard/ledger/full",
		Queue: yardQueue, Scope: api.ScopePrincipalCalls, Of: "ada"}}
	if err := f.fill(ctx); err != nil {
		return nil, err
	}
	if _, err := y.startAs(serveWorker, []string{api.LaneGeneral}, flags...); err != nil {
		return nil, err
	}
	killed := time.Now()
	doomed.end(syscall.SIGKILL)
	answers, err := f.client.Reserve(ctx, f.to, f.request(0))
	if err == nil && !strings.HasPrefix(answers[0].Full, "it counts ") {
		err = fmt.Errorf("the ledger is not full: %+v", answers[0])
	}
	return map[string]float64{"ledger_recovery_s": time.Since(killed).Seconds()}, err
}

// filler fills a ledger.
type filler struct {
	client *ledgers.Client
	to     ledgers.Ledger
}

func (f filler) request(n int) ledgerrules.Request {
	call := fmt.Sprint("1.", n)
	r := ledgerrules.Request{Run: "full", Call: call, Tool: "pay", Holder: call, Record: true,
		Keep: api.Duration(24 * time.Hour), Args: map[string]json.RawMessage{"amount": []byte("12.34")}}
	for hours := range 4 {
		r.Queries = append(r.Queries, ledgerrules.Query{Kind: ledgerrules.SumArguments, Fields: []string{"amount"},
			Within: api.Duration(time.Duration(hours+1) * time.Hour)})
	}
	return r
}

// fill enters calls, 100 at a time, and ends them, until the ledger takes no more.
func (f filler) fill(ctx context.Context) error {
	const atOnce = 100
	for first := 1; ; first += atOnce {
		var requests []ledgerrules.Request
		var ends []ledgerrules.End
		for n := first; n < first+atOnce; n++ {
			r := f.request(n)
			requests = append(requests, r)
			ends = append(ends, ledgerrules.End{Run: r.Run, Call: r.Call, Holder: r.Holder,
				Made: true})
		}
		answers, err := f.client.Reserve(ctx, f.to, requests...)
		if err == nil {
			err = f.client.Close(ctx, ledgerrules.Ends{Ledgers: []ledgerrules.Calls{
				{WorkflowID: f.to.ID, Calls: ends}}})
		}
		if err != nil || answers[atOnce-1].Full != "" {
			return err
		}
	}
}
