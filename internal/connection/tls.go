package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"go.temporal.io/sdk/contrib/envconfig"
)

// tlsFile is a file of the TLS settings with the flag and the variable that set it.
type tlsFile struct {
	flag, variable, given, path string
}

// name returns the setting that names the file, and its path.
func (f tlsFile) name() string {
	switch {
	case f.path == f.given:
		return "--" + f.flag + " " + f.path
	case f.path == os.Getenv(f.variable):
		return f.variable + " " + f.path
	default:
		return "--" + f.flag + " " + f.path + " (of the profile)"
	}
}

// checkTLS rejects TLS files that cannot be used, and a certificate without its key.
func (f *Flags) checkTLS(t *envconfig.ClientConfigTLS) error {
	if t == nil || t.Disabled {
		return nil
	}
	cert := tlsFile{flagCert, "TEMPORAL_TLS_CLIENT_CERT_PATH", f.TLSCertPath, t.ClientCertPath}
	key := tlsFile{flagKey, "TEMPORAL_TLS_CLIENT_KEY_PATH", f.TLSKeyPath, t.ClientKeyPath}
	authority := tlsFile{flagAuthority, "TEMPORAL_TLS_SERVER_CA_CERT_PATH", f.TLSCAPath,
		t.ServerCACertPath}
	for _, file := range []tlsFile{cert, key, authority} {
		if file.path == "" {
			continue
		}
		if _, err := os.ReadFile(file.path); err != nil {
			return fmt.Errorf("%s: %w", file.name(), fileError(err))
		}
	}
	return errors.Join(checkPair(cert, key), checkAuthority(authority))
}

// checkPair checks that certificate and key belong together.
func checkPair(cert, key tlsFile) error {
	switch {
	case cert.path == "" && key.path == "":
		return nil
	case key.path == "":
		return fmt.Errorf("%s: the key of the certificate is missing: pass --%s FILE or set %s",
			cert.name(), key.flag, key.variable)
	case cert.path == "":
		return fmt.Errorf("%s: the certificate of the key is missing: pass --%s FILE or set %s",
			key.name(), cert.flag, cert.variable)
	}
	if _, err := tls.LoadX509KeyPair(cert.path, key.path); err != nil {
		return fmt.Errorf("%s, %s: %w: pass a certificate and its key in PEM format", cert.name(),
			key.name(), err)
	}
	return nil
}

// checkAuthority checks that the file holds CA certificates.
func checkAuthority(file tlsFile) error {
	if file.path == "" {
		return nil
	}
	text, err := os.ReadFile(file.path)
	if err != nil {
		return fmt.Errorf("%s: %w", file.name(), fileError(err))
	}
	if !x509.NewCertPool().AppendCertsFromPEM(text) {
		return fmt.Errorf("%s: the file has no certificate in PEM format: pass the CA certificate "+
			"of the server", file.name())
	}
	return nil
}

// reloadCertificate makes each new connection read the client certificate again, so that a program
// survives the rotation of its files. If they cannot be read, the certificate that was read last is
// used.
func reloadCertificate(config *tls.Config, t *envconfig.ClientConfigTLS) {
	if config == nil || t == nil || t.ClientCertPath == "" || len(config.Certificates) == 0 {
		return
	}
	var last atomic.Pointer[tls.Certificate]
	last.Store(&config.Certificates[0])
	certPath, keyPath := t.ClientCertPath, t.ClientKeyPath
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		current, err := tls.LoadX509KeyPair(certPath, keyPath)
		if err != nil {
			return last.Load(), nil
		}
		last.Store(&current)
		return &current, nil
	}
}
