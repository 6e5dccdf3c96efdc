package api

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"
)

// LedgerScope is whose earlier calls a policy asks about.
type LedgerScope string

// The scopes. The calls of a principal and of a conversation are in a ledger.
const (
	ScopePrincipalCalls    LedgerScope = "principal"
	ScopeConversationCalls LedgerScope = "conversation"
)

// Bounds of what ledgers keep: the longest window, the entries of one ledger and their bytes, the
// bytes of one argument, and the calls that one answer lists. A call that exceeds a bound is
// denied: no entry is dropped before its time.
const (
	MaxLedgerWindow  = Duration(31 * 24 * time.Hour)
	MaxLedgerEntries = 5000
	MaxLedgerBytes   = 1 << 20
	MaxLedgerValue   = 512
	MaxLedgerCalls   = 500
)

// LedgerQuery asks about earlier calls.
type LedgerQuery struct {
	Kind LedgerKind `json:"kind"`
	// Tools are the tools whose calls count; empty for all.
	Tools []string `json:"tools,omitempty"`
	// Within is how long ago the calls may have ended.
	Within Duration `json:"within"`
	// Fields are the arguments that the answer needs: the one that is summed, or those of the
	// listed calls.
	Fields []string `json:"fields,omitempty"`
}

// LedgerKind is what a LedgerQuery asks for.
type LedgerKind string

// The kinds of queries: how many calls there are, the sum of an argument, and the calls themselves.
const (
	LedgerCount LedgerKind = "count"
	LedgerSum   LedgerKind = "sum"
	LedgerPast  LedgerKind = "past"
)

// Key identifies the query among others of its scope.
func (q LedgerQuery) Key() string {
	return strings.Join([]string{string(q.Kind), strings.Join(q.Tools, ","), q.Within.String(),
		strings.Join(q.Fields, ",")}, "|")
}

// LedgerEntry is a call that a ledger counts.
type LedgerEntry struct {
	// Run is the ID of the first execution of the run's chain, Call that of the call.
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	// Reserved is when the call was entered, Ended when it had ended; zero while it is in flight.
	Reserved time.Time `json:"reserved"`
	Ended    time.Time `json:"ended,omitzero"`
	// Keep is how long after its end the call is kept.
	Keep Duration `json:"keep"`
	// Args are the arguments that rules ask about, those that the call has.
	Args map[string]json.RawMessage `json:"args,omitempty"`
	// Holders are the last attempts at admission that have entered the call.
	Holders []string `json:"holders"`
}

// LedgerResult is the answer to a LedgerQuery. Which fields are set depends on its kind.
type LedgerResult struct {
	Count int `json:"count,omitempty"`
	// Sum is exact: a fraction, as *big.Rat reads it.
	Sum string `json:"sum,omitempty"`
	// Calls are in the order in which they were entered.
	Calls []LedgerCall `json:"calls,omitempty"`
	// Fault is why there is no answer.
	Fault string `json:"fault,omitempty"`
}

// LedgerCall is an earlier call in an answer.
type LedgerCall struct {
	Run  string                     `json:"run_id"`
	Tool string                     `json:"tool"`
	At   time.Time                  `json:"at"`
	Args map[string]json.RawMessage `json:"args,omitempty"`
	// Running says that the call is in flight.
	Running bool `json:"running,omitempty"`
}

// LedgerRequest enters a call into a ledger and asks about the calls before it.
type LedgerRequest struct {
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	Tool string `json:"tool"`
	// Holder identifies the attempt at admission.
	Holder string `json:"holder"`
	// Record has the call entered. A call that rules only ask others about is not.
	Record bool                       `json:"record,omitempty"`
	Keep   Duration                   `json:"keep,omitzero"`
	Args   map[string]json.RawMessage `json:"args,omitempty"`

	Queries []LedgerQuery `json:"queries,omitempty"`
	// Ends are ends of earlier reservations.
	Ends []ReservationEnd `json:"ends,omitempty"`
}

// LedgerAnswer has the results of the queries of a request, in order.
type LedgerAnswer struct {
	Results []LedgerResult `json:"results,omitempty"`
	// Full is why the call was not entered; empty if it was.
	Full string `json:"full,omitempty"`
}

// ReservationEnd ends the reservation of a call: what became of the call.
type ReservationEnd struct {
	Run  string `json:"run_id"`
	Call string `json:"call_id"`
	// Holder is the attempt at admission whose decision counts.
	Holder string `json:"holder"`
	// Dropped says that only this attempt is over: its decision was not used. Made says that the
	// call has been made, or may have been. One that is neither no longer counts.
	Dropped bool `json:"dropped,omitempty"`
	Made    bool `json:"made,omitempty"`
}

// Reservation is that ledgers count a call.
type Reservation struct {
	Holder string        `json:"holder"`
	Scopes []LedgerScope `json:"scopes"`
}

// ReservationEnds are the input of CloseReservationsActivity.
type ReservationEnds struct {
	// Ledgers are the workflow IDs of the ledgers.
	Ledgers []LedgerCalls `json:"ledgers"`
}

// LedgerCalls are calls that a ledger counts and that have ended.
type LedgerCalls struct {
	WorkflowID string           `json:"workflow_id"`
	Calls      []ReservationEnd `json:"calls"`
}

// LedgerState is what a ledger knows. It is the input of LedgerWorkflow.
type LedgerState struct {
	Scope LedgerScope `json:"scope"`
	// Of is whose calls it counts, and Auth how that identity was authenticated.
	Of   string     `json:"of,omitempty"`
	Auth AuthMethod `json:"auth,omitempty"`
	// Entries are in the order of their reservations.
	Entries []LedgerEntry `json:"entries,omitempty"`
	// Spent is what model steps used, at most once for each period.
	Spent []PeriodUsage `json:"spent,omitempty"`
	// Counted are the LedgerNews that were read lately, and Dropped the attempts at admission that
	// were given up before the ledger knew of them, the newest last.
	Counted []LedgerNote `json:"counted,omitempty"`
	Dropped []LedgerNote `json:"dropped,omitempty"`
}

// LedgerNote is an ID that a ledger remembers for some minutes.
type LedgerNote struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
}

// LedgerNews is what one worker process tells a ledger at a time.
type LedgerNews struct {
	// ID tells repeated news from others, so that the usage is added once.
	ID string `json:"id"`
	// Ends are what became of calls, Used what model steps used.
	Ends []ReservationEnd `json:"ends,omitempty"`
	Used []StepUsage      `json:"used,omitempty"`
}

// LedgerWorkflowID returns the ID of the ledger of a scope for the calls of a run with that caller.
// A run without a conversation is a conversation of its own.
func LedgerWorkflowID(base string, scope LedgerScope, caller Caller, conversation,
	run string) string {
	key := cmp.Or(conversation, run)
	if scope == ScopePrincipalCalls {
		key = string(caller.Auth) + "\x00" + caller.Identity()
	}
	return "switchyard/ledger/" + base + "/" + string(scope) + "/" + Digest([]byte(key))
}

// PrincipalBudget limits what the model steps of all runs of one principal use in a period.
type PrincipalBudget struct {
	Name   string
	Period Period
	// Tokens and Cost are the limits, of which at least one is set. Cost is in the currency of the
	// prices.
	Tokens int
	Cost   float64
	// Principals are the identities that it is for; empty for all. Except are those that it is not
	// for.
	Principals, Except []string
}

// Period is a part of the calendar, in UTC.
type Period string

// The periods. A week begins on Monday.
const (
	PeriodHour  Period = "hour"
	PeriodDay   Period = "day"
	PeriodWeek  Period = "week"
	PeriodMonth Period = "month"
)

// PeriodUsage is what the model steps of a principal used in the period that began at Start.
type PeriodUsage struct {
	Period Period    `json:"period"`
	Start  time.Time `json:"start"`
	Tokens int       `json:"tokens,omitempty"`
	Cost   float64   `json:"cost,omitempty"`
}

// PrincipalUsage is what the model steps of a principal used, where it has budgets.
type PrincipalUsage struct {
	Principal string        `json:"principal"`
	Auth      AuthMethod    `json:"auth,omitempty"`
	Periods   []PeriodUsage `json:"periods"`
}

// StepUsage is what a model step used, which a ledger adds to its periods.
type StepUsage struct {
	Periods []Period `json:"periods"`
	Tokens  int      `json:"tokens,omitempty"`
	Cost    float64  `json:"cost,omitempty"`
}
