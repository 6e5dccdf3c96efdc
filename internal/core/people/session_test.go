package people

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func TestSessionCall_IsRefusedIfNoSessionCouldMakeIt(t *testing.T) {
	valid := api.SessionCall{ID: "c-1", Tool: "greet", Arguments: "{}", Wait: maxSessionWait,
		Caller: api.Caller{ID: "ana"}}
	if e := CheckSessionCall(valid); e != nil {
		t.Errorf("a valid call is refused: %v", e)
	}
	ids := "use 1 to 64 letters, digits, - and _, and none of summary, limit and turn-N"
	for message, change := range map[string]func(*api.SessionCall){
		`the call id "1.1" is invalid: ` + ids:     func(c *api.SessionCall) { c.ID = "1.1" },
		`the call id "" is invalid: ` + ids:        func(c *api.SessionCall) { c.ID = "" },
		`the call id "turn-3" is invalid: ` + ids:  func(c *api.SessionCall) { c.ID = "turn-3" },
		`the call id "summary" is invalid: ` + ids: func(c *api.SessionCall) { c.ID = "summary" },
		"the tool of the call is missing":          func(c *api.SessionCall) { c.Tool = " " },
		"the caller of the call is missing":        func(c *api.SessionCall) { c.Caller.ID = "" },
		"the arguments have 1310721 bytes; the maximum is 1310720": func(c *api.SessionCall) {
			c.Arguments = strings.Repeat("x", api.MaxArguments+1)
		},
		"the key has 257 bytes; the maximum is 256": func(c *api.SessionCall) {
			c.Key = strings.Repeat("k", maxSessionKey+1)
		},
		"the wait of 10m1s is not between 0s and 10m0s": func(c *api.SessionCall) {
			c.Wait += api.Duration(1e9)
		},
	} {
		c := valid
		change(&c)
		if e := CheckSessionCall(c); e == nil || e.Type != api.ControlMalformed ||
			e.Message != message {
			t.Errorf("got %v, want %q", e, message)
		}
	}
}
