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

// Failure explains why there was no complete response. ctx is the call's; limited is ctx with the
// request's timeout, or ctx. A rejected address is a policy_violation as long as nothing was sent.
// Network failures are transient; permanent ones are not. If ctx ended, its cause is returned.
func Failure(ctx, limited context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return fmt.Errorf("the request was cancelled: %w", cause)
	}
	if own, ok := errors.AsType[*api.Error](err); ok {
		return own
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		return errorFromRefusal(r)
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

// errorFromRefusal is a policy_violation, which implies that nothing ran, only as long as nothing
// was sent.
func errorFromRefusal(r *Refusal) error {
	if r.Redirected {
		return fmt.Errorf("the server redirected to another address, and %w", r)
	}
	return api.Errorf(api.ErrPolicyViolation, "%v", r)
}

// permanent reports failures that a repetition would not change. Errors that do not come from the
// network concern the request.
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
