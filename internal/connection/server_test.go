package connection

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/secureproxy"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// program runs starter or a worker to its end, and returns its exit code and output.
func program(t *testing.T, env []string, name string, args ...string) (code int, out string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testserver.Bin(t, name), args...)
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), string(text)
	} else if err != nil {
		t.Fatal(err)
	}
	return 0, string(text)
}

// Worker and starter use a Temporal server that requires client certificates and API keys with the
// same flags and variables, and say the same if these are wrong.
func TestPrograms_UseAServerWithCertificatesAndKeys(t *testing.T) {
	backend := testserver.NewServer(t)
	quietEnvironment(t)
	authority := secureproxy.NewAuthority(t, "Team CA")
	proxy := secureproxy.Start(t, secureproxy.Config{Backend: backend.Address, Clients: authority,
		Certificate: authority.Server("temporal.example", time.Now().Add(time.Hour)),
		APIKey:      "right"})
	cert, key := authority.Client("team", time.Now().Add(time.Hour))
	ca := []string{"--address", proxy, "--tls-ca-path", authority.File}
	files := append(ca[:len(ca):len(ca)], "--tls-cert-path", cert, "--tls-key-path", key)
	right, wrong := []string{"TEMPORAL_API_KEY=right"}, []string{"TEMPORAL_API_KEY=wrong"}

	var ready struct{ Namespace string }
	testserver.Start(t, &ready, right, testserver.Bin(t, "worker"), files...)
	code, out := program(t, right, "starter", append([]string{"call", "calculator",
		"expression=2*(3+4)", "--output", "json"}, files...)...)
	if code != 0 || !strings.Contains(out, "14") {
		t.Errorf("exit code %d: %s", code, out)
	}
	for _, c := range []struct {
		env, args    []string
		code         int
		what, remedy string
	}{
		{nil, ca, 4, "the server at " + proxy + " requires a client certificate, and there " +
			"is none", "Pass --tls-cert-path and --tls-key-path (TEMPORAL_TLS_CLIENT_CERT_PATH, " +
			"TEMPORAL_TLS_CLIENT_KEY_PATH)."},
		{wrong, files, 4, "the server at " + proxy + " refuses the API key for the " +
			`namespace "default": Request unauthorized.`, "Check that the key (--api-key, " +
			"TEMPORAL_API_KEY or the profile's) is complete, has not expired, and has access to " +
			"the namespace (--namespace)."},
		{right, append([]string{"--namespace", "payments"}, files...), 2, "the server at " +
			proxy + ` has no namespace "payments"`,
			"Pass another with --namespace, or create it: "},
	} {
		for name, args := range map[string][]string{"worker": nil, "starter": {"list"}} {
			code, out := program(t, c.env, name, append(args, c.args...)...)
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if code != c.code || len(lines) < 2 || lines[len(lines)-2] != name+": "+c.what ||
				!strings.HasPrefix(lines[len(lines)-1], c.remedy) {
				t.Errorf("%s ended with %d: %s\nwant %s", name, code, out, c.what)
			}
		}
	}
}
