package secureproxy

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Config configures a proxy.
type Config struct {
	// Backend is the address of the server, which is reached in plain text.
	Backend string
	// Certificate is that of the proxy.
	Certificate tls.Certificate
	// Clients is the CA of the client certificates; nil if none are required.
	Clients *Authority
	// APIKey is the key that requests need; empty for none.
	APIKey string
}

// Start starts a proxy for unary gRPC methods on a free port of 127.0.0.1, and returns its
// host:port. It stops at the end of the test.
func Start(t testing.TB, c Config) (address string) {
	t.Helper()
	backend, err := grpc.NewClient(c.Backend,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(c.tls())), grpc.ForceServerCodec(raw{}),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			return c.forward(stream, backend)
		}))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Errorf("the proxy ended: %v", err)
		}
		_ = backend.Close() // the server behind it may have ended
	})
	return listener.Addr().String()
}

func (c Config) tls() *tls.Config {
	config := &tls.Config{Certificates: []tls.Certificate{c.Certificate}}
	if c.Clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		config.ClientCAs.AddCert(c.Clients.certificate)
	}
	return config
}

// forward passes a request on. Without the key it answers as Temporal's frontend does.
func (c Config) forward(stream grpc.ServerStream, backend *grpc.ClientConn) error {
	method, _ := grpc.MethodFromServerStream(stream)
	headers, _ := metadata.FromIncomingContext(stream.Context())
	if c.APIKey != "" && fmt.Sprint(headers.Get("authorization")) != "[Bearer "+c.APIKey+"]" {
		return status.Error(codes.PermissionDenied, "Request unauthorized.")
	}
	var request, answer []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	ctx := metadata.NewOutgoingContext(stream.Context(), headers)
	if err := backend.Invoke(ctx, method, &request, &answer); err != nil {
		return err
	}
	return stream.SendMsg(&answer)
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}

func (raw) Name() string { return "proto" }
