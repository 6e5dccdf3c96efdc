package admission

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/ledgerrules"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/activity"
)

// Ledgers are the ledgers that count calls for rules about time.
type Ledgers interface {
	// Reserve enters calls into a ledger, one after the other, and returns what rules ask about
	// the calls before each. It tries until ctx ends.
	Reserve(ctx context.Context, to ledgers.Ledger,
		all ...ledgerrules.Request) ([]ledgerrules.Answer, error)
	// Close tells ledgers what became of calls.
	Close(ctx context.Context, s ledgerrules.Ends) error
}

const (
	// reserveWithin bounds the time in which the calls of one admission are entered into ledgers.
	// After it the run waits and asks again, and holds no local activity meanwhile. The last
	// admission has lastWithin. dropWithin bounds the time of telling ledgers that calls were
	// denied.
	reserveWithin = 5 * time.Second
	lastWithin    = 15 * time.Second
	dropWithin    = 5 * time.Second
)

// reservations are the reservations of one admission. They are made before the rules are
// evaluated, for all calls of the turn together, and dropped if the call is denied.
type reservations struct {
	ledgers Ledgers
	request api.AdmissionRequest
	// until is when ledgers that do not answer count as away; the first one that does sets away.
	until time.Time
	away  *api.Error
	// questions are those of the calls that are not decided, in their order. ahead is how many of
	// them are asked together.
	questions []*question
	ahead     int
	// made are the reservations of the calls that are decided.
	made []reserved
}

// question is what rules ask ledgers about a call. results are the answers, by scope and query;
// answered is set once all are there, fault if the call must be denied. Without requests the fault
// is final.
type question struct {
	reserved
	index    int
	requests map[api.LedgerScope]ledgerrules.Request
	results  map[string]ledgerrules.Result
	answered bool
	fault    *api.Error
}

// reserved is a reservation of a call. dropped is set if the decision does not use it, told for the
// scopes whose ledgers know that.
type reserved struct {
	api.Reservation
	call    string
	dropped bool
	told    []api.LedgerScope
}

func (a *Admitter) reservations(r api.AdmissionRequest) *reservations {
	within := reserveWithin
	if r.Final {
		within = lastWithin
	}
	return &reservations{ledgers: a.config.Ledgers, request: r, until: time.Now().Add(within),
		ahead: len(r.Calls)}
}

// ledgerFromRequest returns the ledger of a scope for the calls of a request.
func ledgerFromRequest(r api.AdmissionRequest, scope api.LedgerScope) ledgers.Ledger {
	l := ledgers.Ledger{Queue: r.Base, Scope: scope, Of: r.Facts.Conversation,
		ID: api.LedgerWorkflowID(r.Base, scope, r.Caller, r.Facts.Conversation, r.Run)}
	if scope == api.ScopePrincipalCalls {
		l.Of, l.Auth = r.Caller.Identity(), r.Caller.Auth
	}
	return l
}

// prepare notes what rules ask ledgers about a call of the turn.
func (s *reservations) prepare(index int, tool api.Tool, f *policies.Facts,
	sets ...*policies.Set) {
	asks := policies.CollectAsks(f, sets...)
	q := &question{index: index, requests: map[api.LedgerScope]ledgerrules.Request{}}
	q.call, q.Holder = s.request.Calls[index].ID, rand.Text()
	for _, scope := range asks.Scopes() {
		record, recorded := asks.Record[scope]
		arguments, err := record.Arguments(f, tool.Sensitive)
		if err != nil {
			q.fault = refusal(api.ErrPolicyViolation, "%s", executor.ValidText(err.Error()))
			q.requests, q.answered = nil, true
			break
		}
		q.requests[scope] = ledgerrules.Request{Run: s.request.Run, Call: q.call, Tool: tool.Name,
			Holder: q.Holder, Record: recorded, Keep: record.Keep, Args: arguments,
			Queries: asks.Queries[scope]}
	}
	if q.fault != nil || len(q.requests) > 0 {
		s.questions = append(s.questions, q)
	}
}

// canDecide reports whether a call of the turn can be decided: no ledger is asked about it, or all
// have answered. It is called for the calls in their order. A call whose ledger is away can be
// decided in the last admission only, which refuses it.
func (s *reservations) canDecide(ctx context.Context, index int) bool {
	if len(s.questions) == 0 || s.questions[0].index != index || s.questions[0].answered {
		return true
	}
	s.ask(ctx, s.questions[:min(s.ahead, len(s.questions))])
	s.ahead *= 2
	return s.away == nil || s.request.Final
}

// reserve sets what ledgers answered about a call for its rules, and returns its reservation. The
// error is why the call must be denied: a ledger is away or full, or cannot keep an argument.
func (s *reservations) reserve(index int, f *policies.Facts) (*api.Reservation, *api.Error) {
	if len(s.questions) == 0 || s.questions[0].index != index {
		return nil, nil
	}
	q := s.questions[0]
	s.questions = s.questions[1:]
	s.made = append(s.made, q.reserved)
	switch {
	case q.fault != nil:
		return nil, q.fault
	case !q.answered:
		return nil, s.away
	}
	f.Past = func(scope api.LedgerScope, query ledgerrules.Query) ledgerrules.Result {
		answer, ok := q.results[string(scope)+query.Key()]
		if !ok {
			answer.Fault = "the question was not asked before the rule was evaluated"
		}
		return answer
	}
	if len(q.Scopes) == 0 {
		return nil, nil
	}
	return &q.Reservation, nil
}

// ask sends questions to the ledgers that they are for.
func (s *reservations) ask(ctx context.Context, all []*question) {
	all = slices.DeleteFunc(slices.Clone(all), func(q *question) bool { return q.answered })
	for _, q := range all {
		q.results, q.fault = map[string]ledgerrules.Result{}, nil
	}
	for _, scope := range scopes {
		if s.away == nil {
			s.askIn(ctx, scope, all)
		}
	}
	for _, q := range all {
		q.answered = s.away == nil
	}
}

var scopes = []api.LedgerScope{api.ScopePrincipalCalls, api.ScopeConversationCalls}

// askIn sends the questions for the ledger of a scope.
func (s *reservations) askIn(ctx context.Context, scope api.LedgerScope, all []*question) {
	all = slices.DeleteFunc(slices.Clone(all), func(q *question) bool {
		_, asks := q.requests[scope]
		return !asks || q.fault != nil
	})
	if len(all) == 0 {
		return
	}
	requests := make([]ledgerrules.Request, len(all))
	for i, q := range all {
		requests[i] = q.requests[scope]
	}
	requests[0].Ends = s.toTell(scope)
	ctx, cancel := context.WithDeadline(ctx, s.until)
	defer cancel()
	answers, err := s.ledgers.Reserve(ctx, ledgerFromRequest(s.request, scope), requests...)
	if err != nil {
		if activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Warn("the ledger of a rule about time has not answered",
				"scope", scope, "last", s.request.Final, "error", err)
		}
		s.away = refusal(api.ErrPreconditionFailed, "a policy asks about earlier calls of the %s, "+
			"and the ledger that counts them has not answered; nothing ran. Call it again later",
			scope)
		s.away.Retryable = true
		for _, q := range all {
			q.enter(scope) // the request can arrive after it was given up
		}
		return
	}
	for i, q := range all {
		q.take(scope, answers[i])
	}
	s.tell(scope)
}

// enter notes that the ledger of a scope has the call, or may have it.
func (q *question) enter(scope api.LedgerScope) {
	if q.requests[scope].Record && !slices.Contains(q.Scopes, scope) {
		q.Scopes = append(q.Scopes, scope)
	}
}

// take takes the answer of the ledger of a scope.
func (q *question) take(scope api.LedgerScope, answer ledgerrules.Answer) {
	if answer.Full != "" {
		q.fault = refusal(api.ErrPreconditionFailed, "a policy asks about earlier calls of the %s, "+
			"and the ledger that counts them is full: %s", scope, answer.Full)
		q.fault.Retryable = true
		return
	}
	q.enter(scope)
	for i, query := range q.requests[scope].Queries {
		q.results[string(scope)+query.Key()] = answer.Results[i]
	}
}

func refusal(t api.ErrorType, format string, args ...any) *api.Error {
	e := api.Errorf(t, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// use notes whether decisions use their reservations. It is called after each call is decided, and
// at the end with those that are returned. The answers about the calls after one that is dropped
// counted it, so these are asked about again: first one, because another denial may follow.
func (s *reservations) use(decisions []api.AdmissionDecision) {
	for i := range s.made {
		m := &s.made[i]
		used := func(v api.AdmissionDecision) bool {
			return v.Reserved != nil && v.Reserved.Holder == m.Holder && v.Error == nil &&
				v.Result == nil
		}
		if m.dropped || slices.ContainsFunc(decisions, used) {
			continue
		}
		if m.dropped = true; len(m.Scopes) == 0 {
			continue
		}
		s.ahead = 1
		for _, q := range s.questions {
			q.answered = q.requests == nil
		}
	}
}

// toTell returns the reservations that are dropped and that the ledger of a scope has.
func (s *reservations) toTell(scope api.LedgerScope) (calls []ledgerrules.End) {
	for _, m := range s.made {
		if m.dropped && slices.Contains(m.Scopes, scope) && !slices.Contains(m.told, scope) {
			calls = append(calls, ledgerrules.End{Run: s.request.Run, Call: m.call,
				Holder: m.Holder, Dropped: true})
		}
	}
	return calls
}

// tell notes that the ledger of a scope knows which reservations are dropped.
func (s *reservations) tell(scope api.LedgerScope) {
	for i := range s.made {
		if s.made[i].dropped {
			s.made[i].told = append(s.made[i].told, scope)
		}
	}
}

// release drops the reservations that no decision uses.
func (a *Admitter) release(ctx context.Context, all *turnAdmission) error {
	all.reservations.close(ctx, all.decisions)
	return nil
}

// close drops the reservations that decisions do not use. A ledger that cannot be told counts the
// calls until its window has passed.
func (s *reservations) close(ctx context.Context, decisions []api.AdmissionDecision) {
	for _, q := range s.questions { // these were entered together with the decided ones
		s.made = append(s.made, q.reserved)
	}
	s.questions = nil
	s.use(decisions)
	var all ledgerrules.Ends
	for _, scope := range scopes {
		if calls := s.toTell(scope); len(calls) > 0 {
			all.Ledgers = append(all.Ledgers, ledgerrules.Calls{
				WorkflowID: ledgerFromRequest(s.request, scope).ID, Calls: calls})
		}
	}
	if len(all.Ledgers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	_ = s.ledgers.Close(ctx, all) // which logs why it failed
}

// dropReservation tells ledgers that the decision on an edited call is not used.
func (a *Admitter) dropReservation(ctx context.Context, r api.AdmissionRequest,
	v api.AdmissionDecision) {
	if v.Reserved == nil {
		return
	}
	s := a.reservations(r)
	s.made = []reserved{{Reservation: *v.Reserved, call: v.ID}}
	s.close(ctx, nil)
}
