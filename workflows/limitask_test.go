package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard"
)

// TestLimitStops proves that a run that is to stop at a limit ends there without another model step.
func TestLimitStops(t *testing.T) {
	l := newLab(t)
	a := agent(step(call("echo", `{"value":1}`)), answer("never"))
	a.Limits = switchyard.Limits{Calls: 1, OnReached: switchyard.LimitStops}
	l.runAgent(a, "Go.")
	if r := l.result(); r.Outcome != switchyard.OutcomeLimit || r.Limit != "calls" || r.Answer != "" || r.Usage.Turns != 1 {
		t.Errorf("result: %+v", r)
	}
}

// grants approves more of a limit when the run's clock has gone on by d.
func (l *lab) grants(d time.Duration, g switchyard.Grant) *update {
	return l.decide(d, switchyard.Decision{Call: switchyard.LimitCall, Kind: switchyard.DecisionApprove, By: "ada", Grant: &g})
}

// TestLimitAsks proves that a run that is to ask at a limit waits for a person, goes on with what it is granted, takes no grant
// of something else, and asks again at the next limit; and that it wraps up when nothing is granted.
func TestLimitAsks(t *testing.T) {
	for _, test := range []struct {
		name   string
		limits switchyard.Limits
		decide func(*lab) []*update
		limit  string
		turns  int
		want   []switchyard.ReplyErrorType
	}{
		{"granted twice", switchyard.Limits{Calls: 1}, func(l *lab) []*update {
			return []*update{l.grants(time.Hour, switchyard.Grant{Turns: 5}), l.grants(2*time.Hour, switchyard.Grant{Calls: 1}),
				l.decide(3*time.Hour, approve(switchyard.LimitCall, "ada")), l.grants(4*time.Hour, switchyard.Grant{Calls: 9})}
		}, "", 4, []switchyard.ReplyErrorType{switchyard.DecisionUnfit, "", switchyard.DecisionUnfit, ""}},
		{"denied", switchyard.Limits{Turns: 2}, func(l *lab) []*update {
			return []*update{l.decide(time.Hour, switchyard.Decision{Call: switchyard.LimitCall, Kind: switchyard.DecisionDeny, By: "ada"})}
		}, "turns", 3, []switchyard.ReplyErrorType{""}},
		{"nobody decides", switchyard.Limits{Turns: 1, AskTimeout: switchyard.Duration(time.Hour)}, func(l *lab) []*update {
			return []*update{l.grants(2*time.Hour, switchyard.Grant{Turns: 1})}
		}, "turns", 2, nil},
		{"more tokens", switchyard.Limits{Tokens: 1}, func(l *lab) []*update { return []*update{l.grants(time.Hour, switchyard.Grant{Tokens: 1e6})} }, "", 4,
			[]switchyard.ReplyErrorType{""}},
		{"its wall time ends meanwhile", switchyard.Limits{Calls: 1, WallTime: switchyard.Duration(2 * time.Hour)}, func(l *lab) []*update {
			return []*update{l.grants(3*time.Hour, switchyard.Grant{WallTime: switchyard.Duration(time.Hour), Calls: 5})}
		}, "", 4, []switchyard.ReplyErrorType{""}},
		{"repeats cannot be granted", switchyard.Limits{Turns: 3}, func(l *lab) []*update {
			return []*update{l.decide(time.Hour, switchyard.Decision{Call: switchyard.LimitCall, Kind: switchyard.DecisionEdit, By: "ada", Arguments: []byte(`{}`)}),
				l.grants(2*time.Hour, switchyard.Grant{Turns: 1, Cost: 2})}
		}, "", 4, []switchyard.ReplyErrorType{switchyard.DecisionUnfit, ""}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			one := step(call("echo", `{"value":1}`))
			a := agent(one, one, one, answer("done"))
			test.limits.OnReached = switchyard.LimitAsks
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

// TestLimitGrant proves that what a call of another kind is asked tells what was used of which limit, and that no call is
// granted anything.
func TestLimitGrant(t *testing.T) {
	l := newGuardedLab(t)
	a := guardedAgent(step(call("pay", `{"value":1}`)), answer("done"))
	a.Limits = switchyard.Limits{Calls: 1, Cost: 1, WallTime: switchyard.Duration(24 * time.Hour), OnReached: switchyard.LimitAsks}
	wrong := l.decide(time.Minute, switchyard.Decision{Call: "1.1", Kind: switchyard.DecisionApprove, By: "ada", Grant: &switchyard.Grant{Calls: 1}})
	l.decide(2*time.Minute, approve("1.1", "ada"))
	var asked []switchyard.Approval
	l.after(3*time.Minute, func() { asked = l.awaiting() })
	l.grants(4*time.Minute, switchyard.Grant{Calls: 1})
	l.runAgent(a, "Go.")
	l.result()
	if e := wrong.refused(t); e == nil || e.Type != switchyard.DecisionUnfit {
		t.Errorf("a grant to a call: %+v", e)
	}
	if len(asked) != 1 || asked[0].Limit != "calls" || !strings.Contains(asked[0].Text, "calls: 1 of 1\ncost: $0.0000 of $1.0000\nwall time: 2m0s of 24h0m0s") {
		t.Errorf("asked: %+v", asked)
	}
}
