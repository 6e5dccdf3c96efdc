package admission

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/ledgers"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/policies"
	"go.temporal.io/sdk/activity"
)

// Ledgers are the ledgers that count calls for rules about time.
type Ledgers interface {
	// Reserve enters a call into a ledger and returns what rules ask about earlier calls. It tries
	// until ctx ends.
	Reserve(ctx context.Context, to ledgers.Ledger, r api.LedgerRequest) (api.LedgerAnswer, error)
	// Close tells ledgers what became of calls.
	Close(ctx context.Context, s api.ReservationEnds) error
}

const (
	// reserveWithin bounds the time in which the calls of one admission are entered into ledgers,
	// dropWithin that of telling ledgers that calls were denied.
	reserveWithin = 15 * time.Second
	dropWithin    = 5 * time.Second
)

// reservations are the reservations of one admission. They are made before the rules are
// evaluated, and dropped if the call is denied.
type reservations struct {
	ledgers Ledgers
	request api.AdmissionRequest
	// until is when ledgers that do not answer count as away; the first one that does sets away.
	until time.Time
	away  *api.Error
	made  []reserved
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
	return &reservations{ledgers: a.config.Ledgers, request: r,
		until: time.Now().Add(reserveWithin)}
}

// ledger returns the ledger of a scope for the calls of a request.
func ledgerOf(r api.AdmissionRequest, scope api.LedgerScope) ledgers.Ledger {
	l := ledgers.Ledger{Queue: r.Base, Scope: scope, Of: r.Facts.Conversation,
		ID: api.LedgerWorkflowID(r.Base, scope, r.Caller, r.Facts.Conversation, r.Run)}
	if scope == api.ScopePrincipalCalls {
		l.Of, l.Auth = r.Caller.Identity(), r.Caller.Auth
	}
	return l
}

// reserve enters a call into the ledgers that its rules ask about, and sets what they answer. The
// error is why the call must be denied: a ledger is away or full, or cannot keep an argument.
func (s *reservations) reserve(ctx context.Context, call string, tool api.Tool,
	f *policies.Facts, sets ...*policies.Set) (*api.Reservation, *api.Error) {
	if !policies.AskPast(sets...) {
		return nil, nil
	}
	asks := policies.AsksOf(f, sets...)
	one := reserved{call: call, Reservation: api.Reservation{Holder: rand.Text()}}
	answers := map[string]api.LedgerResult{}
	for _, scope := range asks.Scopes() {
		record, recorded := asks.Record[scope]
		request := api.LedgerRequest{Run: s.request.Run, Call: call, Tool: tool.Name,
			Holder: one.Holder, Record: recorded, Keep: record.Keep,
			Queries: asks.Queries[scope], Ends: s.toTell(scope)}
		var err error
		if request.Args, err = record.Arguments(f, tool.Sensitive); err != nil {
			s.made = append(s.made, one)
			return nil, refusal(api.ErrPolicyViolation, "%s", executor.ValidText(err.Error()))
		}
		if recorded {
			one.Scopes = append(one.Scopes, scope)
		}
		answer, fault := s.ask(ctx, scope, request)
		if fault != nil {
			s.made = append(s.made, one)
			return nil, fault
		}
		for i, q := range request.Queries {
			answers[string(scope)+q.Key()] = answer.Results[i]
		}
	}
	f.Past = func(scope api.LedgerScope, q api.LedgerQuery) api.LedgerResult {
		answer, ok := answers[string(scope)+q.Key()]
		if !ok {
			answer.Fault = "the question was not asked before the rule was evaluated"
		}
		return answer
	}
	if len(one.Scopes) == 0 {
		return nil, nil
	}
	s.made = append(s.made, one)
	return &one.Reservation, nil
}

// ask sends a request to the ledger of a scope.
func (s *reservations) ask(ctx context.Context, scope api.LedgerScope,
	r api.LedgerRequest) (answer api.LedgerAnswer, fault *api.Error) {
	if s.away != nil {
		return answer, s.away
	}
	ctx, cancel := context.WithDeadline(ctx, s.until)
	defer cancel()
	answer, err := s.ledgers.Reserve(ctx, ledgerOf(s.request, scope), r)
	switch {
	case err != nil || len(answer.Results) != len(r.Queries) && answer.Full == "":
		if activity.IsActivity(ctx) {
			activity.GetLogger(ctx).Error("the ledger of a rule about time cannot be reached; "+
				"calls are denied", "scope", scope, "error", err)
		}
		s.away = refusal(api.ErrPreconditionFailed, "a policy asks about earlier calls of the %s, "+
			"and the ledger that counts them has not answered; nothing ran. Call it again later",
			scope)
		s.away.Retryable = true
		return answer, s.away
	case answer.Full != "":
		fault = refusal(api.ErrPreconditionFailed, "a policy asks about earlier calls of the %s, "+
			"and the ledger that counts them is full: %s", scope, answer.Full)
		fault.Retryable = true
		return answer, fault
	}
	s.tell(scope)
	return answer, nil
}

func refusal(t api.ErrorType, format string, args ...any) *api.Error {
	e := api.Errorf(t, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// use notes whether decisions use their reservations. It is called after each call is decided, and
// at the end with those that are returned.
func (s *reservations) use(decisions []api.AdmissionDecision) {
	for i := range s.made {
		m := &s.made[i]
		used := func(v api.AdmissionDecision) bool {
			return v.Reserved != nil && v.Reserved.Holder == m.Holder && v.Error == nil &&
				v.Result == nil
		}
		m.dropped = m.dropped || !slices.ContainsFunc(decisions, used)
	}
}

// toTell returns the reservations that are dropped and that the ledger of a scope has.
func (s *reservations) toTell(scope api.LedgerScope) (calls []api.ReservationEnd) {
	for _, m := range s.made {
		if m.dropped && slices.Contains(m.Scopes, scope) && !slices.Contains(m.told, scope) {
			calls = append(calls, api.ReservationEnd{Run: s.request.Run, Call: m.call,
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

// close drops the reservations that decisions do not use. A ledger that cannot be told counts the
// calls until its window has passed.
func (s *reservations) close(ctx context.Context, decisions []api.AdmissionDecision) {
	s.use(decisions)
	var all api.ReservationEnds
	for _, scope := range []api.LedgerScope{api.ScopePrincipalCalls, api.ScopeConversationCalls} {
		if calls := s.toTell(scope); len(calls) > 0 {
			all.Ledgers = append(all.Ledgers, api.LedgerCalls{
				WorkflowID: ledgerOf(s.request, scope).ID, Calls: calls})
		}
	}
	if len(all.Ledgers) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropWithin)
	defer cancel()
	_ = s.ledgers.Close(ctx, all) // which logs why it failed
}

// dropped tells ledgers that the decision on an edited call is not used.
func (a *Admitter) dropped(ctx context.Context, r api.AdmissionRequest, v api.AdmissionDecision) {
	if v.Reserved == nil {
		return
	}
	s := a.reservations(r)
	s.made = []reserved{{Reservation: *v.Reserved, call: v.ID}}
	s.close(ctx, nil)
}
