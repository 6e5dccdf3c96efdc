package gateway

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// experiments returns initialize with many names of experimental capabilities, beside one that
// matters.
func experiments(number int) string {
	var names strings.Builder
	for i := range number {
		fmt.Fprintf(&names, `"experiment-%08d":{},`, i)
	}
	return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":` +
		`"2025-11-25","capabilities":{"experimental":{` + names.String() + `"x":{}},"elicitation":` +
		`{"form":{}}},"clientInfo":{"name":"test","version":"1","icons":[{"src":"data:image/png;` +
		`base64,` + strings.Repeat("A", 20*number) + `"}]}}}`
}

// sessionsInMemory returns the number of sessions that an endpoint has, and the size of the largest
// parameters that one keeps.
func (e *endpoint) sessionsInMemory() (number, largest int) {
	for _, server := range e.all() {
		for s := range server.Sessions() {
			if data, err := json.Marshal(s.InitializeParams()); err == nil {
				number, largest = number+1, max(largest, len(data))
			}
		}
	}
	return number, largest
}

// What a client says about itself takes as much memory as its session's id, whatever it sends.
func TestSessions_KeepNoLargeParameters(t *testing.T) {
	l := newLab(t, nil)
	heap := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc >> 10)
	}
	before := heap()
	body := experiments(25_000) // 1.2 MB
	for range 25 {
		r := l.post(l.url+Path, body)
		if r.status != http.StatusOK || r.session == "" {
			t.Fatalf("initialize: %d", r.status)
		}
		id, ok := parseSessionID(r.session, "ann")
		if !ok || id.Initialize.Capabilities.Elicitation == nil ||
			id.Initialize.ClientInfo.Name != "test" {
			t.Fatalf("the session has lost what matters: %+v", id.Initialize)
		}
		if r := l.post(l.url+Path, `{"jsonrpc":"2.0","method":"notifications/initialized","params":`+
			`{"_meta":{"x":"`+strings.Repeat("x", 1<<20)+`"}}}`, sessionHeader, r.session); r.status !=
			http.StatusBadRequest {
			t.Fatalf("large parameters of a notification are kept: %d", r.status)
		}
	}
	number, largest := l.gateway.mcp.sessionsInMemory()
	if grown := heap() - before; number != 25 || largest > maxSessionID || grown > 16<<10 {
		t.Errorf("%d sessions keep up to %d bytes, the heap has grown by %d KiB", number, largest,
			grown)
	}
}

// A principal that begins many sessions loses its own least recent ones, which continue with their
// next request, and nobody else's.
func TestSessions_InMemoryAreBoundedForEachPrincipal(t *testing.T) {
	l := newLab(t, nil)
	others := l.begin(l.url, "As", "bob")
	first := l.begin(l.url)
	for range 2 * maxOwnSessions {
		l.begin(l.url)
	}
	e := l.gateway.mcp
	if number, _ := e.sessionsInMemory(); number != maxOwnSessions+1 {
		t.Errorf("%d sessions are in memory, want %d", number, maxOwnSessions+1)
	}
	e.mu.Lock()
	kept, gone := e.servers.entries[others] != nil, e.servers.entries[first] == nil
	e.mu.Unlock()
	if !kept || !gone {
		t.Errorf("that of another principal is in memory: %v, the least recent is not: %v", kept,
			gone)
	}
	r := l.post(l.url+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, first, versionHeader,
		"2025-11-25")
	if got := text(t, r.Result); got != `{"a":1}` {
		t.Errorf("a session that had to go continues with %+v", r)
	}
	if number, _ := e.sessionsInMemory(); number != maxOwnSessions+1 {
		t.Errorf("%d sessions are in memory afterwards", number)
	}
}

// Many principals together are bounded, too. A session whose client waits for a call stays.
func TestSessions_InMemoryAreBoundedInAll(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Direct, c.Wait = time.Minute, time.Minute })
	busy := l.begin(l.url, "As", "busy")
	answers := make(chan reply, 1)
	go func() {
		answers <- l.post(l.url+Path, fmt.Sprintf(legacyCall, "slow"), sessionHeader, busy,
			versionHeader, "2025-11-25", "As", "busy")
	}()
	call := <-l.submitted
	for i := range maxSessions + 50 {
		l.begin(l.url, "As", fmt.Sprintf("user-%d", i/(maxOwnSessions/2)))
	}
	if number, _ := l.gateway.mcp.sessionsInMemory(); number != maxSessions {
		t.Errorf("%d sessions are in memory, want %d", number, maxSessions)
	}
	l.finish(call, api.CallOutcome{Result: &api.Result{Output: []byte(`{"done":true}`)}})
	if r := <-answers; text(t, r.Result) != `{"done":true}` {
		t.Errorf("the call of a session in use ends with %+v", r)
	}
}

// Ended sessions are remembered, the recent ones.
func TestSessions_EndedAreRememberedInBoundedNumber(t *testing.T) {
	l := newLab(t, nil)
	end := func(session string) int {
		req, err := http.NewRequest(http.MethodDelete, l.url+Path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(sessionHeader, session)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		<-l.ended
		return res.StatusCode
	}
	var last string
	for range maxOwnEnded + 10 {
		last = l.begin(l.url)
		if status := end(last); status != http.StatusNoContent {
			t.Fatalf("DELETE: %d", status)
		}
	}
	e := l.gateway.mcp
	e.mu.Lock()
	remembered := len(e.ended.entries)
	e.mu.Unlock()
	r := l.post(l.url+Path, fmt.Sprintf(legacyCall, "echo"), sessionHeader, last)
	if remembered != maxOwnEnded || r.status != http.StatusNotFound {
		t.Errorf("%d are remembered, the last answers with %d", remembered, r.status)
	}
}
