package connection

import (
	"errors"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Silence returns the error of a health check that got no answer. Proxies that do not forward
// health checks, or that require rights for them, answer.
func Silence(err error) error {
	_, unimplemented := errors.AsType[*serviceerror.Unimplemented](err)
	_, denied := errors.AsType[*serviceerror.PermissionDenied](err)
	if unimplemented || denied || status.Code(err) == codes.Unauthenticated {
		return nil
	}
	return err
}
