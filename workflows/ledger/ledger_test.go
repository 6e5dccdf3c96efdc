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
}

func newLab(t *testing.T) *lab {
	var suite testsuite.WorkflowTestSuite
	l := &lab{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t}
	l.RegisterWorkflowWithOptions(ledger.Ledger, workflow.RegisterOptions{Name: api.LedgerWorkflow})
	l.SetTestTimeout(20 * time.Second)
	return l
}

// request returns a request for a payment that is kept for an hour.
func request(run, call, holder, amount string, ends ...api.ReservationEnd) api.LedgerRequest {
	return api.LedgerRequest{Run: run, Call: call, Tool: "pay", Holder: holder, Record: true,
		Keep: api.Duration(time.Hour), Args: map[string]json.RawMessage{"amount": []byte(amount)},
		Queries: []api.LedgerQuery{{Kind: api.LedgerSum, Within: api.Duration(time.Hour),
			Fields: []string{"amount"}}}, Ends: ends}
}

// ask sends a request after a time.
func (l *lab) ask(after time.Duration, r api.LedgerRequest) {
	l.RegisterDelayedCallback(func() {
		l.n++
		l.UpdateWorkflow(api.ReserveCallUpdate, fmt.Sprint(l.n), &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { l.t.Error(err) },
			OnComplete: func(got any, err error) {
				a, ok := got.(api.LedgerAnswer)
				switch {
				case err != nil || !ok:
					l.t.Errorf("%T, %v", got, err)
				case a.Full != "":
					l.counts = append(l.counts, "full")
				default:
					l.counts = append(l.counts, a.Results[0].Sum)
				}
			}}, r)
	}, after)
}

// end sends the ends of reservations after a time.
func (l *lab) end(after time.Duration, ends ...api.ReservationEnd) {
	l.RegisterDelayedCallback(func() { l.SignalWorkflow(api.CloseReservationsSignal, ends) }, after)
}

// run runs the ledger until it ends, and compares what requests were told.
func (l *lab) run(want ...string) {
	l.t.Helper()
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(api.LedgerState{}))
	if err := l.GetWorkflowError(); err != nil {
		l.t.Fatal(err)
	}
	if !slices.Equal(l.counts, want) {
		l.t.Errorf("requests were told %q, want %q", l.counts, want)
	}
}

func made(run, call, holder string) api.ReservationEnd {
	return api.ReservationEnd{Run: run, Call: call, Holder: holder, Made: true}
}

func dropped(run, call, holder string) api.ReservationEnd {
	return api.ReservationEnd{Run: run, Call: call, Holder: holder, Dropped: true}
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
		api.ReservationEnd{Run: "b", Call: "1.2", Holder: "h3"}, made("c", "1.1", "unknown"))
	l.ask(31*time.Hour+time.Second, request("b", "1.3", "h4", "0"))
	l.end(31*time.Hour+time.Minute, api.ReservationEnd{Run: "b", Call: "1.3", Holder: "h4"})
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
	state := api.LedgerState{}
	now := l.Now()
	for i := range api.MaxLedgerEntries {
		state.Entries = append(state.Entries, api.LedgerEntry{Run: "a", Call: fmt.Sprint(i),
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
	l.ExecuteWorkflow(api.LedgerWorkflow, api.Pack(api.LedgerState{Scope: "principal"}))
	next, ok := errors.AsType[*workflow.ContinueAsNewError](l.GetWorkflowError())
	if !ok {
		t.Fatal(l.GetWorkflowError())
	}
	var state api.Packed[api.LedgerState]
	if err := converter.GetDefaultDataConverter().FromPayloads(next.Input, &state); err != nil {
		t.Fatal(err)
	}
	if e := state.Value.Entries; len(e) != 1 || e[0].Ended.IsZero() ||
		state.Value.Scope != "principal" {
		t.Errorf("continued with %+v", state.Value)
	}
}

// A run tells each ledger once of the calls that ended together, and of the reservation that
// counts.
func TestCalls_TellLedgersWhatBecameOfThem(t *testing.T) {
	l := newLab(t)
	var told []api.ReservationEnds
	l.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		c := ledger.NewCalls(ctx, "run", func(s api.LedgerScope) string { return "of " + string(s) },
			func(ctx workflow.Context, ends api.ReservationEnds) {
				told = append(told, ends)
				_ = workflow.Sleep(ctx, time.Second)
			})
		c.Finish(ctx)
		decision := func(id, holder string, scopes ...api.LedgerScope) api.AdmissionDecision {
			return api.AdmissionDecision{ID: id, Reserved: &api.Reservation{Holder: holder,
				Scopes: scopes}}
		}
		c.Admitted(decision("1.1", "old", "principal"), api.AdmissionDecision{ID: "1.2"})
		c.Admitted(decision("1.1", "new", "principal", "conversation"),
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
