package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"golang.org/x/sync/singleflight"
)

const (
	// keysFresh is how long fetched keys are used without asking again, keysStale how long while
	// the issuer cannot be reached. A key that the issuer has withdrawn is accepted no longer.
	keysFresh = 10 * time.Minute
	keysStale = 24 * time.Hour
	// keysAgain is how soon after the end of a request an unknown key leads to another one, so that
	// forged tokens do not make the gateway send many.
	keysAgain = 10 * time.Second
	// keysTimeout bounds a request to an issuer, maxKeys the answer in bytes.
	keysTimeout = 10 * time.Second
	maxKeys     = 1 << 20
)

// unavailableKey is the context key of an *error that gets why an issuer's keys could not be
// fetched: the verifier does not wrap the errors of a key set.
type unavailableKey struct{}

// keySet are the keys of an issuer. They are fetched one request at a time and without the lock: a
// token that known keys verify waits for no issuer.
type keySet struct {
	issuer, address string
	client          *http.Client
	log             *slog.Logger
	now             func() time.Time

	mu sync.Mutex
	// keys were fetched at fetched; tried is the end of the last attempt, err its error.
	keys           []jose.JSONWebKey
	fetched, tried time.Time
	err            error
	fetching       singleflight.Group
	// used is when a token was verified last, and again fetches the keys while they are in use: a
	// key that the issuer withdraws between two requests must not verify the second.
	used   time.Time
	again  *time.Timer
	closed bool
}

func newKeySet(issuer, address string, o Options) *keySet {
	return &keySet{issuer: issuer, address: address, log: o.Logger, now: o.now,
		client: &http.Client{Timeout: keysTimeout, CheckRedirect: onlySecure}}
}

// onlySecure follows redirects that do not leave TLS.
func onlySecure(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || r.URL.Scheme != via[0].URL.Scheme {
		return errors.New("the redirect is not followed")
	}
	return nil
}

// VerifySignature implements oidc.KeySet.
func (k *keySet) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	algorithms := make([]jose.SignatureAlgorithm, len(signatures))
	for i, a := range signatures {
		algorithms[i] = jose.SignatureAlgorithm(a)
	}
	// The verifier has checked the algorithm already.
	signed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, errors.New("the token is malformed")
	}
	if payload, ok := verify(signed, k.known()); ok {
		return payload, nil
	}
	keys, err := k.newer(ctx) // the issuer may have other keys
	if err != nil {
		if unavailable, ok := ctx.Value(unavailableKey{}).(*error); ok {
			*unavailable = err
		}
		return nil, err
	}
	if payload, ok := verify(signed, keys); ok {
		return payload, nil
	}
	return nil, errors.New("no key of the issuer verifies the token")
}

// verify returns the payload if one of the keys that may have signed the token did.
func verify(signed *jose.JSONWebSignature, keys []jose.JSONWebKey) ([]byte, bool) {
	header := signed.Signatures[0].Header
	for i := range keys {
		key := &keys[i]
		if !signs(key, header) {
			continue
		}
		if payload, err := signed.Verify(key); err == nil {
			return payload, true
		}
	}
	return nil, false
}

// signs reports whether a key may have made a signature.
func signs(key *jose.JSONWebKey, header jose.Header) bool {
	return (header.KeyID == "" || key.KeyID == header.KeyID) &&
		(key.Algorithm == "" || key.Algorithm == header.Algorithm) &&
		(key.Use == "" || key.Use == "sig") && key.IsPublic()
}

// known returns the keys without waiting for the issuer. If they are old, they are fetched again
// meanwhile.
func (k *keySet) known() []jose.JSONWebKey {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used = k.now()
	if k.keys != nil && k.used.Sub(k.fetched) > keysFresh {
		k.refresh()
	}
	return k.current()
}

// newer returns the keys after a fetch, or the known ones if the last fetch was shortly before. The
// error says that there are no keys.
func (k *keySet) newer(ctx context.Context) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if end := k.refresh(); end != nil {
		k.mu.Unlock()
		select {
		case <-end:
		case <-ctx.Done():
		}
		k.mu.Lock()
	}
	if keys := k.current(); keys != nil || ctx.Err() != nil {
		return keys, ctx.Err()
	}
	return nil, k.err
}

// current returns the keys that may be used; nil for none. The lock must be held.
func (k *keySet) current() []jose.JSONWebKey {
	if k.now().Sub(k.fetched) > keysStale {
		return nil
	}
	return k.keys
}

// refresh joins the fetch in progress or begins one, and returns its end; nil if the last fetch has
// ended shortly before. The lock must be held.
func (k *keySet) refresh() (end <-chan singleflight.Result) {
	if k.now().Sub(k.tried) <= keysAgain {
		return nil
	}
	return k.fetching.DoChan("", func() (any, error) { k.fetch(); return nil, nil })
}

// fetch fetches the keys, without the lock.
func (k *keySet) fetch() {
	keys, err := k.read()
	if err != nil {
		k.log.Warn("the keys of an issuer cannot be fetched", "issuer", k.issuer, "error", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tried, k.err = k.now(), err
	if err == nil {
		k.keys, k.fetched = keys, k.tried
	}
	switch {
	case k.closed, k.tried.Sub(k.used) > keysStale:
	case k.again == nil:
		k.again = time.AfterFunc(keysFresh, k.refreshLater)
	default:
		k.again.Reset(keysFresh)
	}
}

func (k *keySet) refreshLater() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.closed {
		k.refresh()
	}
}

// close ends the fetches that no token asks for.
func (k *keySet) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
}

// read reads the keys from the issuer.
func (k *keySet) read() ([]jose.JSONWebKey, error) {
	address := k.address
	if address == "" {
		var err error
		if address, err = k.discover(); err != nil {
			return nil, err
		}
	}
	var set jose.JSONWebKeySet
	if err := k.get(address, &set); err != nil {
		return nil, err
	}
	if len(set.Keys) == 0 {
		return nil, fmt.Errorf("%s has no keys", address)
	}
	return set.Keys, nil
}

// discover returns the address of the keys as the issuer's metadata has it: of OpenID Connect, or
// of RFC 8414.
func (k *keySet) discover() (string, error) {
	var document struct {
		Issuer string `json:"issuer"`
		Keys   string `json:"jwks_uri"`
	}
	base, err := url.Parse(k.issuer)
	if err != nil {
		return "", err
	}
	path := strings.TrimSuffix(base.Path, "/")
	for _, at := range []string{path + "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server" + path} {
		base.Path = at
		if err = k.get(base.String(), &document); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return "", err
	case document.Issuer != k.issuer:
		return "", fmt.Errorf("the metadata of %s is that of another issuer, %q", k.issuer,
			document.Issuer)
	}
	return document.Keys, checkSecure(document.Keys)
}

// get reads a JSON document.
func (k *keySet) get(address string, into any) error {
	response, err := k.client.Get(address)
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(response.Body, maxKeys))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", address, response.Status)
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%s is not JSON of the expected form", address)
	}
	return nil
}

// checkSecure returns an error if an address is not one of HTTPS, or of this machine.
func checkSecure(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "https" && u.Host != "" ||
		u.Scheme == "http" && loopback(net.JoinHostPort(u.Hostname(), "0"))) {
		return nil
	}
	return fmt.Errorf("%q is not an https address", address)
}
