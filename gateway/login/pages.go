package login

import (
	"embed"
	"errors"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/console/static"
	"github.com/switchyard/switchyard/gateway/routes"
)

//go:embed pages/*.html
var files embed.FS

var pages = static.Parse(files, nil)

// page is what the templates show.
type page struct {
	// Text is a message.
	Text string
	// OIDC is the address that begins a login at the provider, Keys whether API keys are accepted,
	// and Return where to go after the login.
	OIDC   string
	Keys   bool
	Return string
}

func (l *Login) problem(w http.ResponseWriter, status int, text string) {
	static.Show(w, status, pages, "problem.html", page{Text: text})
}

// showLogin shows the ways to log in.
func (l *Login) showLogin(w http.ResponseWriter, r *http.Request) {
	if _, err := l.read(r); err == nil || l.config.Local != "" {
		http.Redirect(w, r, returnPath(r), http.StatusSeeOther)
		return
	}
	l.form(w, r, http.StatusOK, "")
}

func (l *Login) form(w http.ResponseWriter, r *http.Request, status int, text string) {
	p := page{Text: text, Keys: l.settings.Keys, Return: returnPath(r)}
	if l.settings.Issuer != "" {
		p.OIDC = routes.ConsolePath + beginPage + "?return=" + url.QueryEscape(p.Return)
	}
	static.Show(w, status, pages, "login.html", p)
}

// loginByKey takes an API key from the form.
func (l *Login) loginByKey(w http.ResponseWriter, r *http.Request) {
	if !l.settings.Keys {
		http.NotFound(w, r)
		return
	}
	if !l.attempts.allows(r) {
		l.tooMany(w, r)
		return
	}
	p, err := l.config.Access.KeyIdentity(strings.TrimSpace(r.PostFormValue("key")))
	if err == nil {
		_, err = l.start(w, r, p)
	}
	if err != nil {
		l.attempts.countFailure(r)
		l.config.Audit.Warn("login refused", "reason", err.Error(), "method", "api_key", "from",
			clientAddress(r))
		l.form(w, r, http.StatusUnauthorized, "This API key is not accepted.")
		return
	}
	l.loggedIn(r, p)
	http.Redirect(w, r, returnPath(r), http.StatusSeeOther)
}

func (l *Login) loggedIn(r *http.Request, p access.Identity) {
	l.config.Audit.Info("login", "by", p.ID, "method", p.Method, "roles", p.Roles, "from",
		clientAddress(r))
}

func (l *Login) loginFailed(w http.ResponseWriter, err error) {
	text := "The login has failed. Start it again from the console."
	if errors.Is(err, errTooLarge) {
		text = "Your identity has too many claims for a session. Ask whoever runs the gateway to " +
			"select fewer in access.claims."
	}
	l.problem(w, http.StatusForbidden, text)
}

func (l *Login) tooMany(w http.ResponseWriter, r *http.Request) {
	l.logRefusal(r, "", "too_many_attempts")
	l.wait(w, failureEvery, "Too many logins have failed. Wait a moment.")
}

// wait answers a request that comes too early.
func (l *Login) wait(w http.ResponseWriter, retry time.Duration, text string) {
	w.Header().Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(retry.Seconds())))))
	l.problem(w, http.StatusTooManyRequests, text)
}

// leave ends a session here, and on the other replicas if they share the file of ended sessions.
func (l *Login) leave(s session) {
	l.left.add(s.ID, s.Until)
	if l.ended == nil {
		return
	}
	l.leaving.Lock()
	defer l.leaving.Unlock()
	if err := endSession(l.settings.EndedSessions, s.ID, s.Until, l.config.now()); err != nil {
		l.config.Audit.Error("the file of ended sessions cannot be written: the session has ended "+
			"on this replica only", "by", s.Identity.ID, "error", err)
	}
}

// logout ends the session, and has the browser forget it.
func (l *Login) logout(w http.ResponseWriter, r *http.Request) {
	s, err := l.read(r)
	if err == nil && !s.carriesCSRF(r) {
		l.logRefusal(r, s.Identity.ID, "csrf")
		l.problem(w, http.StatusForbidden, "This form is out of date. Reload the page.")
		return
	}
	if err == nil {
		l.leave(s)
		l.config.Audit.Info("logout", "by", s.Identity.ID, "from", clientAddress(r))
	}
	l.dropCookie(w, r, sessionCookie)
	http.Redirect(w, r, loginPath, http.StatusSeeOther)
}

// returnPath returns where a browser goes after a login: a path of the console.
func returnPath(r *http.Request) string {
	wanted := r.FormValue("return")
	u, err := url.Parse(wanted)
	if err != nil || u.IsAbs() || u.Host != "" || strings.ContainsAny(wanted, "\\\r\n") ||
		!returns(u.EscapedPath()) {
		return routes.ConsolePath
	}
	return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
}

// returns reports whether a path is one of the console's pages, and not of the login.
func returns(path string) bool {
	route, ok := routes.Parse(path)
	return ok && route.Kind == routes.Console && !slices.Contains([]string{loginPage, beginPage,
		callbackPage, logoutPage}, route.Name)
}
