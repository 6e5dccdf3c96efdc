package catalog

import (
	"bytes"
	"errors"
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
	servers := filepath.Join(tools, "servers.yaml")
	declared := "servers:\n  guarded:\n    url: " + g.URL + "/mcp\n    allow: [127.0.0.1]\n" +
		"    auth: {type: oauth, scopes: [read, write]}\n"
	if err := errors.Join(os.Mkdir(tools, 0o700),
		os.WriteFile(servers, []byte(declared), 0o600)); err != nil {
		t.Fatal(err)
	}
	person := &typist{t: t}
	var out bytes.Buffer
	code := catalogProgram.Run(t.Context(), []string{"tools", "import", servers,
		"--only", "echo", "--prefix", "t_", "--logins", logins}, cli.Stdio{In: person, Out: &out,
		Err: person})
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, &out, &person.prints)
	}
	text, err := os.ReadFile(filepath.Join(tools, "t_echo.yaml"))
	if err != nil || !strings.Contains(string(text), "server: guarded") {
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
