package mcpclient

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
)

const clientSecret = "client-secret"

// twoIssuers returns an MCP server whose metadata names the authorization server of another
// Guarded, a toolspec's entry for it, and the requests that the other one received.
func twoIssuers(t *testing.T) (mcp, other *mcpserver.Guarded, entry *Server,
	received func() string) {
	t.Helper()
	mcp, entry = guarded(t)
	other, _ = guarded(t)
	mcp.AuthorizationServer = other.URL
	other.Tokens = mcp
	for _, g := range []*mcpserver.Guarded{mcp, other} {
		g.ClientID, g.ClientSecret = "known", clientSecret
	}
	var mu sync.Mutex
	var requests strings.Builder
	handler := other.Config.Handler
	other.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := httputil.DumpRequest(r, true)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		requests.Write(text)
		mu.Unlock()
		handler.ServeHTTP(w, r)
	})
	t.Setenv("LOGIN_TEST_SECRET", clientSecret)
	entry.Auth.ClientID, entry.Auth.Secret = "known", "env:LOGIN_TEST_SECRET"
	return mcp, other, entry, func() string {
		mu.Lock()
		defer mu.Unlock()
		return requests.String()
	}
}

// leaks reports whether requests contain the client secret, in a body or in basic authentication.
func leaks(t *testing.T, requests string) bool {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("known", clientSecret)
	return strings.Contains(requests, clientSecret) ||
		strings.Contains(requests, r.Header.Get("Authorization"))
}

func TestLogin_SendsTheSecretOnlyToTheConfiguredIssuer(t *testing.T) {
	for _, grant := range []string{outbound.GrantAuthorizationCode,
		outbound.GrantClientCredentials} {
		t.Run(grant, func(t *testing.T) {
			mcp, other, entry, received := twoIssuers(t)
			entry.Auth.Grant = grant
			asked := 0
			options := Options{Login: person(&asked), Logins: NewLogins(t.TempDir())}
			for issuer, want := range map[string]string{
				mcp.URL: fmt.Sprintf("the login at the MCP server %s failed, so nothing was called: authorization server issuer %q does not match pre-registered credentials issuer %q",
					entry.URL, other.URL, mcp.URL),
				"": "entry.auth has a client secret and no issuer; write issuer: and the address of the authorization server that knows the client",
			} {
				entry.Auth.Issuer = issuer
				_, err := Connect(t.Context(), entry, options)
				if e := api.AsError(err); e == nil || e.Type != api.ErrPreconditionFailed ||
					e.Retryable || e.Message != want {
					t.Errorf("issuer %q: %v", issuer, err)
				}
			}
			if asked != 0 || leaks(t, received()) {
				t.Errorf("%d questions, and the other issuer received %s", asked, received())
			}
			entry.Auth.Issuer = other.URL + "/"
			echo(t, connect(t, entry, options))
			if !leaks(t, received()) {
				t.Error("the configured issuer did not receive the secret")
			}
		})
	}
}

// A login with a client metadata document accepts any authorization server, so neither the login
// nor a refresh sends the toolspec's secret.
func TestLogin_RefreshesWithoutTheSecretAfterAMetadataLogin(t *testing.T) {
	mcp, other, entry, received := twoIssuers(t)
	other.ClientSecret, other.Lifetime, other.MetadataDocuments = "", 1, true
	const document = "https://example.com/client.json"
	other.ClientID = document
	entry.Auth.ClientMetadataURL, entry.Auth.Issuer = document, mcp.URL
	asked := 0
	c := connect(t, entry, Options{Login: person(&asked), Logins: NewLogins(t.TempDir())})
	echo(t, c)
	if other.Refreshes() == 0 || leaks(t, received()) {
		t.Errorf("%d refreshes, and the other issuer received %s", other.Refreshes(), received())
	}
}
