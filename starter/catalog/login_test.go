package catalog

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/starter/cli"
)

// typist is standard input of a person who opens the address that starter prints.
type typist struct {
	t      *testing.T
	prints bytes.Buffer
	typed  io.Reader
}

// Write is standard error.
func (p *typist) Write(text []byte) (int, error) { return p.prints.Write(text) }

// Read is standard input after an address was printed.
func (p *typist) Read(into []byte) (int, error) {
	if p.typed == nil {
		for line := range strings.Lines(p.prints.String()) {
			if address := strings.TrimSpace(line); strings.HasPrefix(address, "http") {
				final, err := mcpserver.Browse(p.t.Context(), address)
				if err != nil {
					p.t.Error(err)
				}
				p.typed = strings.NewReader(final + "\nn\n")
			}
		}
	}
	if p.typed == nil {
		return 0, io.EOF
	}
	return p.typed.Read(into)
}

// An import logs in by a line on standard input. accept then needs no other login.
func TestLogin_StoresTheTokenAndNoSecretInTheToolspec(t *testing.T) {
	g := mcpserver.NewGuarded(mcpserver.Good)
	defer g.Close()
	folder := t.TempDir()
	tools, logins := filepath.Join(folder, "tools"), filepath.Join(folder, "logins")
	person := &typist{t: t}
	var out bytes.Buffer
	code := catalogProgram.Run(t.Context(), []string{"tools", "import", "mcp", "--url", g.URL +
		"/mcp", "--allow", "127.0.0.1", "--oauth", "--scopes", "read,write",
		"--name", "echo", "--prefix", "t_", "--out", tools, "--logins", logins}, cli.Stdio{In: person, Out: &out,
		Err: person})
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, &out, &person.prints)
	}
	text, err := os.ReadFile(filepath.Join(tools, "t_echo.yaml"))
	if err != nil || !strings.Contains(string(text), "oauth") || !strings.Contains(string(text),
		"write") {
		t.Errorf("wrote %s, %v", text, err)
	}
	for _, secret := range g.Secrets() {
		if strings.Contains(string(text)+person.prints.String(), secret) {
			t.Error("a secret is written")
		}
	}
	var stderr bytes.Buffer
	code = catalogProgram.Run(t.Context(), []string{"tools", "accept", tools, "--logins", logins},
		cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
	if code != 0 || len(g.LoginScopes()) != 1 || stderr.String() != "1 unchanged\n" {
		t.Errorf("accept: exit code %d after %d logins: %s", code, len(g.LoginScopes()), &stderr)
	}
	code = catalogProgram.Run(t.Context(), []string{"tools", "accept", tools, "--logins",
		t.TempDir()}, cli.Stdio{In: strings.NewReader(""), Out: &out, Err: &stderr})
	if code != cli.ExitFailed || !strings.Contains(stderr.String(), "the login is not complete") {
		t.Errorf("accept without a login: exit code %d: %s", code, &stderr)
	}
}

// Nothing is requested before the flags are checked.
func TestLogin_RefusesInconsistentFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"--url http://localhost/ --client-id a":                           "starter: --client-id requires --oauth\nSee 'starter tools import mcp --help'.\n",
		"--url http://localhost/ --oauth --auth bearer=env:A":             "starter: --auth and --oauth exclude each other\nSee 'starter tools import mcp --help'.\n",
		"--oauth -- server":                                               "starter: --oauth requires --url\nSee 'starter tools import mcp --help'.\n",
		"--url http://localhost/ --oauth --client-secret hunter2":         "starter: --client-secret takes a reference to a secret, not its value: write env:NAME or file:/path: the name of the secret, never its value\nSee 'starter tools import mcp --help'.\n",
		"--url http://localhost/ --oauth --client-secret env:A":           "starter: --client-secret and --client-id require each other, and --grant client_credentials requires both\nSee 'starter tools import mcp --help'.\n",
		"--url http://localhost/ --oauth --grant client_credentials":      "starter: --client-secret and --client-id require each other, and --grant client_credentials requires both\nSee 'starter tools import mcp --help'.\n",
		"--url http://localhost/ --oauth --grant password --client-id me": "starter: --grant password: choose authorization_code or client_credentials\nSee 'starter tools import mcp --help'.\n",
	} {
		var stderr bytes.Buffer
		code := catalogProgram.Run(context.Background(), append([]string{"tools", "import", "mcp"},
			strings.Fields(flags)...), cli.Stdio{In: strings.NewReader(""), Out: io.Discard,
			Err: &stderr})
		if code != cli.ExitUsage || stderr.String() != want ||
			strings.Contains(stderr.String(), "hunter2") {
			t.Errorf("%s: exit code %d: %s", flags, code, &stderr)
		}
	}
}
