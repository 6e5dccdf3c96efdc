package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/switchyard/switchyard/api"
)

// Failure says why there was no response, or no whole one. ctx is the call's; limited is the
// request's own time within it, or ctx again. A refused address is a policy_violation as long as
// nothing was sent; failures of the network are transient; what would be the same again is not. The
// end of ctx comes back as its cause.
func Failure(ctx, limited context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the request was ended: %w", cause)
	}
	if own, ok := errors.AsType[*api.Error](err); ok {
		return own
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return refused(r)
	}
	if limited.Err() != nil {
		return api.Transient(errors.New("the server did not answer within the request's timeout"),
			0)
	}
	if permanent(err) {
		return err
	}
	return api.Transient(err, 0)
}

// refused is a policy_violation, which says that nothing ran, only as long as nothing was sent.
func refused(r *Refusal) error {
	if r.Redirected {
		return fmt.Errorf("the server redirected to another address, and %w", r)
	}
	return api.Errorf(api.ErrPolicyViolation, "%v", r)
}

// permanent reports failures that would be the same again. What does not come from the network is
// about the request.
func permanent(err error) bool {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return dns.IsNotFound
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, network := errors.AsType[*net.OpError](err)
	return !network && !timedOut(err) && !brokenOff(err)
}

// timedOut reports a wait of net/http's own, such as for the beginning of TLS.
func timedOut(err error) bool {
	waited, ok := errors.AsType[net.Error](err)
	return ok && waited.Timeout()
}

func brokenOff(err error) bool {
	_, stream := errors.AsType[streamError](err)
	return stream || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// streamError is what net/http turns its own error of a broken HTTP/2 stream into where errors.As
// asks for one with just these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (s streamError) Error() string {
	return fmt.Sprintf("stream %d broke off with code %d", s.StreamID, s.Code)
}
