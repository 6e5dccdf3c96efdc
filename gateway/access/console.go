package access

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// consoleFile says how people log in to the console.
type consoleFile struct {
	Login         *loginFile   `yaml:"login"`
	Session       api.Duration `yaml:"session" rule:"min=1m,max=720h"`
	EndedSessions string       `yaml:"ended_sessions"`
}

type loginFile struct {
	Issuer       string   `yaml:"issuer" rule:"required"`
	ClientID     string   `yaml:"client_id" rule:"required"`
	ClientSecret string   `yaml:"client_secret"`
	Scopes       []string `yaml:"scopes" pattern:"^[!#-\\x5b\\x5d-~]+$ %q is not a scope" hint:"write one word"`
}

// defaultSession is how long a login lasts by default, and MaxSession at most.
const (
	defaultSession = 8 * time.Hour
	MaxSession     = 720 * time.Hour
)

// Console says how people log in to the console.
type Console struct {
	// Issuer is the OpenID provider; empty for a login by API key alone.
	Issuer, ClientID string
	// ClientSecret is a reference to the client's secret; empty for a public client.
	ClientSecret string
	// Scopes are asked for besides openid.
	Scopes []string
	// Keys reports whether people can log in with an API key.
	Keys bool
	// Session is how long a login lasts.
	Session time.Duration
	// EndedSessions is the path of a file that says which logins have ended; empty for none.
	EndedSessions string
	// Address is that of the gateway, without a path of it; empty if gateway.yaml has none.
	Address string
}

// Console returns how people log in to the console.
func (s *Settings) Console() Console {
	c := Console{Keys: s.keysPath != "", Address: s.address(), EndedSessions: s.endedSessions,
		Session: cmp.Or(s.console.Session.Std(), defaultSession)}
	if l := s.console.Login; l != nil {
		c.Issuer, c.ClientID, c.ClientSecret, c.Scopes = l.Issuer, l.ClientID, l.ClientSecret,
			l.Scopes
	}
	return c
}

// screen passes the requests of browsers to next that name a host of the gateway and, if they may
// change something, come from its own pages. Others are answered with 403.
func (a *rules) screen(next http.Handler) http.Handler {
	own := http.NewCrossOriginProtection()
	if u := a.settings.publicURL; u != nil {
		_ = own.AddTrustedOrigin(originFromURL(u)) // an origin, as settings were checked
	}
	own.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "another web page has sent this request", http.StatusForbidden)
	}))
	protected := own.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refused := a.hosts.checkHost(r); refused != nil {
			http.Error(w, refused.message, refused.status)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// LocalHost reports whether a request names the machine itself.
func LocalHost(r *http.Request) bool {
	return slices.Contains(loopbackNames, hostname(r.Host))
}

// KeyIdentity returns whose an API key is, with its roles.
func (a *Access) KeyIdentity(key string) (Identity, error) {
	now := a.rules()
	p, err := now.keys.principal(key, now.options.now())
	p.Roles = now.settings.findRoles(p)
	return p, err
}

// LoginIdentity verifies the ID token of a login and returns whose it is, with its roles. nonce is
// what the login was begun with.
func (a *Access) LoginIdentity(ctx context.Context, token, nonce string) (Identity, error) {
	now := a.rules()
	login := now.settings.console.Login
	if login == nil { // it was removed since
		return Identity{}, refuseCredential("there is no login by a provider")
	}
	at := slices.IndexFunc(now.issuers, func(i *issuer) bool { return i.Issuer == login.Issuer })
	if at < 0 { // settings were checked
		return Identity{}, refuseCredential("the token's issuer is not trusted")
	}
	i := now.issuers[at]
	verified, all, err := i.verify(ctx, token, []string{login.ClientID})
	if err != nil {
		return Identity{}, err
	}
	party, several := all["azp"].(string)
	switch {
	case nonce == "" || verified.Nonce != nonce:
		return Identity{}, refuseCredential("the token is for another login")
	case (several || len(verified.Audience) > 1) && party != login.ClientID:
		return Identity{}, refuseCredential("the token is for another client")
	}
	return i.identity(all, now.settings, api.AuthOIDC)
}

// Current returns an identity of an earlier login with its present roles, and for an API key also
// with its present claims. The error says that the key has expired or was revoked.
func (a *Access) Current(p Identity) (Identity, error) {
	now := a.rules()
	if p.Method == api.AuthKey {
		var err error
		if p, err = now.keys.current(p, now.options.now()); err != nil {
			return p, err
		}
	}
	p.Roles = now.settings.findRoles(p)
	return p, nil
}

// current returns the present identity of a key that was used before.
func (f *keyFile) current(p Identity, now time.Time) (Identity, error) {
	if f != nil {
		for _, k := range f.file.Value().Keys {
			expired := !k.expires.IsZero() && !now.Before(k.expires)
			if keyPrincipal+k.Name == p.ID && k.Hash == p.Key && !expired {
				return k.identity(), nil
			}
		}
	}
	return p, refuseCredential("the API key has expired or was revoked")
}

// console checks how people log in.
func (c *checker) console() {
	const at = jsonpath.Root + ".console"
	l := c.file.Console.Login
	if l == nil {
		return
	}
	known := slices.ContainsFunc(c.file.Access.Issuers, func(i issuerFile) bool {
		return i.Issuer == l.Issuer
	})
	if l.Issuer != "" && !known {
		c.Add(at+".login.issuer", "add it to access.issuers, so that people have one name in tokens "+
			"and in the console", "%q is not among access.issuers", l.Issuer)
	}
	if l.ClientSecret != "" && !outbound.IsReference(l.ClientSecret) {
		c.Add(at+".login.client_secret", outbound.HintSecret,
			"the secret itself must not be in the file")
	}
	if u := c.settings.publicURL; u != nil && u.Path != "" {
		c.Add(jsonpath.Root+".public_url", "serve the gateway under a name of its own",
			"the console cannot be served below a path")
	}
}

// beside returns the path of a file that gateway.yaml at path names; empty for none.
func beside(path, file string) string {
	if file == "" {
		return ""
	}
	return strictyaml.Beside(path, file)
}
