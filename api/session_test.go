package api

import (
	"strings"
	"testing"
)

func TestSessionCall_IsRefusedIfNoSessionCouldMakeIt(t *testing.T) {
	valid := SessionCall{ID: "c-1", Tool: "greet", Arguments: "{}", Wait: maxSessionWait,
		Caller: Caller{ID: "ana"}}
	if e := valid.Check(); e != nil {
		t.Errorf("a valid call is refused: %v", e)
	}
	ids := "use 1 to 64 letters, digits, - and _, and none of summary, limit and turn-N"
	for message, change := range map[string]func(*SessionCall){
		`the call id "1.1" is invalid: ` + ids:     func(c *SessionCall) { c.ID = "1.1" },
		`the call id "" is invalid: ` + ids:        func(c *SessionCall) { c.ID = "" },
		`the call id "turn-3" is invalid: ` + ids:  func(c *SessionCall) { c.ID = "turn-3" },
		`the call id "summary" is invalid: ` + ids: func(c *SessionCall) { c.ID = "summary" },
		"the tool of the call is missing":          func(c *SessionCall) { c.Tool = " " },
		"the caller of the call is missing":        func(c *SessionCall) { c.Caller.ID = "" },
		"the arguments have 1310721 bytes; the maximum is 1310720": func(c *SessionCall) {
			c.Arguments = strings.Repeat("x", MaxArguments+1)
		},
		"the key has 257 bytes; the maximum is 256": func(c *SessionCall) {
			c.Key = strings.Repeat("k", maxSessionKey+1)
		},
		"the wait of 10m1s is not between 0s and 10m0s": func(c *SessionCall) {
			c.Wait += Duration(1e9)
		},
	} {
		c := valid
		change(&c)
		if e := c.Check(); e == nil || e.Type != ControlMalformed || e.Message != message {
			t.Errorf("got %v, want %q", e, message)
		}
	}
}
