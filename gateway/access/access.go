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
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/filewatch"
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

// identityOf returns who sent the request of a context that passed Access.Middleware; the zero
// identity for another.
func identityOf(ctx context.Context) Identity {
	p, _ := ctx.Value(identityKey{}).(Identity)
	return p
}

// Options complete the settings of a gateway.
type Options struct {
	// Listen is the address that the gateway listens on, as host:port.
	Listen string
	// Logger gets faults of the file of keys and of issuers; default none.
	Logger *slog.Logger
	// now is the clock of tests; default time.Now. bodyWithin bounds the arrival of a body; default
	// bodyWithin.
	now        func() time.Time
	bodyWithin time.Duration
}

// Access authenticates and limits the requests of a gateway. Create it with New, and Close it.
type Access struct {
	settings *Settings
	options  Options
	issuers  []*issuer
	keys     *keyFile
	// file is gateway.yaml; nil without one.
	file   *filewatch.File[Settings]
	limits *limiter
	hosts  hosts
}

// New returns the access to a gateway with the given settings, whose roles it takes over again when
// gateway.yaml changes. It returns an error if that file or the one of API keys cannot be used, or
// if the gateway would listen beyond the loopback interface without authentication.
func New(s *Settings, o Options) (*Access, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.now == nil {
		o.now = time.Now
	}
	o.bodyWithin = cmp.Or(o.bodyWithin, bodyWithin)
	a := &Access{settings: s, options: o, limits: newLimiter(s.limits, o.now),
		hosts: hostsOf(s, o.Listen)}
	if !s.Authenticates() && !loopback(o.Listen) {
		return nil, fmt.Errorf("the gateway does not listen on %s without authentication: set "+
			"access.issuers or access.api_keys in gateway.yaml, or listen on 127.0.0.1", o.Listen)
	}
	for _, i := range s.issuers {
		a.issuers = append(a.issuers, newIssuer(i, o))
	}
	if s.keysPath != "" {
		keys, err := openKeyFile(s.keysPath, o.Logger)
		if err != nil {
			return nil, err
		}
		a.keys = keys
	}
	var err error
	if a.file, err = s.follow(o.Logger); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// Close stops watching gateway.yaml and the file of API keys.
func (a *Access) Close() {
	if a.keys != nil {
		a.keys.file.Close()
	}
	if a.file != nil {
		a.file.Close()
	}
}

// CallerOf returns who sent the request of a context that passed Access.Middleware.
func CallerOf(ctx context.Context) api.Caller { return identityOf(ctx).caller() }

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

// unauthorized refuses a token or a key.
func unauthorized(format string, args ...any) *refusal {
	return &refusal{status: http.StatusUnauthorized, code: "invalid_token",
		message: fmt.Sprintf(format, args...)}
}
