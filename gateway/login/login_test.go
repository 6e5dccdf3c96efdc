package login

import (
	"net/http"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/access"
)

// A person logs in at the provider and comes back to the page that asked for it. Every replica
// accepts the session.
func TestLogin_ByOpenIDConnect(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	r := serve(t, path, nil)
	b := newBrowser(t)
	a := b.get(r.server.URL + "/console/runs?status=open")
	if a.at.Path != "/console/login" || !strings.Contains(a.body,
		`href="/console/login/oidc?return=%2Fconsole%2Fruns%3Fstatus%3Dopen"`) {
		t.Fatalf("at %s: %s", a.at, a.body)
	}
	a = b.get(r.server.URL + "/console/login/oidc?return=%2Fconsole%2Fruns%3Fstatus%3Dopen")
	if a.at.RequestURI() != "/console/runs?status=open" {
		t.Errorf("at %s", a.at)
	}
	got := a.who(t)
	want := Principal{Name: "ada", Auth: api.AuthOIDC, Roles: []api.UserRole{api.RoleApprover},
		Claims: map[string]any{"groups": []any{"finance"}}, CSRF: got.CSRF}
	if !reflect.DeepEqual(got, want) || len(got.CSRF) < 20 {
		t.Errorf("got %+v, want %+v", got, want)
	}
	other := serve(t, path, nil)
	if a := b.get(other.server.URL + "/console/"); a.who(t).Name != "ada" {
		t.Errorf("on another replica: %+v", a)
	}
	if strings.Contains(r.audit.String(), "secret") || !strings.Contains(r.audit.String(),
		"msg=login by=ada method=oidc roles=[approver]") {
		t.Errorf("logged: %s", r.audit)
	}
}

// Answers that are not the provider's answer to the login that this browser has begun are refused.
func TestCallback_RefusesOtherAnswers(t *testing.T) {
	p := newProvider(t)
	r := serve(t, settings(t, p), nil)
	foreign := newKey(t)
	for _, tt := range []struct {
		name   string
		edit   map[string]any
		signer bool
		// change changes the address of the answer; other has another browser send it, after a
		// while.
		change func(url.Values)
		other  bool
		after  time.Duration
		logs   string
	}{
		{name: "another state", change: func(q url.Values) { q.Set("state", "x") },
			logs: "the state is that of another login"},
		{name: "no state", change: func(q url.Values) { q.Del("state") },
			logs: "the state is that of another login"},
		{name: "another browser", other: true, logs: "this browser has begun no login"},
		{name: "late", after: flowLasts, logs: "the login took too long"},
		{name: "foreign iss", change: func(q url.Values) { q.Set("iss", "https://evil.example") },
			logs: "the answer is that of another provider"},
		{name: "an error", change: func(q url.Values) { q.Set("error", "access_denied") },
			logs: "the provider has refused the login"},
		{name: "another code", change: func(q url.Values) { q.Set("code", "x") },
			logs: "the provider does not accept the code"},
		{name: "foreign issuer", edit: map[string]any{"iss": "https://evil.example"},
			logs: "invalid_token: the token is not valid: its signature, algorithm, key or issuer is wrong"},
		{name: "foreign key", signer: true,
			logs: "invalid_token: the token is not valid: its signature, algorithm, key or issuer is wrong"},
		{name: "foreign audience", edit: map[string]any{"aud": "other"},
			logs: "invalid_token: the token is for another audience"},
		{name: "foreign party", edit: map[string]any{"aud": []string{"console", "other"},
			"azp": "other"}, logs: "invalid_token: the token is for another client"},
		{name: "another nonce", edit: map[string]any{"nonce": "x"},
			logs: "invalid_token: the token is for another login"},
		{name: "expired", edit: map[string]any{"exp": time.Now().Add(-time.Hour).Unix()},
			logs: "invalid_token: the token is expired"},
		{name: "an API key's name", edit: map[string]any{"sub": "key:boss"},
			logs: "invalid_token: the claim sub of the token is a reserved name"},
		{name: "too many claims", edit: map[string]any{"groups": strings.Repeat("x", 4000)},
			logs: "claims_too_large"},
	} {
		p.mu.Lock()
		p.edit, p.signer = tt.edit, nil
		if tt.signer {
			p.signer = &foreign
		}
		p.mu.Unlock()
		r.login.attempts = newAttempts(time.Now)
		b := newBrowser(t)
		back := r.answerAddress(b)
		q := back.Query()
		if tt.change != nil {
			tt.change(q)
		}
		back.RawQuery = q.Encode()
		if tt.other {
			b = newBrowser(t)
		}
		r.pass(tt.after)
		before := len(r.audit.String())
		a := b.get(back.String())
		logged := r.audit.String()[before:]
		if a.status != http.StatusForbidden || !strings.Contains(logged, tt.logs) {
			t.Errorf("%s: status %d, logged %s", tt.name, a.status, logged)
		}
		if a := b.still().get(r.server.URL + "/console/"); a.status != http.StatusSeeOther {
			t.Errorf("%s: there is a session", tt.name)
		}
	}
}

// answerAddress begins a login and returns the address that the provider sends the browser to.
func (r *replica) answerAddress(b browser) *url.URL {
	r.t.Helper()
	first := b.still().get(r.server.URL + "/console/login/oidc")
	asked := b.still().get(first.header.Get("Location"))
	back, err := url.Parse(asked.header.Get("Location"))
	if err != nil {
		r.t.Fatal(err)
	}
	return back
}

// An answer is taken once: also by a browser that kept the cookie of the login.
func TestCallback_TakesAnAnswerOnce(t *testing.T) {
	p := newProvider(t)
	r := serve(t, settings(t, p), nil)
	b := newBrowser(t)
	back := r.answerAddress(b)
	server, err := url.Parse(r.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	kept := b.Jar.Cookies(server)
	if a := b.get(back.String()); a.who(t).Name != "ada" {
		t.Fatalf("%+v", a)
	}
	thief := newBrowser(t)
	thief.Jar.SetCookies(server, kept)
	if a := thief.get(back.String()); a.status != http.StatusForbidden || !strings.Contains(
		r.audit.String(), "the login was completed before") {
		t.Errorf("status %d, logged %s", a.status, r.audit)
	}
}

// loggedIn returns a browser with a session of the API key boss, and the form of its pages.
func loggedIn(t *testing.T, r *replica, path string) (browser, url.Values) {
	t.Helper()
	key, err := access.AddKey(filepath.Join(filepath.Dir(path), "keys.yaml"),
		access.Key{Name: "boss"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t)
	deadline := time.Now().Add(20 * time.Second) // until the gateway has read the file
	for time.Now().Before(deadline) {
		r.login.attempts = newAttempts(time.Now)
		a := b.post(r.server.URL+"/console/login", url.Values{"key": {key}, "return": {"/console/runs"}})
		if a.status == http.StatusOK {
			return b, url.Values{"csrf": {a.who(t).CSRF}}
		}
	}
	t.Fatal("the key is not accepted")
	return b, nil
}

// awaitStatus requests the console until it answers with that status.
func awaitStatus(t *testing.T, b browser, r *replica, status int) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for b.still().get(r.server.URL+"/console/").status != status {
		if time.Now().After(deadline) {
			t.Fatalf("the console does not answer %d", status)
		}
	}
}

// Requests that may change something need the token of the session, and come from the console's own
// pages.
func TestSession_NeedsTheTokenOfTheForm(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	r := serve(t, path, nil)
	b, form := loggedIn(t, r, path)
	_, others := loggedInOf(t, r)
	for _, tt := range []struct {
		name    string
		form    url.Values
		headers []string
		want    int
	}{
		{name: "with the token", form: form, want: http.StatusOK},
		{name: "in a header", headers: []string{"X-CSRF-Token", form.Get("csrf")},
			want: http.StatusOK},
		{name: "without", want: http.StatusForbidden},
		{name: "empty", form: url.Values{"csrf": {""}}, want: http.StatusForbidden},
		{name: "of another session", form: others, want: http.StatusForbidden},
		{name: "from another page", form: form, headers: []string{"Origin", "https://evil.example"},
			want: http.StatusForbidden},
		{name: "from another site", form: form, headers: []string{"Sec-Fetch-Site", "cross-site"},
			want: http.StatusForbidden},
		{name: "from the same page", form: form, headers: []string{"Sec-Fetch-Site", "same-origin"},
			want: http.StatusOK},
	} {
		a := b.post(r.server.URL+"/console/call", tt.form, tt.headers...)
		if a.status != tt.want {
			t.Errorf("%s: status %d, want %d", tt.name, a.status, tt.want)
		}
	}
	request, err := http.NewRequest(http.MethodGet, r.server.URL+"/console/", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example"
	if a := b.do(request); a.status != http.StatusForbidden {
		t.Errorf("another host: status %d", a.status)
	}
}

// A form that is read in part must not count, even if the token is in it.
func TestForms_AreReadWholeOrNotAtAll(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	r := serve(t, path, nil)
	b, form := loggedIn(t, r, path)
	for text, want := range map[string]int{
		"reason=" + strings.Repeat("x", maxForm): http.StatusRequestEntityTooLarge,
		"reason=%zz":                             http.StatusBadRequest,
		"reason=fine":                            http.StatusOK,
	} {
		request, err := http.NewRequest(http.MethodPost, r.server.URL+"/console/call",
			strings.NewReader(form.Encode()+"&"+text))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if a := b.do(request); a.status != want {
			t.Errorf("%.20s: status %d, want %d", text, a.status, want)
		}
	}
}

// loggedInOf returns a browser with a session of ada.
func loggedInOf(t *testing.T, r *replica) (browser, url.Values) {
	t.Helper()
	b := newBrowser(t)
	return b, url.Values{"csrf": {b.get(r.server.URL + "/console/login/oidc").who(t).CSRF}}
}

// Sessions end by time, logout, the file of ended sessions and the revocation of a key. Cookies
// that were changed, or sealed for something else, are none.
// otherFirst returns a value with another first character.
func otherFirst(value string) string {
	if value[0] == 'A' {
		return "B" + value[1:]
	}
	return "A" + value[1:]
}

func TestSession_Ends(t *testing.T) {
	p := newProvider(t)
	path := settings(t, p)
	r := serve(t, path, nil)
	b, _ := loggedIn(t, r, path)
	server, err := url.Parse(r.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	cookie := b.Jar.Cookies(server)[0]
	flow, err := r.login.seal.seal(flowCookie, session{ID: "x",
		Identity: access.Identity{ID: "ada", Method: api.AuthOIDC}, Until: time.Now().Add(time.Hour),
		Issuer: p.server.URL})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"changed": otherFirst(cookie.Value),
		"cut": cookie.Value[:40], "empty": "", "of a login": flow, "no base64": "%%"} {
		thief := newBrowser(t)
		thief.Jar.SetCookies(server, []*http.Cookie{{Name: sessionCookie, Value: value, Path: "/"}})
		if a := thief.still().get(r.server.URL + "/console/"); a.status != http.StatusSeeOther {
			t.Errorf("%s: status %d", name, a.status)
		}
	}
	if err := access.RevokeKey(filepath.Join(filepath.Dir(path), "keys.yaml"), "boss"); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, b, r, http.StatusSeeOther)

	b, form := loggedInOf(t, r)
	kept := b.Jar.Cookies(server)
	if a := b.still().post(r.server.URL+"/console/logout", nil); a.status != http.StatusForbidden {
		t.Errorf("a logout without the token: status %d", a.status)
	}
	b.post(r.server.URL+"/console/logout", form)
	b.Jar.SetCookies(server, kept)
	if a := b.still().get(r.server.URL + "/console/"); a.status != http.StatusSeeOther {
		t.Errorf("after the logout: status %d", a.status)
	}

	b, _ = loggedInOf(t, r)
	file := filepath.Join(filepath.Dir(path), "ended.yaml")
	if err := EndSessions(file, "bob", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err := EndSessions(file, "ada", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, b, r, http.StatusSeeOther)

	other := serve(t, settings(t, p), nil)
	b, _ = loggedInOf(t, other)
	other.pass(time.Hour - time.Second)
	if a := b.get(other.server.URL + "/console/"); a.who(t).Name != "ada" {
		t.Errorf("before the end: %+v", a)
	}
	other.pass(time.Second)
	if a := b.still().post(other.server.URL+"/console/", nil); a.status != http.StatusUnauthorized {
		t.Errorf("after the end: status %d", a.status)
	}
}

// Logins never lead to other sites.
func TestReturnPath_StaysInTheConsole(t *testing.T) {
	for wanted, want := range map[string]string{
		"/console/runs?x=1":                 "/console/runs?x=1",
		"/console/run/result?id=a%20b":      "/console/run/result?id=a%20b",
		"/console/runs/a%20b":               "/console/",
		"/console/logout":                   "/console/",
		"":                                  "/console/",
		"/mcp":                              "/console/",
		"//evil.example":                    "/console/",
		"/console//evil.example":            "/console/",
		"https://evil.example/console/":     "/console/",
		"/\\evil.example":                   "/console/",
		"/console/\\evil.example":           "/console/",
		"/console/../../evil":               "/console/",
		"javascript:alert(1)":               "/console/",
		"/console/login":                    "/console/",
		"/console/x\r\nSet-Cookie: a=b":     "/console/",
		"https:/console/":                   "/console/",
		"//evil.example/console/":           "/console/",
		"/console/%2F%2Fevil.example":       "/console/",
		"/console/callback?code=1&state=2":  "/console/",
		"/console/#https://evil.example":    "/console/",
		"http://user@evil.example/console/": "/console/",
	} {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{
			RawQuery: url.Values{"return": {wanted}}.Encode()}}
		if got := returnPath(r); got != want {
			t.Errorf("%q leads to %q, want %q", wanted, got, want)
		}
	}
}

// Logins that fail are bounded for each address, and answers do not say why.
func TestLogin_BoundsFailedAttempts(t *testing.T) {
	p := newProvider(t)
	r := serve(t, settings(t, p), nil)
	b := newBrowser(t)
	for i := range failuresAtOnce + 2 {
		a := b.post(r.server.URL+"/console/login", url.Values{"key": {"sygw_planted"}})
		want := http.StatusUnauthorized
		if i >= failuresAtOnce {
			want = http.StatusTooManyRequests
		}
		if a.status != want || strings.Contains(a.body, "planted") {
			t.Errorf("attempt %d: status %d", i, a.status)
		}
	}
	if strings.Contains(r.audit.String(), "planted") {
		t.Errorf("logged: %s", r.audit)
	}
	r.pass(failureEvery)
	if a := b.post(r.server.URL+"/console/login", nil); a.status != http.StatusUnauthorized {
		t.Errorf("after a while: status %d", a.status)
	}
}

// Pages and cookies have the properties that keep other sites and scripts out.
func TestPages_AreProtected(t *testing.T) {
	p := newProvider(t)
	r := serve(t, settings(t, p), nil)
	b := newBrowser(t).still()
	for _, path := range []string{"/console/login", "/console/", "/console/inbox"} {
		h := b.get(r.server.URL + path).header
		for name, want := range map[string]string{"Content-Security-Policy": policy,
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
			"Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
			"X-Frame-Options": "DENY", "Strict-Transport-Security": ""} {
			if got := h.Get(name); got != want {
				t.Errorf("%s has %s: %q", path, name, got)
			}
		}
	}
	page := b.get(r.server.URL + "/console/login").body
	for _, inline := range []string{"<script", "style=", " onclick", "<style"} {
		if strings.Contains(page, inline) {
			t.Errorf("the page has %s", inline)
		}
	}
	public, err := http.NewRequest(http.MethodGet, r.server.URL+"/console/login/oidc", nil)
	if err != nil {
		t.Fatal(err)
	}
	public.Host = "tools.example.org"
	a := b.do(public)
	if c := a.header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-switchyard_login=") ||
		!strings.HasSuffix(c, "; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax") ||
		a.header.Get("Strict-Transport-Security") == "" {
		t.Errorf("the cookie is %s", c)
	}
}

// A person without a role sees nothing. A console for one machine has everyone logged in, and its
// forms need the token nevertheless.
func TestLogin_NeedsARoleUnlessLocal(t *testing.T) {
	p := newProvider(t)
	r := serve(t, settings(t, p), nil)
	p.edit = map[string]any{"groups": []string{"dev"}}
	if a := newBrowser(t).get(r.server.URL + "/console/login/oidc"); a.status != http.StatusForbidden {
		t.Errorf("without a role: %+v", a)
	}
	local := serve(t, settings(t, nil), func(c *Config) { c.Local = "ada@laptop" })
	b := newBrowser(t)
	got := b.get(local.server.URL + "/console/").who(t)
	if got.Name != "ada@laptop" || got.Auth != api.AuthLoopback || len(got.Roles) != 3 {
		t.Errorf("got %+v", got)
	}
	if a := b.post(local.server.URL+"/console/", nil); a.status != http.StatusForbidden {
		t.Errorf("without the token: status %d", a.status)
	}
	if a := b.post(local.server.URL+"/console/", url.Values{"csrf": {got.CSRF}}); a.status !=
		http.StatusOK {
		t.Errorf("with the token: status %d", a.status)
	}
	if a := newBrowser(t).post(local.server.URL+"/console/", url.Values{"csrf": {""}}); a.status !=
		http.StatusForbidden {
		t.Errorf("without a session: status %d", a.status)
	}
	const want = "nobody could log in to the console: set console.login or access.api_keys in " +
		"gateway.yaml"
	if _, err := New(Config{Access: local.login.config.Access}); err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
}
