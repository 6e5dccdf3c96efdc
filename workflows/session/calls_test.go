package session

import (
	"testing"

	"github.com/switchyard/switchyard/api"
)

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
			c := Restore(nil)
			first, keyed := pay("first"), pay("keyed")
			keyed.Key = "k"
			c.Submit(first, "run")
			c.Submit(keyed, "run")
			again, withKey := pay("again"), pay("with key")
			withKey.Key = "k"
			test.change(&again.Caller)
			test.change(&withKey.Caller)
			repeated, _ := c.Submit(again, "run")
			if c.AttachOnce(repeated) != test.attaches {
				t.Errorf("an equal call attaches: %t", !test.attaches)
			}
			if _, fresh := c.Submit(withKey, "run"); fresh == test.attaches {
				t.Errorf("a call with the key is another call: %t", fresh)
			}
		})
	}
}
