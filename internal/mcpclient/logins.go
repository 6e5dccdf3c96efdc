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

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
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
	key, err := api.EncodeJSON([]any{server, auth})
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.accounts[string(key)]; a != nil {
		return a, nil
	}
	a := &account{}
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

// token returns a valid token and refreshes it if needed; errNoLogin if there is none.
func (a *account) token(client *http.Client, secret string) (*oauth2.Token, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.kept.Token.Valid() {
		return a.kept.Token, nil
	}
	unlock, err := a.lock(client)
	if err != nil {
		return nil, err
	}
	defer unlock()
	a.load()
	if a.kept.Token.Valid() {
		return a.kept.Token, nil
	}
	return a.refresh(client, secret)
}

// lock keeps other processes from refreshing, because servers accept a refresh token once. It waits
// for as long as two requests to the authorization server may take.
func (a *account) lock(client *http.Client) (unlock func(), err error) {
	if a.path == "" {
		return func() {}, nil
	}
	return lockFile(a.path+".lock", 2*client.Timeout)
}

// load reads what another process may have stored since. A file that cannot be read counts as no
// login. The caller has the locks.
func (a *account) load() {
	if a.path == "" {
		return
	}
	data, err := os.ReadFile(a.path)
	var k kept
	if err == nil && json.Unmarshal(data, &k) == nil && k.Token != nil {
		a.kept = k
	}
}

// refresh asks the authorization server for another token. The caller has the locks.
func (a *account) refresh(client *http.Client, secret string) (*oauth2.Token, error) {
	k := a.kept
	if k.Token == nil || k.Token.RefreshToken == "" || k.Token.RefreshToken == a.spent {
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
		a.spent = k.Token.RefreshToken
		return nil, errNoLogin
	}
	if err != nil {
		return nil, err
	}
	a.kept.Token = token
	// The token is good even if it cannot be kept.
	_ = a.save()
	return token, nil
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
func (a *account) renew(rejected string, client *http.Client, secret string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	unlock, err := a.lock(client)
	if err != nil {
		return false
	}
	defer unlock()
	a.load()
	if a.kept.Token.Valid() && a.kept.Token.AccessToken != rejected {
		return true
	}
	if rejected == "" || rejected == a.renewed {
		return false
	}
	token, err := a.refresh(client, secret)
	if err != nil {
		return false
	}
	a.renewed = token.AccessToken
	return true
}

// keep stores the result of a login.
func (a *account) keep(k kept) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = k
	return a.save()
}

// scopes are those that were granted before.
func (a *account) scopes() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.kept.Scopes
}

// save writes the file atomically.
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
	// Only this user can read it.
	f, err := os.CreateTemp(folder, "new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), a.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
