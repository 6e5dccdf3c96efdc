package ledgerrules

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
)

// Bounds of what ledgers keep: the longest window, the entries of one ledger and their bytes, the
// bytes of one argument, and the calls that one answer lists. A call that exceeds a bound is
// denied: no entry is dropped before its time.
const (
	MaxWindow  = api.Duration(31 * 24 * time.Hour)
	MaxEntries = 5000
	MaxBytes   = 1 << 20
	MaxValue   = 512
	MaxCalls   = 500
)

// Query asks about earlier calls.
type Query struct {
	Kind Kind `json:"kind"`
	// Tools are the tools whose calls count; empty for all.
	Tools []string `json:"tools,omitempty"`
	// Within is how long ago the calls may have ended.
	Within api.Duration `json:"within"`
	// Fields are the arguments that the answer needs: the one that is summed, or those of the
	// listed calls.
	Fields []string `json:"fields,omitempty"`
}

// Kind is what a Query asks for.
type Kind string

// The kinds of queries: how many calls there are, the sum of an argument, and the calls themselves.
const (
	CountCalls   Kind = "count"
	SumArguments Kind = "sum"
	ListCalls    Kind = "past"
)

// Key identifies the query among others of its scope.
func (q Query) Key() string {
	return strings.Join([]string{string(q.Kind), strings.Join(q.Tools, ","), q.Within.String(),
		strings.Join(q.Fields, ",")}, "|")
}

// Entry is a call that a ledger counts.
type Entry struct {
	// Run is the ID of the first execution of the run's chain, Call that of the call.
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	// Reserved is when the call was entered, Ended when it had ended; zero while it is in flight.
	Reserved time.Time `json:"reserved"`
	Ended    time.Time `json:"ended,omitzero"`
	// Keep is how long after its end the call is kept.
	Keep api.Duration `json:"keep"`
	// Args are the arguments that rules ask about, those that the call has.
	Args map[string]json.RawMessage `json:"args,omitempty"`
	// Holders are the last attempts at admission that have entered the call.
	Holders []string `json:"holders"`
}

// Result is the answer to a Query. Which fields are set depends on its kind.
type Result struct {
	Count int `json:"count,omitempty"`
	// Sum is exact: a fraction, as *big.Rat reads it.
	Sum string `json:"sum,omitempty"`
	// Calls are in the order in which they were entered.
	Calls []Call `json:"calls,omitempty"`
	// Fault is why there is no answer.
	Fault string `json:"fault,omitempty"`
}

// Call is an earlier call in an answer.
type Call struct {
	Run  string                     `json:"run_id"`
	Tool string                     `json:"tool"`
	At   time.Time                  `json:"at"`
	Args map[string]json.RawMessage `json:"args,omitempty"`
	// Running says that the call is in flight.
	Running bool `json:"running,omitempty"`
}

// Request enters a call into a ledger and asks about the calls before it.
type Request struct {
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	// Holder identifies the attempt at admission.
	Holder string `json:"holder"`
	// Record has the call entered. A call that rules only ask others about is not.
	Record bool                       `json:"record,omitempty"`
	Keep   api.Duration               `json:"keep,omitzero"`
	Args   map[string]json.RawMessage `json:"args,omitempty"`

	Queries []Query `json:"queries,omitempty"`
	// Ends are ends of earlier reservations.
	Ends []End `json:"ends,omitempty"`
}

// Answer has the results of the queries of a request, in order.
type Answer struct {
	Results []Result `json:"results,omitempty"`
	// Full is why the call was not entered; empty if it was.
	Full string `json:"full,omitempty"`
}

// End ends the reservation of a call: what became of the call.
type End struct {
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	// Holder is the attempt at admission whose decision counts.
	Holder string `json:"holder"`
	// Dropped says that only this attempt is over: its decision was not used. Made says that the
	// call has been made, or may have been. One that is neither no longer counts.
	Dropped bool `json:"dropped,omitempty"`
	Made    bool `json:"made,omitempty"`
}

// Ends are the input of CloseReservationsActivity.
type Ends struct {
	// Ledgers are the workflow IDs of the ledgers.
	Ledgers []Calls `json:"ledgers"`
}

// Calls are calls that a ledger counts and that have ended.
type Calls struct {
	WorkflowID string `json:"workflow_id"`
	Calls      []End  `json:"calls"`
}

// State is what a ledger knows. It is the input of LedgerWorkflow.
type State struct {
	Scope api.LedgerScope `json:"scope"`
	// Of is whose calls it counts, and Auth how that identity was authenticated.
	Of   string         `json:"of,omitempty"`
	Auth api.AuthMethod `json:"auth,omitempty"`
	// Entries are in the order of their reservations.
	Entries []Entry `json:"entries,omitempty"`
	// Spent is what model steps used, at most once for each period.
	Spent []PeriodUsage `json:"spent,omitempty"`
	// Counted are the News that were read lately, and Dropped the attempts at admission that
	// were given up before the ledger knew of them, the newest last.
	Counted []Note `json:"counted,omitempty"`
	Dropped []Note `json:"dropped,omitempty"`
}

// Note is an ID that a ledger remembers for some minutes.
type Note struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// News is what one worker process tells a ledger at a time.
type News struct {
	// ID tells repeated news from others, so that the usage is added once.
	ID string `json:"id"`
	// Ends are what became of calls, Used what model steps used.
	Ends []End       `json:"ends,omitempty"`
	Used []StepUsage `json:"used,omitempty"`
}

// StepUsage is what a model step used, which a ledger adds to its periods.
type StepUsage struct {
	Periods []Period `json:"periods"`
	Tokens  int      `json:"tokens,omitempty"`
	Cost    float64  `json:"cost,omitempty"`
}
