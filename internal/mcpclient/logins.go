package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/switchyard/switchyard/internal/filelock"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/panics"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/internal/wholefile"
	"golang.org/x/oauth2"
)

// Logins keep the tokens that logins at MCP servers gave, for later connections. They may be used
// by many goroutines, and their folder by many processes.
type Logins struct {
	folder string

	mu       sync.Mutex
	accounts map[string]*account
}

// NewLogins returns the logins stored in a folder, each in a file that only this user can read. The
// folder is created with the first login. Without a folder they are kept in memory.
func NewLogins(folder string) *Logins {
	return &Logins{folder: folder, accounts: map[string]*account{}}
}

// DefaultLogins returns the folder of this user's logins, which workers and starter share:
// switchyard/logins in the user's configuration folder; empty if there is none.
func DefaultLogins() string {
	folder, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(folder, "switchyard", "logins")
}

// of returns the account at a server of a client as auth describes it.
func (l *Logins) of(server string, auth *outbound.Auth) (*account, error) {
	key, err := jsonvalue.Encode([]any{server, auth})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[string(key)]; a != nil {
		return a, nil
	}
	a := &account{turn: make(chan struct{}, 1)}
	if l.folder != "" {
		sum := sha256.Sum256(key)
		a.path = filepath.Join(l.folder, hex.EncodeToString(sum[:16])+".json")
	}
	l.accounts[string(key)] = a
	return a, nil
}

// kept is the stored form of a login.
type kept struct {
	// Server is for people who look at the file.
	Server   string `json:"server"`
	ClientID string `json:"client_id"`
	// ClientSecret is the secret that dynamic registration returned.
	ClientSecret string `json:"client_secret,omitempty"`
	// ToolspecSecret says that the login used the secret of the toolspec, which is not stored. A
	// refresh sends that secret only then: a login with a client metadata document accepts any
	// authorization server.
	ToolspecSecret bool             `json:"toolspec_secret,omitempty"`
	TokenURL       string           `json:"token_url"`
	AuthStyle      oauth2.AuthStyle `json:"auth_style,omitempty"`
	Scopes         []string         `json:"scopes,omitempty"`
	Token          *oauth2.Token    `json:"token"`
}

// account is a client's login at a server, if there is one. All connections of the process share
// it, because servers take a refresh token once.
type account struct {
	// path is the file; empty without a folder.
	path string
	// turn holds a value while a goroutine of this process refreshes the token or looks for
	// another.
	turn chan struct{}

	// mu guards the following for short times.
	mu   sync.Mutex
	kept kept
	// renewed is the access token that took the place of one that the server rejected before its
	// time.
	renewed string
	// spent is a refresh token that the authorization server does not take.
	spent string
}

// errNoLogin is an error that the SDK takes for no token: the request goes without one, and the
// server asks for a login.
var errNoLogin = &oauth2.RetrieveError{ErrorCode: "invalid_grant"}

// token returns a valid token and refreshes it if needed; errNoLogin if there is none. It fails
// with the cause of ctx's end if that comes first.
func (a *account) token(ctx context.Context, client *http.Client,
	secret string) (*oauth2.Token, error) {
	if token := a.current(); token.Valid() {
		return token, nil
	}
	release, err := a.exclusive(ctx, client)
	if err != nil {
		return nil, err
	}
	a.load()
	if token := a.current(); token.Valid() {
		release()
		return token, nil
	}
	return a.refresh(ctx, client, secret, release)
}

// current returns the token of the login, valid or not; nil if there is none.
func (a *account) current() *oauth2.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.Token
}

// exclusive keeps this and other processes from refreshing until release, because servers accept a
// refresh token once. It waits for as long as two requests to the authorization server may take,
// and no longer than ctx lasts.
func (a *account) exclusive(ctx context.Context, client *http.Client) (release func(), err error) {
	select {
	case a.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if a.path == "" {
		return func() { <-a.turn }, nil
	}
	unlock, err := filelock.Lock(ctx, a.path+".lock", 2*client.Timeout)
	if err != nil {
		<-a.turn
		return nil, err
	}
	return func() { unlock(); <-a.turn }, nil
}

// load reads what another process may have stored since. A file that cannot be read counts as no
// login.
func (a *account) load() {
	if stored, ok := a.stored(); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.kept = stored
	}
}

// stored returns the login that the file has, if any.
func (a *account) stored() (k kept, ok bool) {
	if a.path == "" {
		return k, false
	}
	data, err := os.ReadFile(a.path)
	return k, err == nil && json.Unmarshal(data, &k) == nil && k.Token != nil
}

// refresh asks the authorization server for another token, and calls release when that has ended.
// The caller has called exclusive. A refresh outlasts ctx, because a refresh token that was sent
// may be used up.
func (a *account) refresh(ctx context.Context, client *http.Client, secret string,
	release func()) (*oauth2.Token, error) {
	type end struct {
		token *oauth2.Token
		err   error
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		defer func() { ended <- e }()
		defer release()
		defer panics.MCP.Contain(context.Background(), nil, func(failed error) { e.err = failed })
		e.token, e.err = a.request(client, secret)
	}()
	select {
	case e := <-ended:
		return e.token, e.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// request makes the request of refresh and stores the token.
func (a *account) request(client *http.Client, secret string) (*oauth2.Token, error) {
	a.mu.Lock()
	k, spent := a.kept, a.spent
	a.mu.Unlock()
	if k.Token == nil || k.Token.RefreshToken == "" || k.Token.RefreshToken == spent {
		return nil, errNoLogin
	}
	if !k.ToolspecSecret {
		secret = k.ClientSecret
	}
	config := oauth2.Config{ClientID: k.ClientID, ClientSecret: secret,
		Endpoint: oauth2.Endpoint{TokenURL: k.TokenURL, AuthStyle: k.AuthStyle}}
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, client)
	token, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: k.Token.RefreshToken}).Token()
	if refusal, ok := errors.AsType[*oauth2.RetrieveError](err); ok && final(refusal) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.spent = k.Token.RefreshToken
		return nil, errNoLogin
	}
	if err != nil {
		return nil, err
	}
	return a.refreshed(k, token), nil
}

// refreshed stores the token that a refresh of the login old gave, unless a person has logged in
// since, in this or another process. It returns the token to use.
func (a *account) refreshed(old kept, token *oauth2.Token) *oauth2.Token {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept.Token != old.Token {
		return a.kept.Token
	}
	if stored, ok := a.stored(); ok && stored.Token.RefreshToken != old.Token.RefreshToken {
		a.kept = stored
		return stored.Token
	}
	a.kept.Token = token
	// The token is good even if it cannot be kept.
	_ = a.save()
	return token
}

// final reports that repeating the request would fail again.
func final(refusal *oauth2.RetrieveError) bool {
	if refusal.Response == nil {
		return true
	}
	status := refusal.Response.StatusCode
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError &&
		status != http.StatusTooManyRequests
}

// renew finds another token than one that the server rejected: what another process has kept since,
// or a refreshed one, unless the rejected one is that already.
func (a *account) renew(ctx context.Context, rejected string, client *http.Client,
	secret string) bool {
	release, err := a.exclusive(ctx, client)
	if err != nil {
		return false
	}
	a.load()
	if token := a.current(); token.Valid() && token.AccessToken != rejected {
		release()
		return true
	}
	a.mu.Lock()
	renewed := a.renewed
	a.mu.Unlock()
	if rejected == "" || rejected == renewed {
		release()
		return false
	}
	token, err := a.refresh(ctx, client, secret, release)
	if err != nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.renewed = token.AccessToken
	return true
}

// keepWait bounds how long a login waits for a refresh by another process before it is stored.
const keepWait = time.Second

// keep stores the result of a login. It waits for a refresh by another process only briefly: a
// refresh that ends later does not replace a login that it finds stored.
func (a *account) keep(k kept) error {
	a.mu.Lock()
	a.kept = k
	a.mu.Unlock()
	if a.path != "" {
		unlock, err := filelock.Lock(context.Background(), a.path+".lock", keepWait)
		if err == nil {
			defer unlock()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.save()
}

// scopes are those that were granted before.
func (a *account) scopes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.Scopes
}

// save writes the file atomically. The caller holds mu.
func (a *account) save() error {
	if a.path == "" {
		return nil
	}
	data, err := json.MarshalIndent(a.kept, "", "  ")
	if err != nil {
		return err
	}
	folder := filepath.Dir(a.path)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return wholefile.Write(a.path, data, 0o600) // only this user can read it
}
