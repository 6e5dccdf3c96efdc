package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// told is what a result says about its call.
type told struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Meta map[string]struct {
		Call     string `json:"call_id"`
		Attached bool   `json:"attached"`
	} `json:"_meta"`
}

func (l *lab) told(r reply) (t told) {
	l.Helper()
	if err := json.Unmarshal(r.Result, &t); err != nil {
		l.Fatalf("%+v: %v", r, err)
	}
	return t
}

// notes reports whether the text of a result says that the call is that of an earlier request.
func (t told) notes() bool {
	return strings.Contains(t.Content[len(t.Content)-1].Text, repetitionNote)
}

// A client and its model learn that their request was a repetition and executed nothing: with the
// result, with the answer that the call is pending, and with the result of get_result.
func TestRepetition_IsToldToClientAndModel(t *testing.T) {
	for _, attached := range []bool{false, true} {
		l := newLab(t, func(c *Config) { c.Wait = c.Direct })
		if attached {
			l.attached = "first"
		}
		session := l.begin(l.url)
		call := func(tool string) reply {
			return l.post(l.url+Path, fmt.Sprintf(legacyCall, tool), sessionHeader, session)
		}
		pending := l.told(call("once"))
		handle := pending.Meta[callKey].Call
		l.finish(<-l.submitted, api.CallOutcome{Tool: "once",
			Result: &api.Result{Output: []byte(`"done"`)}})
		later := l.post(l.url+Path, fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":"tools/call",`+
			`"params":{"name":"get_result","arguments":{"call_id":%q}}}`, handle), sessionHeader,
			session)
		for name, got := range map[string]told{"result": l.told(call("echo")),
			"failure": l.told(call("fail")), "pending": pending, "get_result": l.told(later)} {
			if got.Meta[callKey].Attached != attached || got.notes() != attached {
				t.Errorf("attached %t: the %s is %+v", attached, name, got)
			}
		}
	}
}

// Programs that name neither themselves nor a session share one. Their equal calls are repetitions
// only by a key.
func TestRepetition_NeedsAKeyInTheSessionOfProgramsWithoutAName(t *testing.T) {
	const version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}`
	for name, test := range map[string]struct {
		meta string
		// own says that the call gets a key of its own, key is one that it has.
		own bool
		key string
	}{
		"unnamed":         {own: true},
		"with a key":      {meta: `,"io.github.switchyard/idempotency-key":"k"`, key: "k"},
		"with a session":  {meta: `,"io.github.switchyard/session":"s"`},
		"a named program": {meta: `,"io.modelcontextprotocol/clientInfo":{"name":"a","version":"1"}`},
	} {
		l := newLab(t, nil)
		for range 2 {
			r := l.post(l.url+Path, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+
				`"echo","arguments":{},"_meta":{`+version+test.meta+`}}}`, versionHeader, stateless,
				"Mcp-Method", "tools/call", "Mcp-Name", "echo")
			if r.Result == nil {
				t.Fatalf("%s: %+v", name, r)
			}
		}
		if test.own {
			if l.keys[0] == "" || l.keys[0] == l.keys[1] {
				t.Errorf("%s: the keys are %q", name, l.keys)
			}
		} else if want := []string{test.key, test.key}; !slices.Equal(l.keys, want) {
			t.Errorf("%s: the keys are %q, want %q", name, l.keys, want)
		}
	}
}
