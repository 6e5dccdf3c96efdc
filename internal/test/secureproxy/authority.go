// Package secureproxy puts TLS, client certificates and API keys in front of a server for tests, as
// Temporal Cloud or a proxy of a company does.
package secureproxy

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority is a CA that issues certificates for a test.
type Authority struct {
	t           testing.TB
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	// File is the file with its certificate, in PEM.
	File string
}

// NewAuthority returns a CA with a name.
func NewAuthority(t testing.TB, name string) *Authority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	a := &Authority{t: t, dir: t.TempDir(), key: key}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	a.File = a.write("ca.pem", "CERTIFICATE", der)
	return a
}

// Server returns a certificate for 127.0.0.1 and a name that is valid until a time.
func (a *Authority) Server(name string, until time.Time) tls.Certificate {
	a.t.Helper()
	certFile, keyFile := a.issue("server", &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, DNSNames: []string{name}, NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

// Client writes a client certificate for a name, valid until a time, and returns its files. Another
// call replaces the files.
func (a *Authority) Client(name string, until time.Time) (certFile, keyFile string) {
	a.t.Helper()
	return a.issue("client", &x509.Certificate{Subject: pkix.Name{CommonName: name},
		NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

func (a *Authority) issue(file string, template *x509.Certificate) (certFile, keyFile string) {
	a.t.Helper()
	key := newKey(a.t)
	template.SerialNumber, template.KeyUsage = big.NewInt(2), x509.KeyUsageDigitalSignature
	template.NotBefore = time.Now().Add(-24 * time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	return a.write(file+".pem", "CERTIFICATE", der), a.write(file+".key", "PRIVATE KEY", private)
}

func (a *Authority) write(name, kind string, der []byte) string {
	a.t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}),
		0o600); err != nil {
		a.t.Fatal(err)
	}
	return path
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
