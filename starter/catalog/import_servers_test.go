package catalog

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
)

// A server gets the secret of the configuration, and the environment is as before afterwards.
func TestListTools_GivesTheServerItsOwnSecret(t *testing.T) {
	t.Setenv("SWITCHYARD_HTTP_ALLOW", "127.0.0.1")
	t.Setenv("TEST_TOKEN", "of-the-environment")
	var mu sync.Mutex
	seen := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen[r.Header.Get("X-Token")] = true
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	f := importer{servers: mcpServers{ctx: t.Context()}}
	entry := toolspecs.MCPEntry{URL: server.URL,
		Auth: &outbound.Auth{Type: outbound.Header, Name: "X-Token", Secret: "env:TEST_TOKEN"}}
	if _, err := f.listTools(entry, map[string]string{"TEST_TOKEN": "own"}); err == nil {
		t.Error("a server that answers 404 lists tools")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || !seen["own"] {
		t.Errorf("the server got %v", seen)
	}
	if value, err := outbound.SecretHere("env:TEST_TOKEN"); err != nil ||
		value != "of-the-environment" {
		t.Errorf("the environment has %q, %v", value, err)
	}
}
