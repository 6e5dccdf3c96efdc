package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault is an error that says why a server cannot be used, and what to do.
type Fault struct {
	// NoNamespace means that the server answers and does not have the namespace.
	NoNamespace bool
	// What is what failed, with the value. Remedy is what to do, on lines of its own.
	What, Remedy string
	err          error
}

func (f *Fault) Error() string { return f.What + "\n" + f.Remedy }

func (f *Fault) Unwrap() error { return f.err }

// Server is a server as a client reaches it, to explain failures.
type Server struct {
	// Options are those of the client. Without address and namespace, the defaults apply.
	Options client.Options
	// Start and Create are the commands that start a development server and create the namespace.
	Start, Create string
}

// probeTime bounds the additional connection with which a failure is explained.
const probeTime = 2 * time.Second

// Explain returns a *Fault that wraps err if err means that the server cannot be used, else err. If
// the server did not answer, Explain connects once more to find out whether TLS is the reason. This
// takes at most two seconds.
func (s Server) Explain(ctx context.Context, err error) error {
	if _, explained := errors.AsType[*Fault](err); err == nil || explained {
		return err
	}
	f := s.fault(ctx, err)
	if f == nil {
		return err
	}
	f.err = err
	return f
}

func (s Server) fault(ctx context.Context, err error) *Fault {
	if missing, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		name := cmp.Or(missing.Namespace, s.namespace())
		return &Fault{NoNamespace: true, What: fmt.Sprintf("the server at %s has no namespace %q",
			s.address(), name), Remedy: "Pass another with --namespace, or create it: " + s.Create}
	}
	switch Code(err) {
	case codes.PermissionDenied, codes.Unauthenticated:
		return s.explainDenied(err)
	case codes.Unavailable, codes.DeadlineExceeded:
		return s.explainUnreachable(ctx, err)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return s.explainUnreachable(ctx, err)
	}
	return nil
}

func (s Server) address() string { return cmp.Or(s.Options.HostPort, client.DefaultHostPort) }

func (s Server) namespace() string {
	return cmp.Or(s.Options.Namespace, client.DefaultNamespace)
}

// explainDenied explains that the server knows the caller not at all, or not as one with rights.
func (s Server) explainDenied(err error) *Fault {
	f := &Fault{}
	message := messageFromError(err)
	switch {
	case s.Options.Credentials != nil:
		f.What = fmt.Sprintf("the server at %s refuses the API key for the namespace %q: %s",
			s.address(), s.namespace(), message)
		f.Remedy = "Check that the key (--api-key, TEMPORAL_API_KEY or the profile's) is complete, " +
			"has not expired, and has access to the namespace (--namespace)."
	case s.clientCertificate() != nil:
		f.What = fmt.Sprintf("the server at %s denies access to the namespace %q with the client "+
			"certificate of %s: %s", s.address(), s.namespace(),
			subject(s.clientCertificate()), message)
		f.Remedy = "Check --namespace and --tls-cert-path, and whether the namespace trusts the " +
			"certificate's CA."
	default:
		f.What = fmt.Sprintf("the server at %s denies access to the namespace %q without an API "+
			"key or a client certificate: %s", s.address(), s.namespace(), message)
		f.Remedy = "Set TEMPORAL_API_KEY, or pass --tls-cert-path and --tls-key-path, or select a " +
			"profile that has them: --profile NAME"
	}
	return f
}

// explainUnreachable explains that no server answers.
func (s Server) explainUnreachable(ctx context.Context, err error) *Fault {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), probeTime)
	defer cancel()
	f := &Fault{}
	if f.What, f.Remedy = s.probe(ctx); f.What == "" {
		f.What = fmt.Sprintf("no Temporal server answers at %s (%s)", s.address(),
			cmp.Or(s.unresolved(ctx), messageFromError(err)))
		f.Remedy = "Start one on this machine: " + s.Start +
			"\nOr select another: --address host:port, --profile NAME, TEMPORAL_ADDRESS"
	}
	return f
}

// unresolved says that the server's host has no address; empty if it has one, or if that cannot be
// told. gRPC's error has lost its type and shows the query instead.
func (s Server) unresolved(ctx context.Context) string {
	host, _, err := net.SplitHostPort(s.address())
	if err != nil || s.usesProxy() {
		return ""
	}
	_, err = net.DefaultResolver.LookupHost(ctx, host)
	if failed, ok := errors.AsType[*net.DNSError](err); ok && failed.IsNotFound {
		return fmt.Sprintf("there is no host %q", host)
	}
	return ""
}

// Code returns the gRPC code of a server's error; codes.Unknown for other errors.
func Code(err error) codes.Code {
	if s := statusFromError(err); s != nil {
		return s.Code()
	}
	return codes.Unknown
}

// messageFromError returns the server's own words.
func messageFromError(err error) string {
	if s := statusFromError(err); s != nil {
		return s.Message()
	}
	return err.Error()
}

func statusFromError(err error) *status.Status {
	if s, ok := errors.AsType[serviceerror.ServiceError](err); ok {
		return s.Status()
	}
	if s, ok := errors.AsType[interface {
		error
		GRPCStatus() *status.Status
	}](err); ok {
		return s.GRPCStatus()
	}
	return nil
}
