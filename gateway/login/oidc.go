package login

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/gateway/routes"
	"github.com/switchyard/switchyard/internal/outbound"
)

const (
	// flowLasts is how long a login at the provider may take.
	flowLasts = 10 * time.Minute
	// providerTimeout bounds a request to the provider.
	providerTimeout = 10 * time.Second
)

// provider is the OpenID provider.
type provider struct {
	access.Console
	mu    sync.Mutex
	known *oidc.Provider
}

// secret returns the client's secret; empty for a public client.
func (p *provider) secret() (string, error) {
	if p.ClientSecret == "" {
		return "", nil
	}
	secret, err := outbound.SecretText(p.ClientSecret)
	if err != nil {
		return "", fmt.Errorf("console.login.client_secret: %w", err)
	}
	return secret, nil
}

// context returns a context in which requests to the provider are bounded.
func (p *provider) context(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, &http.Client{Timeout: providerTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return errors.New("the redirect is not followed")
		}})
}

// client returns the client at the provider, whose metadata is fetched once.
func (p *provider) client(ctx context.Context) (*oauth2.Config, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil {
		known, err := oidc.NewProvider(p.context(context.WithoutCancel(ctx)), p.Issuer)
		if err != nil {
			return nil, err
		}
		p.known = known
	}
	secret, err := p.secret()
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: secret,
		Endpoint: p.known.Endpoint(), RedirectURL: p.Address + routes.ConsolePath + callbackPage,
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}, err
}

// flow is a login at the provider, in the cookie of the browser that has begun it.
type flow struct {
	State    string    `json:"s"`
	Nonce    string    `json:"n"`
	Verifier string    `json:"v"`
	Return   string    `json:"r"`
	Until    time.Time `json:"u"`
}

// begin sends the browser to the provider.
func (l *Login) begin(w http.ResponseWriter, r *http.Request) {
	if l.settings.Issuer == "" {
		http.NotFound(w, r)
		return
	}
	client, err := l.provider.client(r.Context())
	if err != nil {
		l.config.Audit.Error("the OpenID provider cannot be used", "error", err)
		l.problem(w, http.StatusBadGateway, "The login service cannot be reached. Try again later.")
		return
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(),
		Return: returnPath(r), Until: l.config.now().Add(flowLasts)}
	if err := l.setCookie(w, r, flowCookie, f, flowLasts); err != nil {
		l.problem(w, http.StatusBadRequest, "This link is too long.")
		return
	}
	http.Redirect(w, r, client.AuthCodeURL(f.State, oidc.Nonce(f.Nonce),
		oauth2.S256ChallengeOption(f.Verifier)), http.StatusSeeOther)
}

// callback takes the answer of the provider.
func (l *Login) callback(w http.ResponseWriter, r *http.Request) {
	if !l.attempts.allows(r) {
		l.tooMany(w, r)
		return
	}
	l.dropCookie(w, r, flowCookie)
	f, p, err := l.readAnswer(r)
	if err == nil {
		_, err = l.start(w, r, p)
	}
	if err != nil {
		l.attempts.countFailure(r)
		l.config.Audit.Warn("login refused", "reason", err.Error(), "method", "oidc", "from",
			clientAddress(r))
		l.loginFailed(w, err)
		return
	}
	l.loggedIn(r, p)
	http.Redirect(w, r, f.Return, http.StatusSeeOther)
}

// readAnswer returns the login that an answer belongs to, and who has logged in.
func (l *Login) readAnswer(r *http.Request) (f flow, p access.Identity, err error) {
	cookie, err := r.Cookie(cookieName(r, flowCookie))
	if err != nil || !l.seal.open(flowCookie, cookie.Value, &f) {
		return f, p, errors.New("this browser has begun no login")
	}
	q := r.URL.Query()
	state, issuer := q.Get("state"), q.Get("iss")
	switch {
	case subtle.ConstantTimeCompare([]byte(state), []byte(f.State)) != 1:
		return f, p, errors.New("the state is that of another login")
	case !l.config.now().Before(f.Until):
		return f, p, errors.New("the login took too long")
	case !l.used.add(f.State, f.Until):
		return f, p, errors.New("the login was completed before")
	case issuer != "" && issuer != l.settings.Issuer:
		return f, p, errors.New("the answer is that of another provider")
	case q.Get("error") != "":
		return f, p, errors.New("the provider has refused the login")
	}
	p, err = l.redeem(r.Context(), q.Get("code"), f)
	return f, p, err
}

// redeem gets the tokens for a code and returns whose they are.
func (l *Login) redeem(ctx context.Context, code string, f flow) (p access.Identity, err error) {
	client, err := l.provider.client(ctx)
	if err != nil {
		return p, errors.New("the provider cannot be reached")
	}
	token, err := client.Exchange(l.provider.context(ctx), code,
		oauth2.VerifierOption(f.Verifier))
	if err != nil {
		return p, errors.New("the provider does not accept the code")
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return p, errors.New("the provider has returned no ID token")
	}
	return l.config.Access.LoginIdentity(ctx, raw, f.Nonce)
}
