package connection

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/switchyard/switchyard/internal/test/secureproxy"
)

// parsed returns the flags of a command line.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := &Flags{}
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Register(set)
	if err := set.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOptions_PreferFlagsToEnvironmentToProfile(t *testing.T) {
	quietEnvironment(t)
	authority := secureproxy.NewAuthority(t, "CA")
	file := filepath.Join(t.TempDir(), "temporal.toml")
	text := "[profile.cloud]\naddress = \"profile:1\"\nnamespace = \"p\"\n[profile.cloud.tls]\n" +
		"server_ca_cert_path = \"" + authority.File + "\"\nserver_name = \"of.profile\"\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TEMPORAL_NAMESPACE", "e")
	profile := []string{"--config-file", file, "--profile", "cloud"}
	o, err := parsed(t, profile...).Options(false)
	if err != nil || o.HostPort != "profile:1" || o.Namespace != "e" ||
		o.ConnectionOptions.TLS == nil || o.ConnectionOptions.TLS.ServerName != "of.profile" {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parsed(t, append(profile, "--address", "flag:1", "--namespace", "f",
		"--tls-server-name", "of.flag")...).Options(false)
	if err != nil || o.HostPort != "flag:1" || o.Namespace != "f" ||
		o.ConnectionOptions.TLS.ServerName != "of.flag" ||
		o.ConnectionOptions.TLS.RootCAs == nil {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parsed(t, append(profile, "--tls=false")...).Options(false)
	if err != nil || o.ConnectionOptions.TLS != nil || !o.ConnectionOptions.TLSDisabled {
		t.Errorf("got %+v, %v", o, err)
	}
	o, err = parsed(t, "--api-key", "k").Options(false)
	if err != nil || o.Credentials == nil || o.ConnectionOptions.TLS == nil {
		t.Errorf("got %+v, %v", o, err)
	}
	local := parsed(t, profile...)
	local.Local = true
	if o, err = local.Options(false); err != nil || o.HostPort != "" || o.Namespace != "" {
		t.Errorf("got %+v, %v", o, err)
	}
}

func TestOptions_NameWhatIsWrong(t *testing.T) {
	quietEnvironment(t)
	dir := t.TempDir()
	empty, none := filepath.Join(dir, "empty.pem"), filepath.Join(dir, "none.pem")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	authority := secureproxy.NewAuthority(t, "CA")
	cert, key := authority.Client("a", time.Now().Add(time.Hour))
	_, otherKey := secureproxy.NewAuthority(t, "Other").Client("b", time.Now().Add(time.Hour))
	const pem = ": pass a certificate and its key in PEM format"
	for args, want := range map[string]string{
		"--address nonsense": `the server's address "nonsense" is not host:port: correct ` +
			"--address or TEMPORAL_ADDRESS",
		"--profile nobody": "--profile nobody: the profiles file " +
			os.Getenv("TEMPORAL_CONFIG_FILE") + " does not exist\nLeave out --profile, or pass " +
			"the file: --config-file FILE",
		"--config-file " + none: "--config-file " + none + ": the file does not exist",
		"--tls-ca-path " + none: "--tls-ca-path " + none + ": the file does not exist",
		"--tls-ca-path " + dir:  "--tls-ca-path " + dir + ": is a directory",
		"--tls-ca-path " + empty: "--tls-ca-path " + empty + ": the file has no certificate in " +
			"PEM format: pass the CA certificate of the server",
		"--tls-cert-path " + cert: "--tls-cert-path " + cert + ": the key of the certificate is " +
			"missing: pass --tls-key-path FILE or set TEMPORAL_TLS_CLIENT_KEY_PATH",
		"--tls-key-path " + key: "--tls-key-path " + key + ": the certificate of the key is " +
			"missing: pass --tls-cert-path FILE or set TEMPORAL_TLS_CLIENT_CERT_PATH",
		"--tls-cert-path " + cert + " --tls-key-path " + otherKey: "--tls-cert-path " + cert +
			", --tls-key-path " + otherKey + ": tls: private key does not match public key" + pem,
		"--tls-cert-path " + empty + " --tls-key-path " + key: "--tls-cert-path " + empty +
			", --tls-key-path " + key + ": tls: failed to find any PEM data in certificate input" +
			pem,
	} {
		if _, err := parsed(t, append(strings.Fields(args), "--tls")...).Options(
			false); err == nil || err.Error() != want {
			t.Errorf("%s: got %v\nwant %s", args, err, want)
		}
	}
	t.Setenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH", none)
	want := "TEMPORAL_TLS_SERVER_CA_CERT_PATH " + none + ": the file does not exist"
	if _, err := parsed(t, "--tls").Options(false); err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
	if _, err := parsed(t, "--tls=false").Options(false); err != nil {
		t.Errorf("files are checked though TLS is off: %v", err)
	}
}

// Printed commands must not show a key.
func TestArguments_OmitTheAPIKey(t *testing.T) {
	got := parsed(t, "--address", "a:1", "--namespace", "two words", "--api-key", "secret",
		"--tls-ca-path", "ca.pem", "--tls=false", "--tls-disable-host-verification").Arguments()
	want := " --address a:1 --namespace 'two words' --tls-ca-path ca.pem --tls=false " +
		"--tls-disable-host-verification"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
