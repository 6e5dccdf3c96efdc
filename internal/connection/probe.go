package connection

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// alpn is the protocol that gRPC negotiates in TLS.
const alpn = "h2"

// alertTime is how long a probe waits for the alert with which a server of TLS 1.3 rejects a client
// certificate. It comes after the client's handshake.
const alertTime = time.Second

// probe connects to the server once more and returns why TLS fails and what to do; empty if
// something else is the reason. The errors of gRPC have lost their types on the way.
func (s Server) probe(ctx context.Context) (what, remedy string) {
	host, _, err := net.SplitHostPort(s.address())
	if err != nil || s.usesProxy() {
		return "", ""
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.address())
	if err != nil {
		return "", ""
	}
	defer func() { _ = conn.Close() }() // nothing was written
	if s.Options.ConnectionOptions.TLS == nil {
		return s.probePlain(ctx, conn, host)
	}
	return s.probeTLS(ctx, conn, host)
}

// usesProxy reports whether gRPC reaches the server through an HTTP proxy.
func (s Server) usesProxy() bool {
	proxy, err := http.ProxyFromEnvironment(&http.Request{URL: &url.URL{Scheme: "https",
		Host: s.address()}})
	return err != nil || proxy != nil
}

// probePlain finds out whether a server that did not answer in plain text uses TLS.
func (s Server) probePlain(ctx context.Context, conn net.Conn, host string) (what, remedy string) {
	err := tls.Client(conn, &tls.Config{ServerName: host, NextProtos: []string{alpn},
		InsecureSkipVerify: true}).HandshakeContext(ctx)
	if err != nil && !isAlert(err) {
		return "", ""
	}
	return fmt.Sprintf("the server at %s uses TLS, and this connection does not", s.address()),
		"Pass --tls, or --tls-ca-path FILE if the server's certificate is signed by a CA of your " +
			"own, or set an API key (TEMPORAL_API_KEY), which enables TLS."
}

// isAlert reports whether an error is a TLS alert of the other side.
func isAlert(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "remote error"
}

// request is what a server asked for during the handshake. info is nil if it did not ask for a
// client certificate. sent is nil if the client has none.
type request struct {
	info *tls.CertificateRequestInfo
	sent *tls.Certificate
}

// probeTLS repeats the handshake of the client.
func (s Server) probeTLS(ctx context.Context, conn net.Conn, host string) (what, remedy string) {
	var asked request
	config := s.Options.ConnectionOptions.TLS.Clone()
	config.NextProtos, config.ServerName = []string{alpn}, cmp.Or(config.ServerName, host)
	config.GetClientCertificate = func(info *tls.CertificateRequestInfo) (*tls.Certificate, error) {
		asked = request{info: info, sent: s.clientCertificate()}
		if asked.sent == nil {
			return new(tls.Certificate), nil
		}
		return asked.sent, nil
	}
	client := tls.Client(conn, config)
	err := client.HandshakeContext(ctx)
	if err == nil {
		err = rejection(client)
	}
	return s.tlsFault(err, asked, config.ServerName)
}

// rejection returns the alert that a server sends after the handshake; nil if it accepted it.
func rejection(conn *tls.Conn) error {
	if err := conn.SetReadDeadline(time.Now().Add(alertTime)); err != nil {
		return nil
	}
	if _, err := conn.Read(make([]byte, 1)); isAlert(err) {
		return err
	}
	return nil
}

// tlsFault explains the error of a handshake.
func (s Server) tlsFault(err error, asked request, name string) (what, remedy string) {
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	verification, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case err == nil:
		return "", ""
	case plain:
		return fmt.Sprintf("the server at %s does not use TLS, and this connection does",
				s.address()), "Remove the TLS settings, or pass --tls=false. An API key enables TLS; " +
				"without TLS it is sent in plain text."
	case unverified:
		return s.explainUnverified(verification, name)
	case isAlert(err) && asked.info != nil:
		return s.explainRejected(err, asked)
	default:
		return fmt.Sprintf("the TLS handshake with the server at %s failed: %v", s.address(), err),
			"Check --address and --tls-server-name, and that nothing between this machine and the " +
				"server ends the connection."
	}
}

// explainUnverified explains why the server's certificate is not accepted.
func (s Server) explainUnverified(err *tls.CertificateVerificationError, name string) (what,
	remedy string) {
	leaf := err.UnverifiedCertificates[0]
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err.Err)
	_, otherName := errors.AsType[x509.HostnameError](err.Err)
	invalid, isInvalid := errors.AsType[x509.CertificateInvalidError](err.Err)
	switch {
	case unknown:
		return fmt.Sprintf("the certificate of the server at %s has an unknown issuer: %s",
				s.address(), leaf.Issuer), "Pass the certificate of that CA with --tls-ca-path FILE or " +
				"TEMPORAL_TLS_SERVER_CA_CERT_PATH."
	case otherName:
		return fmt.Sprintf("the certificate of the server at %s is not for %q but for %s",
				s.address(), name, names(leaf)), "Use a name of the certificate in --address, or " +
				"pass it with --tls-server-name."
	case isInvalid && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate of the server at %s is valid from %s to %s, and the "+
				"clock of this machine shows %s", s.address(), instant(leaf.NotBefore),
				instant(leaf.NotAfter), instant(time.Now())), "Renew the server's certificate, or " +
				"correct the clock."
	default:
		return fmt.Sprintf("the certificate of the server at %s is not valid: %v", s.address(),
			err.Err), "Replace the certificate of the server."
	}
}

// explainRejected explains why the server refuses the client's certificate.
func (s Server) explainRejected(err error, asked request) (what, remedy string) {
	const pass = "--tls-cert-path and --tls-key-path (TEMPORAL_TLS_CLIENT_CERT_PATH, " +
		"TEMPORAL_TLS_CLIENT_KEY_PATH)"
	if asked.sent == nil {
		return fmt.Sprintf("the server at %s requires a client certificate, and there is none",
			s.address()), "Pass " + pass + "."
	}
	leaf := asked.sent.Leaf
	if leaf != nil && time.Now().After(leaf.NotAfter) {
		return fmt.Sprintf("the server at %s rejects the client certificate of %s, which expired "+
				"at %s", s.address(), subject(asked.sent), instant(leaf.NotAfter)), "Renew it, and pass " +
				pass + "."
	}
	if accepted := issuers(asked.info.AcceptableCAs); accepted != "" &&
		asked.info.SupportsCertificate(asked.sent) != nil {
		return fmt.Sprintf("the server at %s rejects the client certificate of %s; it accepts "+
				"certificates issued by %s", s.address(), subject(asked.sent), accepted),
			"Pass such a certificate with " + pass + "."
	}
	return fmt.Sprintf("the server at %s rejects the client certificate of %s: %v", s.address(),
		subject(asked.sent), err), "Pass another certificate with " + pass + "."
}

// clientCertificate returns the certificate that the client would send; nil if it has none.
func (s Server) clientCertificate() *tls.Certificate {
	config := s.Options.ConnectionOptions.TLS
	switch {
	case config == nil:
		return nil
	case config.GetClientCertificate != nil:
		if c, err := config.GetClientCertificate(&tls.CertificateRequestInfo{}); err == nil &&
			len(c.Certificate) > 0 {
			return c
		}
	case len(config.Certificates) > 0:
		return &config.Certificates[0]
	}
	return nil
}

// subject describes a client certificate by its holder and its issuer.
func subject(c *tls.Certificate) string {
	if c.Leaf == nil {
		return "an unreadable holder"
	}
	return fmt.Sprintf("%s, issued by %s", c.Leaf.Subject, c.Leaf.Issuer)
}

// names lists what a server's certificate is valid for.
func names(c *x509.Certificate) string {
	list := append([]string(nil), c.DNSNames...)
	for _, address := range c.IPAddresses {
		list = append(list, address.String())
	}
	return cmp.Or(strings.Join(list, ", "), "no name")
}

// issuers lists the names of CAs.
func issuers(encoded [][]byte) string {
	var list []string
	for _, der := range encoded {
		var name pkix.RDNSequence
		if _, err := asn1.Unmarshal(der, &name); err == nil {
			list = append(list, name.String())
		}
	}
	return strings.Join(list, " or ")
}

func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
