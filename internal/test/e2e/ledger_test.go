package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
)

// generous is a rule that counts all calls and denies none.
const generous = `policies:
  - {name: spending, tools: [charge], then: deny, message: the day's limit is a million,
     when: "principal.total('ms', '24h') > 1000000"}
`

// However many calls of one principal begin at once, none is refused, each is made once, and the
// ledger counts each once.
func TestOverTime_CallsAtOnceAreNotRefused(t *testing.T) {
	l := newLab(t)
	calls := 400
	if testing.Short() {
		calls = 60
	}
	flags := l.withRules(generous)
	// 400 calls at once delay heartbeats by more than a second.
	spec := filepath.Join(flags[len(flags)-1], "charge.yaml")
	text, err := os.ReadFile(spec)
	l.must(err)
	l.writeFile(spec, strings.Replace(string(text), "heartbeat: 1s", "heartbeat: 1m", 1))
	l.worker(flags...)
	c := switchyard.NewClient(l.Client, switchyard.Options{Caller: "ada"})
	// Ten clients start them, because 400 starts at once exceed the deadlines of a busy server.
	runs := make([]*switchyard.Run, calls)
	var all sync.WaitGroup
	for first := range 10 {
		all.Go(func() {
			for i := first; i < calls; i += 10 {
				var err error
				runs[i], err = c.Start(l.ctx, switchyard.Start{Tool: "charge",
					Arguments:    map[string]any{"mark": fmt.Sprint("1 for ", i), "ms": 1},
					StartOptions: switchyard.StartOptions{ID: fmt.Sprint("call-", i)}})
				if err != nil {
					t.Errorf("start of call %d: %v", i, err)
					return
				}
			}
		})
	}
	all.Wait()
	for i, run := range runs {
		if run == nil {
			continue
		}
		if _, err := run.Result(l.ctx); err != nil {
			t.Errorf("call %d: %v", i, err)
		}
	}
	if sum := l.charged(); sum != calls {
		t.Errorf("%d of %d calls charged", sum, calls)
	}
	answer := l.askLedger(ledgers.Ledger{ID: api.LedgerWorkflowID(api.DefaultTaskQueue,
		api.ScopePrincipalCalls, api.Caller{ID: "ada"}, "", "")}, ledgerrules.Request{Run: "me",
		Call: "1.1", Queries: []ledgerrules.Query{{Kind: ledgerrules.CountCalls,
			Within: api.Duration(time.Hour)}}})
	if n := answer.Results[0].Count; n != calls {
		t.Errorf("the ledger counts %d of %d calls", n, calls)
	}
}

// askLedger asks a ledger, which need not exist, about one call.
func (l *lab) askLedger(to ledgers.Ledger, r ledgerrules.Request) ledgerrules.Answer {
	l.t.Helper()
	to.Queue, to.Scope = api.DefaultTaskQueue, api.ScopePrincipalCalls
	answers, err := ledgers.New(l.Client).Reserve(l.ctx, to, r)
	if err != nil {
		l.t.Fatal(err)
	}
	return answers[0]
}

// A ledger that is filled to its bound, and whose history is as long as it becomes, answers soon
// after its worker was killed.
func TestLedger_AnswersSoonAfterItsWorkerIsKilledWhenFull(t *testing.T) {
	inFull(t)
	if withoutCache() {
		t.Skip("without a cache each of the ledger's tasks replays its whole history")
	}
	l := newLab(t)
	doomed := l.worker()
	to := ledgers.Ledger{ID: "full", Queue: api.DefaultTaskQueue, Scope: api.ScopePrincipalCalls}
	c := ledgers.New(l.Client)
	full := false
	for first := 0; !full; first += 100 {
		requests := ledgerRequests(first, 100)
		answers, err := c.Reserve(l.ctx, to, requests...)
		if err != nil {
			t.Fatal(err)
		}
		full = answers[len(answers)-1].Full != ""
		ends := ledgerrules.Calls{WorkflowID: to.ID}
		for _, r := range requests {
			ends.Calls = append(ends.Calls, ledgerrules.End{Run: r.Run, Call: r.Call,
				Holder: r.Holder, Made: true})
		}
		l.must(c.Close(l.ctx, ledgerrules.Ends{Ledgers: []ledgerrules.Calls{ends}}))
	}
	// As many questions as the work of one execution allows, which a replay answers again.
	question := ledgerRequests(0, 1)[0]
	question.Run, question.Record = "me", false
	for range 300 {
		l.askLedger(to, question)
	}
	l.worker()
	doomed.Kill()
	killed := time.Now()
	answer := l.askLedger(to, question)
	if took := time.Since(killed); took > answerWithin() || answer.Results[0].Sum == "0" {
		t.Errorf("the answer %+v took %v", answer, took)
	}
}

// ledgerRequests are requests to enter calls that rules with four windows ask about.
func ledgerRequests(first, n int) (all []ledgerrules.Request) {
	for i := range n {
		call := fmt.Sprint("1.", first+i)
		r := ledgerrules.Request{Run: "payer", Call: call, Tool: "pay", Holder: call, Record: true,
			Keep: api.Duration(24 * time.Hour),
			Args: map[string]json.RawMessage{"amount": []byte("12.34")}}
		for hours := range 4 {
			r.Queries = append(r.Queries, ledgerrules.Query{Kind: ledgerrules.SumArguments,
				Within: api.Duration(time.Duration(hours+1) * time.Hour),
				Fields: []string{"amount"}})
		}
		all = append(all, r)
	}
	return all
}
