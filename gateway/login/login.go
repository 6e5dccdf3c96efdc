// Package login has people log in to the console with a browser: by OpenID Connect, or with an API
// key. A session is a sealed cookie, so that every replica of the gateway accepts it.
package login

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/httpserver"
)

// Pages that this package serves to people who are not logged in.
const (
	loginPage    = "login"
	beginPage    = "login/oidc"
	callbackPage = "callback"
	logoutPage   = "logout"
)

// loginPath is the address of the login.
const loginPath = routes.ConsolePath + loginPage

// maxForm bounds the body of a request in bytes.
const maxForm = 2 << 20

// Config describes the login of a console.
type Config struct {
	// Access knows identities and roles; required.
	Access *access.Access
	// Key seals cookies. All replicas need the same key, of any length. Default is a random one:
	// people log in again after a restart.
	Key []byte
	// Local, if set, is the name of everyone: nobody logs in. Use it for the loopback interface of
	// a developer only.
	Local string
	// Audit gets logins, logouts and refused requests; default none.
	Audit *slog.Logger
	// now is the clock of tests.
	now func() time.Time
}

// Login serves the login and checks the sessions of browsers. Create it with New, and Close it.
type Login struct {
	config   Config
	settings access.Console
	seal     sealer
	provider provider
	attempts attempts
	ended    *endedFile
	// used are the states of logins that have been completed, left the sessions that people have
	// ended on this replica.
	used, left onceSet
	// leaving guards the writing of the file of ended sessions.
	leaving sync.Mutex
}

// Principal is the person who sends a request.
type Principal struct {
	// Name is recorded with decisions, and Auth is how it was authenticated.
	Name string
	Auth api.AuthMethod
	// Roles say what the person may do: viewers see pages, operators also control runs, approvers
	// also decide and answer.
	Roles []api.UserRole
	// Claims are compared with those of approvers.
	Claims map[string]any
	// CSRF is the token that forms of this session have to carry in the field csrf.
	CSRF string
}

// View reports whether the person may see pages.
func (p Principal) View() bool { return len(p.Roles) > 0 }

// Operate reports whether the person may control runs.
func (p Principal) Operate() bool { return slices.Contains(p.Roles, api.RoleOperator) }

// Approve reports whether the person may decide about calls.
func (p Principal) Approve() bool { return slices.Contains(p.Roles, api.RoleApprover) }

// Answer reports whether the person may answer questions.
func (p Principal) Answer() bool { return p.Operate() || p.Approve() }

type principalKey struct{}

// PrincipalFromContext returns who sent the request of a context that passed Middleware; the zero
// Principal for others.
func PrincipalFromContext(ctx context.Context) Principal {
	p, _ := ctx.Value(principalKey{}).(Principal)
	return p
}

func (c *Config) setDefaults() {
	if c.Audit == nil {
		c.Audit = slog.New(slog.DiscardHandler)
	}
	if c.now == nil {
		c.now = time.Now
	}
	if len(c.Key) == 0 {
		c.Key = []byte(rand.Text())
	}
}

// New returns the login of a console. The error says that nobody could log in, or what is wrong
// with a file or a secret that gateway.yaml names.
func New(c Config) (*Login, error) {
	c.setDefaults()
	settings := c.Access.Settings().Console()
	if c.Local == "" && settings.Issuer == "" && !settings.Keys {
		return nil, errors.New("nobody could log in to the console: set console.login or " +
			"access.api_keys in gateway.yaml")
	}
	seal, err := newSealer(c.Key)
	if err != nil {
		return nil, err
	}
	l := &Login{config: c, settings: settings, seal: seal, provider: provider{Console: settings},
		attempts: newAttempts(c.now), used: newOnceSet(c.now), left: newOnceSet(c.now)}
	if _, err := l.provider.secret(); err != nil {
		return nil, err
	}
	if settings.EndedSessions != "" {
		if l.ended, err = openEnded(settings.EndedSessions, c.Audit); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Close stops watching the file of ended sessions.
func (l *Login) Close() {
	if l.ended != nil {
		l.ended.file.Close()
	}
}

// Middleware serves the login, and passes requests of people who are logged in and have a role to
// next, with their Principal. Requests that may change something need the session's CSRF token.
// Put it behind Access.Screen, for the pages of the console.
func (l *Login) Middleware(next http.Handler) http.Handler {
	open := routes.Pages{
		loginPage:    {http.MethodGet: l.showLogin, http.MethodPost: l.loginByKey},
		beginPage:    {http.MethodGet: l.begin},
		callbackPage: {http.MethodGet: l.callback},
		logoutPage:   {http.MethodPost: l.logout},
	}
	guarded := l.guard(next)
	return Headers(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if !safe(r) { // a form that is read in part must not count
			if err := r.ParseForm(); err != nil {
				status, text := httpserver.FormProblem(err)
				l.problem(w, status, text)
				return
			}
		}
		if page, ok := open[routes.From(r).Name]; ok {
			page.ServeHTTP(w, r)
			return
		}
		guarded.ServeHTTP(w, r)
	}))
}

// guard passes requests with a session.
func (l *Login) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, fresh, err := l.session(w, r)
		switch {
		case err != nil:
			l.anonymous(w, r, err)
			return
		case !safe(r) && (fresh || !s.carriesCSRF(r)):
			l.logRefusal(r, s.Identity.ID, "csrf")
			l.problem(w, http.StatusForbidden, "This form is out of date. Go back, reload the page "+
				"and send it again.")
			return
		case !s.principal().View():
			l.logRefusal(r, s.Identity.ID, "no_role")
			l.problem(w, http.StatusForbidden, s.Identity.ID+" has no role in this console. Ask "+
				"whoever runs the gateway for access.roles in gateway.yaml.")
			return
		}
		done, retry, ok := l.config.Access.Enter(s.Identity.ID, r.Method)
		if !ok {
			l.logRefusal(r, s.Identity.ID, "rate_limited")
			l.wait(w, retry, "You have asked for too many pages. Wait a moment.")
			return
		}
		defer done()
		ctx := context.WithValue(r.Context(), principalKey{}, s.principal())
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

// anonymous answers a request without a valid session.
func (l *Login) anonymous(w http.ResponseWriter, r *http.Request, err error) {
	if !errors.Is(err, errNoSession) {
		l.logRefusal(r, "", err.Error())
		l.dropCookie(w, r, sessionCookie)
	}
	if safe(r) {
		http.Redirect(w, r, loginPath+"?return="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		return
	}
	l.problem(w, http.StatusUnauthorized, "You are not logged in any more. Log in, and send the "+
		"form again.")
}

// safe reports whether a request changes nothing.
func safe(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// logRefusal logs a refused request. Reasons are words of this package, never what a client sent.
func (l *Login) logRefusal(r *http.Request, who, reason string) {
	l.config.Audit.Warn("console request refused", "reason", reason, "by", who, "path",
		r.URL.Path, "from", clientAddress(r))
}
