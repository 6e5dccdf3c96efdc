package ledger_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/workflows/ledger"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// lab runs one ledger.
type lab struct {
	*testsuite.TestWorkflowEnvironment
	t *testing.T
	// counts are what requests were told about earlier calls, in order.
	counts []string
	n      int
	// begin is the state that the ledger begins with.
	begin ledgerrules.State
}

func newLab(t *testing.T) *lab {
	var suite testsuite.WorkflowTestSuite
	l := &lab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t}
	l.RegisterWorkflowWithOptions(ledger.Ledger, workflow.RegisterOptions{Name: api.LedgerWorkflow})
	l.SetTestTimeout(20 * time.Second)
	return l
}

// request returns a request for a payment that is kept for an hour.
func request(run, call, holder, amount string, ends ...ledgerrules.End) ledgerrules.Request {
	return ledgerrules.Request{Run: run, Call: call, Tool: "pay", Holder: holder, Record: true,
		Keep: api.Duration(time.Hour), Args: map[string]json.RawMessage{"amount": []byte(amount)},
		Queries: []ledgerrules.Query{{Kind: ledgerrules.SumArguments,
			Within: api.Duration(time.Hour),
			Fields: []string{"amount"}}}, Ends: ends}
}

// ask sends requests after a time.
func (l *lab) ask(after time.Duration, all ...ledgerrules.Request) {
	l.RegisterDelayedCallback(func() {
		l.n++
		l.UpdateWorkflow(api.ReserveCallsUpdate, fmt.Sprint(l.n), &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { l.t.Error(err) },
			OnComplete: func(got any, err error) {
				answers, ok := got.([]ledgerrules.Answer)
				if err != nil || !ok {
					l.t.Errorf("%T, %v", got, err)
				}
				for _, a := range answers {
					if a.Full != "" {
						l.counts = append(l.counts, "full")
						continue
					}
					l.counts = append(l.counts, a.Results[0].Sum)
				}
			}}, all)
	}, after)
}

// end sends the ends of reservations after a time.
func (l *lab) end(after time.Duration, ends ...ledgerrules.End) {
	l.RegisterDelayedCallback(func() {
		l.SignalWorkflow(api.TellLedgerSignal, ledgerrules.News{Ends: ends})
	}, after)
}

// run runs the ledger until it ends, and compares what requests were told.
func (l *lab) run(want ...string) {
	l.t.Helper()
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(l.begin))
	if err := l.GetWorkflowError(); err != nil {
		l.t.Fatal(err)
	}
	if !slices.Equal(l.counts, want) {
		l.t.Errorf("requests were told %q, want %q", l.counts, want)
	}
}

// continues runs the ledger until it continues as new, and returns its state.
func (l *lab) continues() ledgerrules.State {
	l.t.Helper()
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(l.begin))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		l.t.Fatal(l.GetWorkflowError())
	}
	var state api.Packed[ledgerrules.State]
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &state); err != nil {
		l.t.Fatal(err)
	}
	return state.Value
}

func made(run, call, holder string) ledgerrules.End {
	return ledgerrules.End{Run: run, Call: call, Holder: holder, Made: true}
}

func dropped(run, call, holder string) ledgerrules.End {
	return ledgerrules.End{Run: run, Call: call, Holder: holder, Dropped: true}
}

// A call counts from its reservation until its window has passed after its end. The ledger ends
// when it has no calls left.
func TestLedger_CountsCallsInFlightAndEnded(t *testing.T) {
	l := newLab(t)
	l.ask(time.Second, request("a", "1.1", "h1", "10"))
	l.ask(2*time.Minute, request("b", "1.1", "h2", "5"))
	l.end(30*time.Hour, made("a", "1.1", "h1"))
	l.ask(30*time.Hour+time.Minute, request("b", "1.2", "h3", "1"))
	l.end(30*time.Hour+2*time.Minute, made("b", "1.1", "h2"),
		ledgerrules.End{Run: "b", Call: "1.2", Holder: "h3"}, made("c", "1.1", "unknown"))
	l.ask(31*time.Hour+time.Second, request("b", "1.3", "h4", "0"))
	l.end(31*time.Hour+time.Minute, ledgerrules.End{Run: "b", Call: "1.3", Holder: "h4"})
	l.run("0", "10", "15", "5")
}

// A repeated request finds its entry, and the calls that were entered after it do not count for it.
// Attempts at admission whose decision was not used take nothing from the others.
func TestLedger_CountsACallOnce(t *testing.T) {
	l := newLab(t)
	l.ask(1*time.Second, request("a", "1.1", "h1", "10"))
	l.ask(2*time.Second, request("b", "1.1", "h2", "5"))
	l.ask(3*time.Second, request("a", "1.1", "h3", "10")) // another attempt
	l.ask(4*time.Second, request("a", "1.1", "h4", "20")) // with other arguments
	l.end(5*time.Second, dropped("a", "1.1", "h1"))
	l.ask(6*time.Second, request("c", "1.1", "h5", "1"))
	l.end(7*time.Second, made("a", "1.1", "h4"))
	l.ask(8*time.Second, request("c", "1.2", "h6", "2", dropped("c", "1.1", "h5")))
	l.end(9*time.Second, made("b", "1.1", "h2"), dropped("c", "1.2", "h6"))
	l.run("0", "10", "0", "5", "35", "25")
}

// Calls that arrive together are entered in their order, and each is answered for the calls before
// it. The whole request can be repeated.
func TestLedger_AnswersCallsInTheirOrder(t *testing.T) {
	l := newLab(t)
	all := []ledgerrules.Request{request("a", "1.1", "h1", "10"), request("b", "1.1", "h2", "5"),
		request("a", "1.2", "h3", "1", dropped("b", "1.1", "h2")), request("c", "1.1", "h4", "2")}
	l.ask(time.Second, all[:2]...)
	l.ask(2*time.Second, all...)
	l.end(3*time.Second, made("a", "1.1", "h1"), made("a", "1.2", "h3"), made("c", "1.1", "h4"))
	l.run("0", "10", "0", "10", "10", "11")
}

// An attempt at admission that is given up before its request arrives enters nothing, though the
// request was on its way while no worker answered for the ledger. Another attempt does.
func TestLedger_AGiveUpWinsOverALateRequest(t *testing.T) {
	l := newLab(t)
	l.ask(time.Second, request("z", "9.9", "h0", "1")) // keeps the ledger open
	l.end(2*time.Second, dropped("a", "1.1", "h1"))
	l.ask(3*time.Second, request("a", "1.1", "h1", "1000"))
	l.end(4*time.Second, made("z", "9.9", "h0"))
	l.ask(5*time.Second, request("b", "1.1", "h2", "5"))
	l.ask(6*time.Second, request("a", "1.1", "h3", "100"))
	l.ask(7*time.Second, request("c", "1.1", "h4", "7"))
	l.end(8*time.Second, made("b", "1.1", "h2"), made("a", "1.1", "h3"), made("c", "1.1", "h4"))
	l.run("0", "1", "1", "6", "106")
}

// A request may arrive twice, and the second time in another execution of the ledger, which does
// not know that it was made.
func TestLedger_AGiveUpWinsOverARepeatedRequest(t *testing.T) {
	l := newLab(t)
	l.ask(time.Second, request("z", "9.9", "h0", "1")) // keeps the ledger open
	l.ask(2*time.Second, request("a", "1.1", "h1", "1000"))
	l.end(3*time.Second, dropped("a", "1.1", "h1"))
	l.ask(4*time.Second, request("a", "1.1", "h1", "1000"))
	l.ask(5*time.Second, request("b", "1.1", "h2", "5"))
	l.end(6*time.Second, made("z", "9.9", "h0"), made("b", "1.1", "h2"))
	l.run("0", "1", "1", "1")
}

// A request that the answers of which are too large is answered in part, so that the rest is asked
// again.
func TestLedger_AnswersOnlyWhatOneTaskCanDo(t *testing.T) {
	l := newLab(t)
	l.begin = manyCalls(l.Now(), ledgerrules.MaxCalls-100)
	var all []ledgerrules.Request
	for i := range 100 {
		r := request("new", fmt.Sprint("1.", i), fmt.Sprint("h", i), "1")
		r.Queries = append(r.Queries, ledgerrules.Query{Kind: ledgerrules.ListCalls,
			Within: api.Duration(time.Hour), Fields: []string{"amount"}})
		all = append(all, r)
	}
	l.ask(time.Second, all...)
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(l.begin))
	if n := len(l.counts); n < 1 || n >= 100 {
		t.Errorf("%d of 100 requests were answered", n)
	}
}

// Work, not events, decides when the ledger goes on in another execution: a replay has to fit a
// workflow task.
func TestLedger_ContinuesAsNewAfterABoundOfWork(t *testing.T) {
	l := newLab(t)
	l.begin = manyCalls(l.Now(), 4000)
	asks := request("a", "1.1", "h", "1")
	asks.Record = false
	const updates, atOnce = 200, 100
	for i := range updates {
		l.ask(time.Duration(i+1)*time.Millisecond, slices.Repeat([]ledgerrules.Request{asks},
			atOnce)...)
	}
	if state := l.continues(); len(state.Entries) != 4000 || len(l.counts) >= updates*atOnce/2 {
		t.Errorf("one execution answered %d of %d questions and goes on with %d calls",
			len(l.counts), updates*atOnce, len(state.Entries))
	}
}

// manyCalls is the state of a ledger with calls that have ended.
func manyCalls(now time.Time, n int) (s ledgerrules.State) {
	for i := range n {
		s.Entries = append(s.Entries, ledgerrules.Entry{Run: "many", Call: fmt.Sprint("1.", i),
			Tool: "pay", Reserved: now, Ended: now, Keep: api.Duration(time.Hour),
			Args: map[string]json.RawMessage{"amount": []byte("1")}, Holders: []string{"h"}})
	}
	return s
}

// A call that is admitted again and again does not grow without a bound.
func TestLedger_KeepsTheLastAttempts(t *testing.T) {
	l := newLab(t)
	for i := range 100 {
		l.ask(time.Duration(i+1)*time.Second, request("a", "1.1", fmt.Sprint("h", i), "10"))
	}
	l.RegisterDelayedCallback(func() { l.SetContinueAsNewSuggested(true) }, 2*time.Minute)
	state := l.continues()
	if len(state.Entries) != 1 || len(state.Entries[0].Holders) > 10 ||
		!slices.Contains(state.Entries[0].Holders, "h99") {
		t.Errorf("continued with %+v", state.Entries)
	}
}

// A call that only asks is not entered.
func TestLedger_EntersOnlyWhatRulesCount(t *testing.T) {
	l := newLab(t)
	r := request("a", "1.1", "h1", "10")
	r.Record = false
	l.ask(time.Second, r)
	l.ask(2*time.Second, request("b", "1.1", "h2", "5"))
	l.end(3*time.Second, made("b", "1.1", "h2"))
	l.run("0", "0")
}

// A full ledger takes no more calls, and forgets none.
func TestLedger_TakesNoMoreThanItsBounds(t *testing.T) {
	l := newLab(t)
	state := ledgerrules.State{}
	now := l.Now()
	for i := range ledgerrules.MaxEntries {
		state.Entries = append(state.Entries, ledgerrules.Entry{Run: "a", Call: fmt.Sprint(i),
			Tool: "pay", Reserved: now, Ended: now, Keep: api.Duration(time.Hour)})
	}
	l.ask(time.Second, request("b", "1.1", "h", "5"))
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(state))
	if !slices.Equal(l.counts, []string{"full"}) || l.GetWorkflowError() != nil {
		t.Errorf("got %q, %v", l.counts, l.GetWorkflowError())
	}
}

// A long history continues in a new one with all calls. A cancelled ledger goes on.
func TestLedger_ContinuesAsNew(t *testing.T) {
	l := newLab(t)
	l.ask(time.Second, request("a", "1.1", "h", strings.Repeat("1", 30)))
	l.RegisterDelayedCallback(l.CancelWorkflow, 2*time.Second)
	l.RegisterDelayedCallback(func() { l.SetContinueAsNewSuggested(true) }, 3*time.Second)
	l.end(2500*time.Millisecond, made("a", "1.1", "h"))
	l.begin.Scope = "principal"
	state := l.continues()
	if e := state.Entries; len(e) != 1 || e[0].Ended.IsZero() ||
		state.Scope != "principal" {
		t.Errorf("continued with %+v", state)
	}
}

// A run tells each ledger once of the calls that ended together, and of the reservation that
// counts.
func TestCalls_TellLedgersWhatBecameOfThem(t *testing.T) {
	l := newLab(t)
	var told []ledgerrules.Ends
	l.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		c := ledger.NewCalls(ctx, "run", func(s api.LedgerScope, _ string) string { return "of " + string(s) },
			func(ctx workflow.Context, ends ledgerrules.Ends) {
				told = append(told, ends)
				_ = workflow.Sleep(ctx, time.Second)
			})
		c.Finish(ctx)
		decision := func(id, holder string, scopes ...api.LedgerScope) api.AdmissionDecision {
			return api.AdmissionDecision{ID: id, Reserved: &api.Reservation{Holder: holder,
				Scopes: scopes}}
		}
		c.RecordReservations(decision("1.1", "old", "principal"), api.AdmissionDecision{ID: "1.2"})
		c.RecordReservations(decision("1.1", "new", "principal", "conversation"),
			decision("1.3", "third", "principal"))
		for _, id := range []string{"1.1", "1.2", "1.1"} {
			c.End(id, true)
		}
		c.End("1.3", false)
		c.Finish(ctx)
		return nil
	}, workflow.RegisterOptions{Name: "run"})
	l.ExecuteWorkflow("run")
	if err := l.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(told)
	const want = `[{"ledgers":[{"workflow_id":"of principal","calls":[{"run_id":"run","call_id":"1.1","holder":"new","made":true},{"run_id":"run","call_id":"1.3","holder":"third"}]},{"workflow_id":"of conversation","calls":[{"run_id":"run","call_id":"1.1","holder":"new","made":true}]}]}]`
	if err != nil || string(got) != want {
		t.Errorf("told %s, %v", got, err)
	}
}

// use tells the ledger after a time what a model step used.
func (l *lab) use(after time.Duration, tokens int, periods ...ledgerrules.Period) {
	l.useAs(fmt.Sprint(after), after, tokens, periods...)
}

// useAs is use for a message with an ID.
func (l *lab) useAs(id string, after time.Duration, tokens int, periods ...ledgerrules.Period) {
	l.RegisterDelayedCallback(func() {
		l.SignalWorkflow(api.TellLedgerSignal, ledgerrules.News{ID: id,
			Used: []ledgerrules.StepUsage{
				{Periods: periods, Tokens: tokens, Cost: float64(tokens) / 4}}})
	}, after)
}

// spent asks the ledger after a time for its sums, as period:tokens:cost.
func (l *lab) spent(after time.Duration) {
	l.RegisterDelayedCallback(func() {
		var all ledgerrules.PrincipalUsage
		value, err := l.QueryWorkflow(api.PrincipalUsageQuery)
		if err == nil {
			err = value.Get(&all)
		}
		text := fmt.Sprint(err)
		if err == nil {
			text = ""
		}
		for _, u := range all.Periods {
			text += fmt.Sprintf("%s:%d:%g ", u.Period, u.Tokens, u.Cost)
		}
		l.counts = append(l.counts, strings.TrimSpace(text))
	}, after)
}

// Sums begin anew with each period of the calendar. The ledger ends when all its periods have.
func TestLedger_AddsUpModelStepsByPeriod(t *testing.T) {
	l := newLab(t)
	l.SetStartTime(time.Date(2026, 11, 30, 22, 30, 0, 0, time.UTC))
	l.spent(time.Second)
	l.use(2*time.Second, 8, ledgerrules.Hour, ledgerrules.Day)
	l.use(3*time.Second, 4, ledgerrules.Hour)
	l.spent(4 * time.Second)
	l.use(31*time.Minute, 2, ledgerrules.Day, ledgerrules.Hour)
	l.spent(32 * time.Minute)
	l.ask(33*time.Minute, request("a", "1.1", "h", "5"))
	l.end(34*time.Minute, dropped("a", "1.1", "h"))
	l.spent(89 * time.Minute)
	l.RegisterDelayedCallback(func() { t.Error("the ledger did not end with its last period") },
		92*time.Minute)
	l.run("", "hour:12:3 day:8:2", "day:10:2.5 hour:2:0.5", "0", "day:10:2.5 hour:2:0.5")
}

// A worker repeats a message whose answer was lost, although the server had taken it.
func TestLedger_AddsARepeatedMessageOnce(t *testing.T) {
	l := newLab(t)
	l.useAs("a", time.Second, 8, ledgerrules.Day)
	l.useAs("b", 2*time.Second, 1, ledgerrules.Day)
	l.useAs("a", 31*time.Second, 8, ledgerrules.Day)
	l.spent(32 * time.Second)
	l.run("day:9:2.25")
}

func TestLedger_ContinuesAsNewWithItsSums(t *testing.T) {
	l := newLab(t)
	l.use(time.Second, 8, ledgerrules.Month)
	l.use(2*time.Second, 1, ledgerrules.Month)
	l.RegisterDelayedCallback(func() { l.SetContinueAsNewSuggested(true) }, 3*time.Second)
	state := l.continues()
	if s := state.Spent; len(s) != 1 || s[0].Tokens != 9 || s[0].Period != ledgerrules.Month ||
		len(state.Counted) != 2 {
		t.Errorf("continued with %+v", state)
	}
}
