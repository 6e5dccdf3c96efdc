package connection

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/switchyard/switchyard/internal/test/secureproxy"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// frontend answers as a Temporal server without namespaces.
type frontend struct {
	workflowservice.UnimplementedWorkflowServiceServer
}

func (frontend) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (
	*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

func (frontend) DescribeNamespace(_ context.Context, r *workflowservice.DescribeNamespaceRequest) (
	*workflowservice.DescribeNamespaceResponse, error) {
	return nil, serviceerror.ToStatus(serviceerror.NewNamespaceNotFound(r.Namespace)).Err()
}

// startFrontend returns the address of a server in plain text.
func startFrontend(t *testing.T) string {
	t.Helper()
	return testserver.ServeGRPC(t, func(r grpc.ServiceRegistrar) {
		workflowservice.RegisterWorkflowServiceServer(r, frontend{})
	})
}

// quietEnvironment hides the machine's own Temporal configuration from a test.
func quietEnvironment(t *testing.T) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, value) // restores it
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
}

// use connects with flags, asks for a namespace, and returns the explained error.
func use(t *testing.T, args ...string) error {
	t.Helper()
	f := parsed(t, args...)
	options, err := f.Options(false)
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = testserver.Quiet
	server := Server{Options: options, Start: "START", Create: "CREATE"}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return server.Explain(ctx, err)
	}
	defer c.Close()
	_, err = c.WorkflowService().DescribeNamespace(ctx,
		&workflowservice.DescribeNamespaceRequest{Namespace: "payments"})
	return server.Explain(ctx, err)
}

// security is a server of each kind, with the files of clients.
type security struct {
	plain, encrypted, mutual, keyed, expired string
	authority, other                         *secureproxy.Authority
}

func newSecurity(t *testing.T) security {
	t.Helper()
	quietEnvironment(t)
	backend := startFrontend(t)
	s := security{plain: backend, authority: secureproxy.NewAuthority(t, "Team CA"),
		other: secureproxy.NewAuthority(t, "Other CA")}
	start := func(c secureproxy.Config) string {
		c.Backend = backend
		return secureproxy.Start(t, c)
	}
	valid := s.authority.Server("temporal.example", time.Now().Add(time.Hour))
	s.encrypted = start(secureproxy.Config{Certificate: valid})
	s.mutual = start(secureproxy.Config{Certificate: valid, Clients: s.authority})
	s.keyed = start(secureproxy.Config{Certificate: valid, APIKey: "right"})
	s.expired = start(secureproxy.Config{Certificate: s.authority.Server("temporal.example",
		time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))})
	return s
}

func TestExplain_NamesTheReasonAndTheRemedy(t *testing.T) {
	s := newSecurity(t)
	ca, key := []string{"--tls-ca-path", s.authority.File}, []string{"--api-key", "right"}
	pair := func(cert, key string) []string {
		return []string{"--tls-cert-path", cert, "--tls-key-path", key}
	}
	good := pair(s.authority.Client("worker", time.Now().Add(time.Hour)))
	foreign := pair(s.other.Client("stranger", time.Now().Add(time.Hour)))
	const pass = "--tls-cert-path and --tls-key-path (TEMPORAL_TLS_CLIENT_CERT_PATH, " +
		"TEMPORAL_TLS_CLIENT_KEY_PATH)."
	const check = "\nCheck that the key (--api-key, TEMPORAL_API_KEY or the profile's) is " +
		"complete, has not expired, and has access to the namespace (--namespace)."
	for _, c := range []struct {
		name, address string
		args          []string
		noNamespace   bool
		want          string
	}{
		{"a wrong namespace", s.plain, nil, true, `the server at ADDRESS has no namespace ` +
			"\"payments\"\nPass another with --namespace, or create it: CREATE"},
		{"TLS and API key are right", s.keyed, append(ca, key...), true,
			`the server at ADDRESS has no namespace "payments"` +
				"\nPass another with --namespace, or create it: CREATE"},
		{"the client certificate is right", s.mutual, append(ca, good...), true,
			`the server at ADDRESS has no namespace "payments"` +
				"\nPass another with --namespace, or create it: CREATE"},
		{"plain text to a TLS server", s.encrypted, nil, false,
			"the server at ADDRESS uses TLS, and this connection does not\nPass --tls, or " +
				"--tls-ca-path FILE if the server's certificate is signed by a CA of your own, or " +
				"set an API key (TEMPORAL_API_KEY), which enables TLS."},
		{"TLS to a plain server", s.plain, ca, false,
			"the server at ADDRESS does not use TLS, and this connection does\nRemove the TLS " +
				"settings, or pass --tls=false. An API key enables TLS; without TLS it is sent " +
				"in plain text."},
		{"an unknown CA", s.encrypted, []string{"--tls-ca-path", s.other.File}, false,
			"the certificate of the server at ADDRESS has an unknown issuer: CN=Team CA\nPass " +
				"the certificate of that CA with --tls-ca-path FILE or " +
				"TEMPORAL_TLS_SERVER_CA_CERT_PATH."},
		{"another name", s.encrypted, append(ca, "--tls-server-name", "other.example"), false,
			`the certificate of the server at ADDRESS is not for "other.example" but for ` +
				"temporal.example, 127.0.0.1\nUse a name of the certificate in --address, or " +
				"pass it with --tls-server-name."},
		{"no client certificate", s.mutual, ca, false, "the server at ADDRESS requires a " +
			"client certificate, and there is none\nPass " + pass},
		{"a client certificate of another CA", s.mutual, append(ca, foreign...), false,
			"the server at ADDRESS rejects the client certificate of CN=stranger, issued by " +
				"CN=Other CA; it accepts certificates issued by CN=Team CA\nPass such a " +
				"certificate with " + pass},
		{"a wrong API key", s.keyed, append(ca, "--api-key", "wrong"), false,
			`the server at ADDRESS refuses the API key for the namespace "default": Request ` +
				"unauthorized." + check},
		{"no API key", s.keyed, ca, false, `the server at ADDRESS denies access to the ` +
			"namespace \"default\" without an API key or a client certificate: Request " +
			"unauthorized.\nSet TEMPORAL_API_KEY, or pass --tls-cert-path and --tls-key-path, or " +
			"select a profile that has them: --profile NAME"},
		{"a client certificate instead of a key", s.keyed, append(ca, good...), false,
			`the server at ADDRESS denies access to the namespace "default" with the client ` +
				"certificate of CN=worker, issued by CN=Team CA: Request unauthorized.\nCheck " +
				"--namespace and --tls-cert-path, and whether the namespace trusts the " +
				"certificate's CA."},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := use(t, append(c.args[:len(c.args):len(c.args)], "--address", c.address)...)
			f, ok := err.(*Fault)
			if want := strings.ReplaceAll(c.want, "ADDRESS", c.address); !ok || f.NoNamespace != c.noNamespace ||
				f.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

func TestExplain_ShowsTheTimesOfExpiredCertificates(t *testing.T) {
	s := newSecurity(t)
	ca := []string{"--tls-ca-path", s.authority.File}
	err := use(t, append(ca, "--address", s.expired)...)
	f, ok := err.(*Fault)
	if !ok {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(f.What, " is valid from ")
	var from, to, now string
	if _, err := fmt.Sscanf(rest, "%s to %s and the clock of this machine shows %s", &from, &to,
		&now); err != nil || to != "2026-01-02T03:04:05Z," {
		t.Errorf("got %s, %v", f.What, err)
	}
	if _, err := time.Parse(time.RFC3339, now); err != nil {
		t.Error(err)
	}
	until := time.Now().Add(-time.Hour)
	cert, key := s.authority.Client("worker", until)
	err = use(t, append(ca, "--address", s.mutual, "--tls-cert-path", cert, "--tls-key-path",
		key)...)
	want := "the server at " + s.mutual + " rejects the client certificate of CN=worker, issued " +
		"by CN=Team CA, which expired at " + instant(until) + "\nRenew it, and pass " +
		"--tls-cert-path and --tls-key-path (TEMPORAL_TLS_CLIENT_CERT_PATH, " +
		"TEMPORAL_TLS_CLIENT_KEY_PATH)."
	if err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestExplain_SaysHowToStartAServer(t *testing.T) {
	quietEnvironment(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	want := "no Temporal server answers at " + address + " (connection error: desc = " +
		`"transport: Error while dialing: dial tcp ` + address + `: connect: connection refused")` +
		"\nStart one on this machine: START\nOr select another: --address host:port, " +
		"--profile NAME, TEMPORAL_ADDRESS"
	err = use(t, "--address", address)
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if again := (Server{}).Explain(t.Context(), err); again != err {
		t.Errorf("an explained error was explained again: %v", again)
	}
}

func TestExplain_ReturnsOtherErrorsUnchanged(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, serviceerror.NewNotFound("gone"),
		serviceerror.NewInvalidArgument("odd")} {
		if got := (Server{}).Explain(t.Context(), err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// A program that runs for longer than its certificate is valid reconnects with the renewed one.
func TestClientCertificate_IsReadForEachConnection(t *testing.T) {
	s := newSecurity(t)
	cert, key := s.authority.Client("first", time.Now().Add(time.Hour))
	options, err := parsed(t, "--tls-cert-path", cert, "--tls-key-path", key).Options(false)
	if err != nil {
		t.Fatal(err)
	}
	server := Server{Options: options}
	before := subject(server.clientCertificate())
	s.authority.Client("second", time.Now().Add(time.Hour))
	after := subject(server.clientCertificate())
	if before != "CN=first, issued by CN=Team CA" || after != "CN=second, issued by CN=Team CA" {
		t.Errorf("the certificate is of %s, then of %s", before, after)
	}
	if err := os.WriteFile(cert, []byte("half of a"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := subject(server.clientCertificate()); got != after {
		t.Errorf("while the file is unreadable, the certificate is of %s", got)
	}
	options.ConnectionOptions.TLS.GetClientCertificate = func(*tls.CertificateRequestInfo) (
		*tls.Certificate, error) {
		return new(tls.Certificate), nil
	}
	if c := (Server{Options: options}).clientCertificate(); c != nil {
		t.Errorf("an empty certificate counts as one: %v", c)
	}
}
