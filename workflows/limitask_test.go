package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func TestLimit_StopEndsWithoutAModelStep(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("echo", `{"value":1}`)), answer("never"))
	a.Limits = api.Limits{Calls: 1, OnReached: api.LimitStops}
	l.runAgent(a, "Go.")
	if r := l.result(); r.Outcome != api.OutcomeLimit || r.Limit != "calls" || r.Answer != "" ||
		r.Usage.Turns != 1 {
		t.Errorf("result: %+v", r)
	}
}

// grants approves more of a limit at a time of the run's clock.
func (l *lab) grants(d time.Duration, g api.Grant) *update {
	return l.decide(d, api.Decision{Call: api.LimitCall, Kind: api.DecisionApprove, By: "ada",
		Grant: &g})
}

// The run continues with what it is granted, refuses grants of another kind, and asks again at the
// next limit. Without a grant it makes its summary.
func TestLimit_AskWaitsForAPerson(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits api.Limits
		decide func(*lab) []*update
		limit  string
		turns  int
		want   []api.ReplyErrorType
	}{
		{"granted twice", api.Limits{Calls: 1}, func(l *lab) []*update {
			return []*update{l.grants(time.Hour, api.Grant{Turns: 5}),
				l.grants(2*time.Hour, api.Grant{Calls: 1}),
				l.decide(3*time.Hour, approve(api.LimitCall, "ada")),
				l.grants(4*time.Hour, api.Grant{Calls: 9})}
		}, "", 4, []api.ReplyErrorType{api.DecisionUnfit, "", api.DecisionUnfit, ""}},
		{"denied", api.Limits{Turns: 2}, func(l *lab) []*update {
			return []*update{l.decide(time.Hour, api.Decision{Call: api.LimitCall,
				Kind: api.DecisionDeny, By: "ada"})}
		}, "turns", 3, []api.ReplyErrorType{""}},
		{"no decision", api.Limits{Turns: 1, AskTimeout: api.Duration(time.Hour)},
			func(l *lab) []*update {
				return []*update{l.grants(2*time.Hour, api.Grant{Turns: 1})}
			}, "turns", 2, nil},
		{"more tokens", api.Limits{Tokens: 1},
			func(l *lab) []*update {
				return []*update{l.grants(time.Hour,
					api.Grant{Tokens: 1e6})}
			}, "", 4,
			[]api.ReplyErrorType{""}},
		{"its wall time ends",
			api.Limits{Calls: 1, WallTime: api.Duration(2 * time.Hour)}, func(l *lab) []*update {
				return []*update{l.grants(3*time.Hour, api.Grant{WallTime: api.Duration(time.Hour),
					Calls: 5})}
			}, "", 4, []api.ReplyErrorType{""}},
		{"repeats cannot be granted", api.Limits{Turns: 3}, func(l *lab) []*update {
			return []*update{l.decide(time.Hour, api.Decision{Call: api.LimitCall,
				Kind: api.DecisionEdit, By: "ada", Arguments: []byte(`{}`)}),
				l.grants(2*time.Hour, api.Grant{Turns: 1, Cost: 2})}
		}, "", 4, []api.ReplyErrorType{api.DecisionUnfit, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			one := step(call("echo", `{"value":1}`))
			a := agent(one, one, one, answer("done"))
			test.limits.OnReached = api.LimitAsks
			a.Limits = test.limits
			updates := test.decide(l)
			l.runAgent(a, "Go.")
			if r := l.result(); r.Limit != test.limit || r.Usage.Turns != test.turns {
				t.Errorf("result: %+v", r)
			}
			for i, want := range test.want {
				e := updates[i].refused(t)
				if got := e; (got == nil) != (want == "") || got != nil && got.Type != want {
					t.Errorf("decision %d: %+v, want %q", i, got, want)
				}
			}
		})
	}
}

// Calls of other kinds cannot be granted anything.
func TestLimit_AskNamesLimitAndUsage(t *testing.T) {
	l := newGuardedLab(t)
	a := guardedAgent(step(call("pay", `{"value":1}`)), answer("done"))
	a.Limits = api.Limits{Calls: 1, Cost: 1, WallTime: api.Duration(24 * time.Hour),
		OnReached: api.LimitAsks}
	wrong := l.decide(time.Minute, api.Decision{Call: "1.1", Kind: api.DecisionApprove, By: "ada",
		Grant: &api.Grant{Calls: 1}})
	l.decide(2*time.Minute, approve("1.1", "ada"))
	var asked []api.Approval
	l.after(3*time.Minute, func() { asked = l.awaiting() })
	l.grants(4*time.Minute, api.Grant{Calls: 1})
	l.runAgent(a, "Go.")
	l.result()
	if e := wrong.refused(t); e == nil || e.Type != api.DecisionUnfit {
		t.Errorf("a grant to a call: %+v", e)
	}
	if len(asked) != 1 || asked[0].Limit != "calls" || !strings.Contains(asked[0].Text,
		"calls: 1 of 1\ncost: $0.0000 of $1.0000\nwall time: 2m0s of 24h0m0s") {
		t.Errorf("asked: %+v", asked)
	}
}
