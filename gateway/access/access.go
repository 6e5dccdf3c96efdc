// Package access decides who may use the gateway: it authenticates requests by signed tokens or API
// keys, bounds what each principal may ask for, and selects the tools of virtual servers. It reads
// gateway.yaml.
package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/content"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/filewatch"
	"github.com/switchyard/switchyard/toolspecs"
)

// Identity is who sent a request.
type Identity struct {
	// ID is unique among all principals: the claim of a token with the prefix of its issuer,
	// "key:" and the name of an API key, or "local".
	ID string
	// Method is how the principal was authenticated.
	Method api.AuthMethod
	// Scopes are those of the token or the key, Roles follow from gateway.yaml.
	Scopes []string
	Roles  []api.UserRole
	// Claims are those of the token, or the key, that gateway.yaml passes on.
	Claims map[string]any
	// Key is the hash of the API key.
	Key string
}

// localIdentity sends all requests to a gateway without authentication.
var localIdentity = Identity{ID: "local", Method: api.AuthLoopback}

// caller is the principal as the caller of a session.
func (p Identity) caller() api.Caller {
	return api.Caller{Type: api.CallerSession, ID: p.ID, Auth: p.Method, Claims: p.Claims}
}

type identityKey struct{}

// identityFromContext returns who sent the request of a context that passed Access.Middleware; the
// zero identity for another.
func identityFromContext(ctx context.Context) Identity {
	p, _ := ctx.Value(identityKey{}).(Identity)
	return p
}

// Options complete the settings of a gateway.
type Options struct {
	// Listen is the address that the gateway listens on, as host:port; empty for standard streams.
	Listen string
	// Logger gets faults of the file of keys and of issuers; default none.
	Logger *slog.Logger
	// Changed is called when another gateway.yaml is in effect; nil for nothing.
	Changed func()
	// now is the clock of tests; default time.Now. bodyWithin bounds the arrival of a body; default
	// bodyWithin.
	now        func() time.Time
	bodyWithin time.Duration
}

// Access authenticates and limits the requests of a gateway. Create it with New or Open, and Close
// it.
type Access struct {
	// file is the watched gateway.yaml, and fixed what is in effect without one.
	file  *filewatch.File[rules]
	fixed *rules
}

// rules is what is in effect: a gateway.yaml and what it needs.
type rules struct {
	settings *Settings
	options  Options
	issuers  []*issuer
	keys     *keyFile
	limits   *limiter
	hosts    hosts
}

// New returns the access to a gateway with the given settings. It returns an error if the file of
// API keys cannot be used, or if the gateway would listen beyond the loopback interface without
// authentication.
func New(s *Settings, o Options) (*Access, error) {
	r, err := newRules(s, o.withDefaults(), nil)
	if err != nil {
		return nil, err
	}
	return &Access{fixed: r}, nil
}

// Open is New for the gateway.yaml at path, which it watches until Close. While the file is missing
// or invalid, the previous one stays in effect. The error may be strictyaml.Faults.
func Open(path string, o Options) (*Access, error) {
	o = o.withDefaults()
	decode := func(path string, data []byte, before *rules) (*rules, error) {
		s, err := decodeSettings(path, data)
		if err != nil {
			return nil, err
		}
		if before != nil && !reflect.DeepEqual(before.settings.console, s.console) {
			o.Logger.Warn("gateway.yaml has changed console: restart the gateway to apply that")
		}
		return newRules(s, o, before)
	}
	file, err := filewatch.NewFile(path, filewatch.Reading[rules]{Read: readFile, Decode: decode,
		Same: func(*rules, *rules) bool { return false }},
		func(*rules) {
			o.Logger.Info("gateway.yaml has changed and is in effect")
			if o.Changed != nil {
				o.Changed()
			}
		},
		func(err error) {
			o.Logger.Error("gateway.yaml cannot be read again; the previous one stays in effect",
				"error", err)
		})
	if err != nil {
		return nil, err
	}
	file.Follow(listInterval)
	return &Access{file: file}, nil
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	o.bodyWithin = cmp.Or(o.bodyWithin, bodyWithin)
	return o
}

// newRules returns what is in effect with some settings. It takes over what has not changed since
// before, so that requests are still counted and keys of issuers are not fetched again.
func newRules(s *Settings, o Options, before *rules) (*rules, error) {
	if before == nil {
		before = &rules{settings: &Settings{}}
	}
	r := &rules{settings: s, options: o, hosts: newHosts(s, o.Listen), limits: before.limits,
		keys: before.keys}
	if !s.Authenticates() && o.Listen != "" && !loopback(o.Listen) {
		return nil, fmt.Errorf("the gateway does not listen on %s without authentication: set "+
			"access.issuers or access.api_keys in gateway.yaml, or listen on 127.0.0.1", o.Listen)
	}
	if r.limits == nil || s.limits != before.settings.limits {
		r.limits = newLimiter(s.limits, o.now)
	}
	for _, f := range s.issuers {
		r.issuers = append(r.issuers, before.issuer(f, o))
	}
	if err := r.openKeys(before); err != nil {
		return nil, err
	}
	before.closeIssuers(r.issuers)
	return r, nil
}

// closeIssuers closes the issuers that are not used any more.
func (a *rules) closeIssuers(used []*issuer) {
	for _, i := range a.issuers {
		if !slices.Contains(used, i) {
			i.keys.close()
		}
	}
}

// openKeys opens another file of keys than before.
func (a *rules) openKeys(before *rules) error {
	if a.settings.keysPath == before.settings.keysPath {
		return nil
	}
	if a.keys = nil; a.settings.keysPath != "" {
		var err error
		if a.keys, err = openKeyFile(a.settings.keysPath, a.options.Logger); err != nil {
			return err
		}
	}
	before.closeKeys()
	return nil
}

// issuer returns the verifier of an issuer's tokens.
func (a *rules) issuer(f issuerFile, o Options) *issuer {
	for _, i := range a.issuers {
		if reflect.DeepEqual(i.issuerFile, f) {
			return i
		}
	}
	return newIssuer(f, o)
}

func (a *rules) closeKeys() {
	if a.keys != nil {
		a.keys.file.Close()
	}
}

func (a *rules) close() {
	a.closeKeys()
	a.closeIssuers(nil)
}

// rules returns what is in effect.
func (a *Access) rules() *rules {
	if a.file == nil {
		return a.fixed
	}
	return a.file.Value()
}

// Settings returns the settings in effect.
func (a *Access) Settings() *Settings { return a.rules().settings }

// Close stops watching files.
func (a *Access) Close() {
	if a.file != nil {
		a.file.Close()
	}
	a.rules().close()
}

// Content returns the prompts and resources that are in effect.
func (a *Access) Content() *content.Set { return a.Settings().content }

// Select returns the tools that a caller may use on a virtual server, in their order. An empty name
// is the server at /mcp itself: the virtual server default, or all tools if gateway.yaml has no
// servers. The error says that there is no such server, or that the caller may not use it.
func (a *Access) Select(name string, caller api.Caller, tools []*toolspecs.Compiled) (
	[]*toolspecs.Compiled, error) {
	return a.Settings().selectTools(name, caller, tools)
}

// Middleware passes a request to next if its sender may make it. Others get an answer of RFC 6750:
// 401 with the address of the metadata, 403 with the scopes that are missing, 413 or 429. It also
// serves the metadata of RFC 9728. next has the whole body, and the principal in its context. What
// a request may use depends on its route; see routes.Handlers.
func (a *Access) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.rules().serve(w, r, next)
	})
}

// Operates reports whether the sender of the request of a context may use the tools for approvals.
// It does not depend on where the request was sent.
func (a *Access) Operates(ctx context.Context) bool {
	return a.rules().authorize(identityFromContext(ctx), routes.Route{Kind: routes.Operator}) == nil
}

// Screen passes the requests of browsers to next that name a host of the gateway and, if they may
// change something, come from its own pages. Others are answered with 403.
func (a *Access) Screen(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.rules().screen(next).ServeHTTP(w, r)
	})
}

// CallerFromContext returns who sent the request of a context that passed Access.Middleware.
func CallerFromContext(ctx context.Context) api.Caller { return identityFromContext(ctx).caller() }

// loopback reports whether an address can be reached from this machine only.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// refusal is the answer to a request that may not pass.
type refusal struct {
	status int
	// code is the error of RFC 6750, or another short name.
	code, message string
	// scope are the scopes that the request needs, for a client that can ask for more.
	scope []string
	// retry is when the client may try again; zero for no advice.
	retry time.Duration
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

// asRefusal returns err as the answer to a request. Errors of another kind are the gateway's own.
func asRefusal(err error) *refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r
	}
	return &refusal{status: http.StatusServiceUnavailable, code: "temporarily_unavailable",
		message: err.Error(), retry: 5 * time.Second}
}

// refuseCredential refuses a token or a key.
func refuseCredential(format string, args ...any) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: "invalid_token",
		message: fmt.Sprintf(format, args...)}
}
