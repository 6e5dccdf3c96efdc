package session

import (
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/failures"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// pay returns a call of ana that pays.
func pay(id string) api.SessionCall {
	return api.SessionCall{ID: id, Tool: "pay", Arguments: `{"amount":10}`,
		Caller: api.Caller{ID: "ana", Auth: api.AuthToken}}
}

// A call or a key of one caller is never that of another, whose result it must not get. New claims
// of a caller, such as those of a renewed token, make no other caller.
func TestCalls_AttachOnlyToThoseOfTheSameCaller(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*api.Caller)
		attaches bool
	}{
		"the same":              {func(*api.Caller) {}, true},
		"new claims":            {func(c *api.Caller) { c.Claims = map[string]any{"exp": 1} }, true},
		"another person":        {func(c *api.Caller) { c.ID = "ben" }, false},
		"another method":        {func(c *api.Caller) { c.Auth = api.AuthKey }, false},
		"for another principal": {func(c *api.Caller) { c.Principal = "ben" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := Restore(nil, "run")
			first, keyed := pay("first"), pay("keyed")
			keyed.Key = "k"
			c.Submit(first, "run")
			c.Submit(keyed, "run")
			again, withKey := pay("again"), pay("with key")
			withKey.Key = "k"
			test.change(&again.Caller)
			test.change(&withKey.Caller)
			repeated, _ := c.Submit(again, "run")
			if (c.FindRepeated(repeated, now) != nil) != test.attaches {
				t.Errorf("an equal call attaches: %t", !test.attaches)
			}
			if _, fresh := c.Submit(withKey, "run"); fresh == test.attaches {
				t.Errorf("a call with the key is another call: %t", fresh)
			}
		})
	}
}

// A kept result belongs to one submission: an equal call gets it only if no other client has it or
// waits for it, and only for some minutes.
func TestCalls_GiveAResultThatAllClientsLeftToOneEqualCall(t *testing.T) {
	type event func(*Calls)
	submit := func(id string) event {
		return func(c *Calls) {
			call, _ := c.Submit(pay(id), "run")
			if repeated := c.FindRepeated(call, now); repeated != nil {
				c.Attach(call, repeated)
			}
		}
	}
	leave := func(id string) event { return func(c *Calls) { c.Find(id).Left = now } }
	end := func(c *Calls) {
		c.End(c.Find("a"), api.CallOutcome{ID: "a", Result: &api.Result{Output: []byte(`"paid"`)}},
			6, now)
	}
	for name, test := range map[string]struct {
		events []event
		later  time.Duration
		gets   bool
	}{
		"the client has it":      {events: []event{submit("a"), end}},
		"left before the end":    {events: []event{submit("a"), leave("a"), end}, gets: true},
		"left after the end":     {events: []event{submit("a"), end, leave("a")}, gets: true},
		"the repetition waits":   {events: []event{submit("a"), submit("b"), leave("a"), end}},
		"the repetition has it":  {events: []event{submit("a"), submit("b"), end, leave("a")}},
		"the first has it":       {events: []event{submit("a"), submit("b"), end, leave("b")}},
		"both left":              {events: []event{submit("a"), submit("b"), leave("b"), end, leave("a")}, gets: true},
		"another call got it":    {events: []event{submit("a"), leave("a"), end, submit("b")}},
		"that call left as well": {events: []event{submit("a"), leave("a"), end, submit("b"), leave("b")}, gets: true},
		"left after continue-as-new": {events: []event{submit("a"), end, func(c *Calls) {
			*c = *Restore(c.State(true, now, nil), "run")
		}, leave("a")}, gets: true},
		"in time":  {events: []event{submit("a"), leave("a"), end}, later: keptFor - 1, gets: true},
		"too late": {events: []event{submit("a"), leave("a"), end}, later: keptFor},
	} {
		t.Run(name, func(t *testing.T) {
			c := Restore(nil, "run")
			for _, do := range test.events {
				do(c)
			}
			at := now.Add(test.later)
			for _, calls := range []*Calls{c, Restore(c.State(true, at, nil), "run")} {
				next, _ := calls.Submit(pay("next"), "run")
				if (calls.FindRepeated(next, at) != nil) != test.gets {
					t.Errorf("the next equal call gets the result: %t", !test.gets)
				}
			}
		})
	}
}

// A key is that of one call: it is not used for another tool or other arguments, also after
// continue-as-new. After a call for which nothing was done it can be used again.
func TestCalls_KeysAreThoseOfOneCall(t *testing.T) {
	keyed := func(id, arguments string) api.SessionCall {
		call := pay(id)
		call.Key, call.Arguments = "k", arguments
		return call
	}
	for name, test := range map[string]struct {
		e     *api.Error
		fresh bool
	}{
		"done":          {nil, false},
		"unknown":       {api.Errorf(api.ErrOutcomeUnknown, "lost"), false},
		"failed":        {api.Errorf(api.ErrExecution, "no"), false},
		"cancelled":     {failures.CancelledBeforeStart(), true},
		"queue is full": {&api.Error{Type: api.ErrQueueFull, Phase: api.PhasePreExecution}, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := Restore(nil, "run")
			first.Submit(keyed("a", `{"amount":10}`), "run")
			first.End(first.Find("a"), api.CallOutcome{ID: "a", Error: test.e}, 0, now)
			for _, c := range []*Calls{first, Restore(first.State(true, now, nil), "run")} {
				if !c.Knows(keyed("b", `{"amount":11}`)) || c.Knows(keyed("b", `{"amount":10}`)) {
					t.Error("other arguments are those of the call, or the same are not")
				}
				if _, fresh := c.Submit(keyed("b", `{"amount":10}`), "run"); fresh != test.fresh {
					t.Errorf("it is made again: %t", fresh)
				}
			}
		})
	}
}
