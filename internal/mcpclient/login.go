package mcpclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"golang.org/x/oauth2"
)

// login gets the tokens of one connection by OAuth. The SDK implements the protocol: finding the
// authorization server, registration, PKCE, state, and the code exchange.
type login struct {
	// flow is the SDK's handler.
	flow   auth.OAuthHandler
	server string
	auth   *outbound.Auth
	log    *slog.Logger
	client *http.Client
	// secret is the client's own; empty where the toolspec names none.
	secret string
	// account is the person's account; nil for client credentials.
	account *account
	// ask is Options.Login.
	ask func(ctx context.Context, address string) (string, error)
	// pause stops the connection timeout while a person logs in.
	pause func() (resume func())

	// mu holds flow together where the SDK's handler does not.
	mu sync.Mutex
	// connected is set when the connection is made. Before that a failed login is not repeated,
	// because the SDK connects in several ways and the person would be asked for each.
	connected atomic.Bool
	failed    error
	// refusal is why the guard kept the login from an authorization server.
	refusal atomic.Pointer[outbound.Refusal]
	// last is the access token that was used last, and code the last authorization code, to be
	// hidden.
	last atomic.Pointer[outbound.Credential]
	code atomic.Pointer[outbound.Credential]
}

// newLogin returns the login that an entry wants.
func newLogin(origin *url.URL, entry *Server, o Options) (*login, error) {
	l := &login{server: serverName(&Server{URL: origin.String()}), auth: entry.Auth, ask: o.Login,
		log: o.Log, pause: o.pause}
	var err error
	if l.client, err = l.loginClient(origin, entry, o); err != nil {
		return nil, err
	}
	credentials, err := l.credentials()
	if err != nil {
		return nil, err
	}
	if l.auth.Grant == outbound.GrantClientCredentials {
		l.flow, err = extauth.NewClientCredentialsHandler(
			&extauth.ClientCredentialsHandlerConfig{Credentials: credentials, HTTPClient: l.client})
	} else if l.account, err = cmp.Or(o.Logins, NewLogins("")).of(origin.String(),
		l.auth); err == nil {
		l.flow, err = auth.NewAuthorizationCodeHandler(l.codeConfig(credentials))
	}
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.auth cannot be used: %v", err)
	}
	return l, nil
}

// credentials returns the client's id and secret, for its issuer only; nil without a client id.
func (l *login) credentials() (*oauthex.ClientCredentials, error) {
	if l.auth.ClientID == "" {
		return nil, nil
	}
	credentials := &oauthex.ClientCredentials{ClientID: l.auth.ClientID, Issuer: l.auth.Issuer}
	if l.auth.Secret == "" {
		return credentials, nil
	}
	if l.auth.Issuer == "" {
		return nil, api.Errorf(api.ErrPreconditionFailed, "entry.auth has a client secret "+
			"and no issuer; write issuer: and the address of the authorization server that "+
			"knows the client")
	}
	var err error
	if l.secret, err = outbound.Secret(l.auth.Secret); err != nil {
		return nil, err
	}
	credentials.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: l.secret}
	return credentials, nil
}

func (l *login) codeConfig(
	credentials *oauthex.ClientCredentials) *auth.AuthorizationCodeHandlerConfig {
	config := &auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: credentials, RedirectURL: l.auth.Redirect(), Client: l.client,
		AuthorizationCodeFetcher: l.fetch,
		ScopeFilter:              l.scopes, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		NewTokenSource: l.take,
	}
	if l.auth.ClientMetadataURL != "" {
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{
			URL: l.auth.ClientMetadataURL}
	}
	if credentials == nil {
		metadata := &oauthex.ClientRegistrationMetadata{
			ClientName: "Switchyard", RedirectURIs: []string{config.RedirectURL},
			GrantTypes:    []string{outbound.GrantAuthorizationCode, "refresh_token"},
			ResponseTypes: []string{"code"},
		}
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{
			Metadata: metadata}
	}
	return config
}

// scopes are those that a login asks for, where the server wants the discovered ones.
func (l *login) scopes(discovered []string) []string {
	if l.auth.Scopes != nil {
		return l.auth.Scopes
	}
	if l.last.Load() == nil {
		return discovered
	}
	// Scopes granted earlier are requested again with the new ones.
	wanted := slices.Concat(l.account.scopes(), discovered)
	slices.Sort(wanted)
	return slices.Compact(wanted)
}

// tokenSource is a function as an oauth2.TokenSource.
type tokenSource func() (*oauth2.Token, error)

// Token implements oauth2.TokenSource.
func (f tokenSource) Token() (*oauth2.Token, error) { return f() }

// take stores the result of a login.
func (l *login) take(_ context.Context, config *oauth2.Config,
	token *oauth2.Token) (oauth2.TokenSource, error) {
	k := kept{Server: l.server, ClientID: config.ClientID, TokenURL: config.Endpoint.TokenURL,
		AuthStyle: config.Endpoint.AuthStyle,
		Scopes:    config.Scopes, Token: token}
	switch config.ClientSecret {
	case l.secret:
		k.ToolspecSecret = l.secret != ""
	default:
		k.ClientSecret = config.ClientSecret
	}
	if err := l.account.keep(k); err != nil {
		l.log.Warn("the login at an MCP server is not stored beyond this process", "server", l.server,
			"error", err)
	}
	return oauth2.StaticTokenSource(token), nil // the SDK gets no token from TokenSource
}

// TokenSource implements auth.OAuthHandler. It returns nil for a person's login, whose token
// addToken adds: the SDK gets tokens with the connection's context and blocks other requests
// meanwhile.
func (l *login) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	if l.account != nil {
		return nil, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	source, err := l.flow.TokenSource(ctx)
	if err != nil || source == nil {
		return nil, err
	}
	return tokenSource(func() (*oauth2.Token, error) {
		token, err := source.Token()
		return token, l.used(ctx, token, err)
	}), nil
}

// addToken adds the token of a person's login to a request to the server, if there is a login.
// Without one the server asks for it.
func (l *login) addToken(req *http.Request) error {
	ctx := req.Context()
	token, err := l.account.token(ctx, l.client, l.secret)
	if errors.Is(err, errNoLogin) {
		return nil
	}
	if err = l.used(ctx, token, err); err == nil {
		req.Header.Set("Authorization", bearer+token.AccessToken)
	}
	return err
}

// bearer precedes the token in a header.
const bearer = "Bearer "

// used notes the token that a request sends, or explains why there is none.
func (l *login) used(ctx context.Context, token *oauth2.Token, err error) error {
	if err == nil {
		l.last.Store(outbound.NewHidingCredential(token.AccessToken))
		return nil
	}
	if errors.Is(err, errNoLogin) {
		return err
	}
	return l.explain(ctx, err, true)
}

// Authorize implements auth.OAuthHandler. Its error is a *api.Error for a call that was not
// sent, or the cause of ctx's end.
func (l *login) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	if l.failed != nil || l.known(ctx, req, resp) {
		_ = resp.Body.Close()
		return l.failed
	}
	if l.account == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		// The SDK keeps the context to get further tokens with.
		ctx = context.WithoutCancel(ctx)
	}
	l.refusal.Store(nil)
	err := l.flow.Authorize(ctx, req, resp)
	if err == nil {
		return nil
	}
	err = l.explain(ctx, err, false)
	if !l.connected.Load() {
		l.failed = err
	}
	return err
}

// known reports whether no login is needed: there is another token, or another would not help
// because the toolspec sets the scopes.
func (l *login) known(ctx context.Context, req *http.Request, resp *http.Response) bool {
	switch {
	case l.account == nil:
		return false
	case resp.StatusCode == http.StatusForbidden:
		return l.auth.Scopes != nil
	}
	if resp.Request != nil {
		req = resp.Request // with the token that addToken added
	}
	rejected := strings.TrimPrefix(req.Header.Get("Authorization"), bearer)
	return l.account.renew(ctx, rejected, l.client, l.secret)
}

// fetch has a person log in.
func (l *login) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult,
	error) {
	address, err := url.Parse(args.URL)
	if err == nil {
		err = outbound.CheckURL(address)
	}
	if err != nil {
		return nil, api.Errorf(api.ErrPreconditionFailed,
			"the MCP server %s names no address to log in at", l.server)
	}
	if l.ask == nil {
		return nil, api.Errorf(api.ErrPreconditionFailed,
			"the MCP server %s requires a login, and nothing was called; "+
				"log in with starter tools accept FILE, as the worker's user, or set entry.answer_within in the toolspec so that calls ask for it",
			l.server)
	}
	resume := l.pause()
	answer, err := l.ask(ctx, args.URL)
	resume()
	if err != nil {
		return nil, err
	}
	return l.readRedirect(address, answer)
}

// readRedirect reads the address at which the browser ended.
func (l *login) readRedirect(asked *url.URL, answer string) (*auth.AuthorizationResult, error) {
	refused := func(format string, args ...any) error {
		return api.Errorf(api.ErrPreconditionFailed,
			"the login at the MCP server %s failed, so nothing was called: %s", l.server,
			fmt.Sprintf(format, args...))
	}
	final, err := url.Parse(strings.TrimSpace(answer))
	if err != nil {
		return nil, refused("the answer is not an address")
	}
	given := final.Query()
	code := given.Get("code")
	l.code.Store(outbound.NewHidingCredential(code))
	switch {
	case given.Get("state") != asked.Query().Get("state"):
		return nil, refused("the address belongs to another login; paste the full address of the last page of this login")
	case given.Get("error") != "":
		return nil, refused("the authorization server answered %s",
			sample([]byte(strings.TrimSpace(given.Get("error")+" "+
				given.Get("error_description")))))
	case code == "":
		return nil, refused("the address has no code; paste the full address of the last page")
	}
	return &auth.AuthorizationResult{Code: code, State: given.Get("state"), Iss: given.Get("iss")},
		nil
}

// explain turns an error of a login, or of getting another token, into one for people and models,
// without secrets.
func (l *login) explain(ctx context.Context, err error, retryable bool) error {
	if own, ok := errors.AsType[*api.Error](err); ok {
		return own
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refusal := l.refusal.Swap(nil); refusal != nil {
		return api.Errorf(api.ErrPolicyViolation,
			"the login at the MCP server %s failed, so nothing was called: %v", l.server, refusal)
	}
	reason := err.Error()
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		reason = strings.TrimSpace("the authorization server returned no token: " + refused.ErrorCode +
			" " + refused.ErrorDescription)
		if refused.Response != nil {
			reason += " (HTTP status " + refused.Response.Status + ")"
		}
	}
	e := api.Errorf(api.ErrPreconditionFailed,
		"the login at the MCP server %s failed, so nothing was called: %s",
		l.server, sample(l.hide([]byte(reason))))
	e.Retryable = retryable
	return e
}

// hide takes the login's secrets out of a text.
func (l *login) hide(text []byte) []byte {
	hidden := l.code.Load().Hide(l.last.Load().Hide(string(text)))
	return []byte(outbound.NewHidingCredential(l.secret).Hide(hidden))
}
