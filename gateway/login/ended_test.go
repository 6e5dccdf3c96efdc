package login

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// A logout ends the session on every replica that has the file, also for a cookie that was copied.
func TestLogout_EndsTheSessionOnEveryReplica(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	one, two := serve(t, path, nil), serve(t, path, nil)
	b, form := loggedInOf(t, one)
	at, err := url.Parse(one.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	thief := newBrowser(t)
	thief.Jar.SetCookies(at, b.Jar.Cookies(at)) // cookies do not depend on the port
	if a := thief.still().get(two.server.URL + "/console/"); a.status != http.StatusOK {
		t.Fatalf("before the logout: status %d", a.status)
	}
	other, _ := loggedInOf(t, one)
	b.post(one.server.URL+"/console/logout", form)
	awaitStatus(t, thief, two, http.StatusSeeOther)
	if a := other.still().get(two.server.URL + "/console/"); a.status != http.StatusOK {
		t.Errorf("another session of the same person: status %d", a.status)
	}
}

// A role that is taken away ends what an open page gets, on every replica.
func TestSession_LosesItsRoles(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	r := serve(t, path, nil)
	b, _ := loggedInOf(t, r)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "groups: [finance]", "groups: [cfo]", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, b, r, http.StatusForbidden)
}

// Sessions that end at the same time are all in the file. Entries that end nothing any more leave
// it when it is written anew, and a file that somebody has written otherwise stays readable.
func TestEndSession_KeepsTheFileReadable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ended.yaml")
	now := time.Now()
	if err := EndSessions(path, "ada", now); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			if err := endSession(path, fmt.Sprint("s", i), now.Add(time.Hour), now); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	e, err := loadEnded(path)
	if err != nil || len(e.Ended) != 51 || !e.sessions["s7"] || e.sessions["s50"] {
		t.Fatalf("%d entries, %v", len(e.Ended), err)
	}
	if err := EndSessions(path, "ben", now.Add(2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if e, err = loadEnded(path); err != nil || len(e.Ended) != 2 {
		t.Errorf("after the end of the sessions: %d entries, %v", len(e.Ended), err)
	}
	flow := `ended: [{name: eve, before: "2026-01-01T00:00:00Z"}]`
	for _, text := range []string{flow, "ended: []\n", "{}\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := endSession(path, "s1", now.Add(time.Hour), now); err != nil {
			t.Fatal(err)
		}
		if e, err = loadEnded(path); err != nil || !e.sessions["s1"] {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
	}
	for _, wrong := range []string{`- {name: a}`, `- {session: s, before: "2026-01-01T00:00:00Z"}`,
		`- {session: s}`, `- {before: soon}`, `- {session: s, until: soon}`} {
		if _, err := decodeEnded(path, []byte("ended:\n"+wrong+"\n")); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

// A person who asks for too many pages waits, and others do not.
func TestPages_AreLimitedForEachPerson(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(data), "second: 10000", "second: 0.01, burst: 3", 1)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	r := serve(t, path, nil)
	b, _ := loggedInOf(t, r)
	var last answer
	for range 3 {
		last = b.get(r.server.URL + "/console/")
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" ||
		!strings.Contains(r.audit.String(), "reason=rate_limited by=ada") {
		t.Errorf("status %d, logged %s", last.status, r.audit)
	}
	p.mu.Lock()
	p.edit = map[string]any{"sub": "grace"}
	p.mu.Unlock()
	if other, _ := loggedInOf(t, r); other.get(r.server.URL+"/console/").status != http.StatusOK {
		t.Error("another person has to wait")
	}
}
