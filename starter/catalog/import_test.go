package catalog

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/starter/cli"
)

const smallAPI = `{"openapi": "3.0.0", "servers": [{"url": "https://api.example.com"}], "paths": {"/a": {"get": {"operationId": "getA"}}}}`

// The host may be this machine.
func TestImport_ReadsOnlyFromTheNamedHost(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(smallAPI))
	}))
	defer other.Close()
	servesMCP := mcpserver.Handler(mcpserver.New(mcpserver.Good))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp":
			servesMCP.ServeHTTP(w, r)
		case "/openapi.json", "/docs":
			_, _ = w.Write([]byte(smallAPI))
		case "/moved":
			http.Redirect(w, r, "/openapi.json", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other.URL, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	address := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		path, says string
		code       int
	}{
		{"/openapi.json", "is taken for an OpenAPI document; --kind overrides\n1 tool written", cli.ExitDone},
		{"/docs", "1 tool written", cli.ExitDone},
		{"/moved", "1 tool written", cli.ExitDone},
		{"/away", "127.0.0.1 is refused", cli.ExitUsage},
		{"/nothing.json", "404 Not Found", cli.ExitUsage},
		{"/nothing", "is taken for an MCP server because the server answered 404 Not Found", cli.ExitUsage},
		{"/mcp", "is taken for an MCP server because the server answered 400 Bad Request", cli.ExitDone},
	} {
		dir := filepath.Join(t.TempDir(), "tools")
		var out, stderr bytes.Buffer
		code := catalogProgram.Run(t.Context(), []string{"tools", "import", address + tt.path,
			"--only", "getA", "--only", "ask", "--allow", "localhost", "--out", dir}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
		if code != tt.code || !strings.Contains(stderr.String(), tt.says) {
			t.Errorf("%s: exit code %d, %s", tt.path, code, stderr.String())
		}
		files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil || (len(files) == 1) != (tt.code == cli.ExitDone) {
			t.Errorf("%s: %v, %v", tt.path, files, err)
		}
	}
}
