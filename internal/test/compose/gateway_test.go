package compose

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// withKey sends a key of the gateway with each request.
type withKey struct{ key string }

// RoundTrip implements http.RoundTripper.
func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

// gateway follows docs/deploying.md: it makes a key, starts the gateway, and calls a tool through
// it, which an MCP client without the key cannot.
func (d *deployment) gateway(t *testing.T) string {
	config := filepath.Join(d.dir, "deploy/compose/config")
	key := strings.TrimSpace(d.compose(t, "run", "--rm", "--user",
		fmt.Sprintf("%d:%d", os.Getuid(), os.Getgid()), "--volume", config+":/keys", "starter",
		"gateway", "keys", "add", "ada", "--scope", "operator", "--file", "/keys/gateway-keys.yaml"))
	if err := os.Chmod(filepath.Join(config, "gateway-keys.yaml"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.compose(t, "--profile", "gateway", "up", "--detach", "--wait", "--no-deps", "gateway")
	address := fmt.Sprintf("http://127.0.0.1:%s/mcp", d.settings["GATEWAY_PORT"])
	response, err := http.Post(address, "application/json",
		strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key the gateway answers with %s", response.Status)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "compose", Version: "1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: address, HTTPClient: &http.Client{
			Transport: withKey{key}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "charge",
		Arguments: map[string]any{"n": "gateway", "seconds": 0}})
	if err != nil || result.IsError {
		t.Fatalf("charge answers %+v, %v", result, err)
	}
	if entered := d.entries(t)["gateway"]; len(entered) != 1 {
		t.Errorf("charge was executed by %q", entered)
	}
	return "healthy; a call with the key, none without"
}
