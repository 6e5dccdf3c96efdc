package mcpclient

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/people"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

// guarded returns a server that requires a login, and a toolspec's entry for it.
func guarded(t *testing.T) (*mcpserver.Guarded, *Server) {
	t.Helper()
	g := mcpserver.NewGuarded(mcpserver.Good)
	t.Cleanup(g.Close)
	t.Cleanup(g.CloseClientConnections)
	return g, &Server{URL: g.URL + "/mcp", Allow: []string{"127.0.0.1"},
		Auth: &outbound.Auth{Type: outbound.OAuth}}
}

// person logs in at every address; count has the number of logins.
func person(count *int) func(context.Context, string) (string, error) {
	return func(ctx context.Context, address string) (string, error) {
		*count++
		return mcpserver.Browse(ctx, address)
	}
}

func echo(t *testing.T, c *Connection) {
	t.Helper()
	if _, err := c.Call(t.Context(),
		Request{Tool: "echo", Arguments: json.RawMessage(`{"text":"a"}`)}); err != nil {
		t.Error(err)
	}
}

// One login serves later connections, also of other processes. A token that the server rejects is
// refreshed if possible, else there is another login. Only the user can read the stored files.
func TestLogin_IsSharedAndRefreshed(t *testing.T) {
	g, entry := guarded(t)
	folder := filepath.Join(t.TempDir(), "logins")
	asked := 0
	options := Options{Login: person(&asked), Logins: NewLogins(folder)}
	c := connect(t, entry, options)
	echo(t, c)
	options.Logins = NewLogins(folder)
	echo(t, connect(t, entry, options))
	if asked != 1 || g.Refreshes() != 0 {
		t.Fatalf("%d logins and %d refreshes", asked, g.Refreshes())
	}
	g.Revoke(false)
	echo(t, connect(t, entry, options))
	// The other process has a new token and uses it.
	echo(t, c)
	if asked != 1 || g.Refreshes() != 1 {
		t.Errorf("%d logins and %d refreshes once the access token was revoked", asked,
			g.Refreshes())
	}
	g.Revoke(true)
	echo(t, c)
	if asked != 2 || !slices.Equal(g.LoginScopes(), []string{"read", "read"}) {
		t.Errorf("%d logins once all tokens were revoked, for %q", asked, g.LoginScopes())
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	for path, want := range map[string]os.FileMode{folder: os.ModeDir | 0o700,
		files[0]: 0o600, files[0] + ".lock": 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
}

// The refresh uses the registered client, and the client's secret is in no file.
func TestLogin_RefreshesExpiredTokens(t *testing.T) {
	g, entry := guarded(t)
	g.Lifetime, g.ClientID, g.ClientSecret = 1, "known", "client-secret"
	t.Setenv("LOGIN_TEST_SECRET", g.ClientSecret)
	entry.Auth.ClientID, entry.Auth.Secret, entry.Auth.Issuer = g.ClientID,
		"env:LOGIN_TEST_SECRET", g.URL
	entry.Auth.Scopes = []string{"a", "b"}
	folder, asked := t.TempDir(), 0
	c := connect(t, entry, Options{Login: person(&asked), Logins: NewLogins(folder)})
	echo(t, c)
	scopes := strings.Fields(strings.Join(g.LoginScopes(), " ")) // in any order
	slices.Sort(scopes)
	if asked != 1 || g.Refreshes() == 0 || !slices.Equal(scopes, []string{"a", "b"}) {
		t.Errorf("%d logins and %d refreshes, for %q", asked, g.Refreshes(), scopes)
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(text), g.ClientSecret) ||
			!strings.Contains(string(text), "refresh_token") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if len(files) != 1 {
		t.Errorf("stored %q", files)
	}
}

// Each failure is one error after one question. It says that no tool was called, and contains no
// secret.
func TestLogin_ReportsEachFailure(t *testing.T) {
	replace := func(old, with string) func(string) string {
		return func(final string) string { return strings.Replace(final, old, with, 1) }
	}
	const failed = "the login at the MCP server URL failed, so nothing was called: "
	declined := people.RefusalError(api.Reply{Decline: true, By: "ada"})
	tests := []struct {
		name   string
		change func(g *mcpserver.Guarded, e *Server, o *Options)
		final  func(string) string
		asked  int
		want   api.ErrorType
		words  string
	}{
		{"no person to ask", func(_ *mcpserver.Guarded, _ *Server, o *Options) { o.Login = nil }, nil,
			0, api.ErrPreconditionFailed, "the MCP server URL requires a login, and nothing was called; log in with starter tools accept FILE, as the worker's user, or set entry.answer_within in the toolspec so that calls ask for it"},
		{"declined", func(_ *mcpserver.Guarded, _ *Server, o *Options) {
			ask := o.Login
			o.Login = func(ctx context.Context, address string) (string, error) {
				_, _ = ask(ctx, address)
				return "", declined
			}
		}, nil, 1, api.ErrApprovalDenied, "declined by ada"},
		{"the state of another login", nil, replace("state=", "state=x"), 1,
			api.ErrPreconditionFailed, failed + "the address belongs to another login; paste the full address of the last page of this login"},
		{"refused in the browser", nil,
			replace("code=", "error=access_denied&error_description=Not+you&x="), 1,
			api.ErrPreconditionFailed, failed + "the authorization server answered access_denied Not you"},
		{"no code", nil, replace("code=", "x="), 1, api.ErrPreconditionFailed,
			failed + "the address has no code; paste the full address of the last page"},
		{"no address", nil, func(string) string { return "\x7f" }, 1, api.ErrPreconditionFailed,
			failed + "the answer is not an address"},
		{"a code that is refused", func(g *mcpserver.Guarded, _ *Server,
			_ *Options) {
			g.Refuse = "{code} is spent"
		}, nil, 1,
			api.ErrPreconditionFailed, failed +
				"the authorization server returned no token: invalid_grant [secret] is spent (HTTP status 400 Bad Request)"},
		{"an inner authorization server", func(g *mcpserver.Guarded, e *Server, o *Options) {
			g.Host, e.Allow, o.Inside = "localhost", nil, []string{"127.0.0.1", "localhost"}
		}, nil, 0, api.ErrPolicyViolation, failed +
			"localhost is refused: its address 127.0.0.1 is loopback; to reach it, add the host, the address or its range to allow in the toolspec or to SWITCHYARD_HTTP_ALLOW of the worker"},
		{"a secret that is not there", func(g *mcpserver.Guarded, e *Server, _ *Options) {
			e.Auth.ClientID, e.Auth.Secret = "known", "env:LOGIN_TEST_ABSENT"
			e.Auth.Issuer = g.URL
		}, nil, 0, api.ErrPreconditionFailed, "the secret env:LOGIN_TEST_ABSENT is not set on this worker"},
		{"a client that is wrong", func(g *mcpserver.Guarded, e *Server, _ *Options) {
			t.Setenv("LOGIN_TEST_WRONG", "wrong-secret")
			e.Auth.ClientID, e.Auth.Secret, e.Auth.Grant = "known", "env:LOGIN_TEST_WRONG",
				outbound.GrantClientCredentials
			e.Auth.Issuer = g.URL
		}, nil, 0, api.ErrPreconditionFailed, failed +
			"the authorization server returned no token: invalid_grant (HTTP status 400 Bad Request)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, entry := guarded(t)
			asked := 0
			o := Options{Logins: NewLogins(t.TempDir())}
			o.Login = func(ctx context.Context, address string) (string, error) {
				final, err := person(&asked)(ctx, address)
				if tt.final != nil {
					final = tt.final(final)
				}
				return final, err
			}
			if tt.change != nil {
				tt.change(g, entry, &o)
			}
			_, err := Connect(t.Context(), entry, o)
			e := api.AsError(err)
			if e == nil || e.Type != tt.want || e.Retryable ||
				strings.Replace(e.Message, entry.URL, "URL", 1) != tt.words || asked != tt.asked {
				t.Fatalf("%d questions, and %v", asked, err)
			}
			for _, secret := range append(g.Secrets(), "wrong-secret") {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%v holds a secret", err)
				}
			}
		})
	}
}

// A client with its own secret logs in without a person.
func TestLogin_OfAClientNeedsNoPerson(t *testing.T) {
	g, entry := guarded(t)
	g.ClientID, g.ClientSecret, g.Lifetime = "known", "client-secret", 1
	t.Setenv("LOGIN_TEST_SECRET", g.ClientSecret)
	entry.Auth.ClientID, entry.Auth.Secret, entry.Auth.Grant = g.ClientID, "env:LOGIN_TEST_SECRET",
		outbound.GrantClientCredentials
	entry.Auth.Issuer = g.URL
	c := connect(t, entry, Options{Logins: NewLogins(t.TempDir())})
	echo(t, c)
	g.Revoke(true)
	echo(t, c)
}

// The time that a person takes does not count.
func TestLogin_IsNotBoundByTheServersTimeout(t *testing.T) {
	_, entry := guarded(t)
	const timeout = 2 * time.Second
	asked := 0
	o := Options{ConnectTimeout: timeout, Logins: NewLogins("")}
	o.Login = func(ctx context.Context, address string) (string, error) {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case <-time.After(timeout + timeout/4):
		}
		return person(&asked)(ctx, address)
	}
	echo(t, connect(t, entry, o))
}
