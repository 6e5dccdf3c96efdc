// Package httpserver makes HTTP servers that slow clients and large requests cannot keep busy.
package httpserver

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	// headersWithin bounds the arrival of a request's headers, idle the time that a connection
	// stays open without a request.
	headersWithin = 10 * time.Second
	idle          = 2 * time.Minute
	// maxHeaders bounds the headers of a request, in bytes.
	maxHeaders = 64 << 10
)

// Limits bound each request of a server.
type Limits struct {
	// Read bounds the arrival of a whole request, body included. Write bounds the time from its
	// headers to the end of its answer. Both are required.
	Read, Write time.Duration
	// Body is the maximum size of a request's body, in bytes. Zero allows no body.
	Body int64
}

// New returns a server for handler that closes the connection of a request beyond the limits. Reads
// of a body that is too large return an *http.MaxBytesError.
func New(handler http.Handler, l Limits) *http.Server {
	return &http.Server{Handler: http.MaxBytesHandler(handler, l.Body),
		ReadHeaderTimeout: min(l.Read, headersWithin), ReadTimeout: l.Read, WriteTimeout: l.Write,
		IdleTimeout: idle, MaxHeaderBytes: maxHeaders}
}

// FormProblem returns the status of the answer to a form that cannot be read, and the reason as a
// sentence. err is that of http.Request.ParseForm.
func FormProblem(err error) (status int, text string) {
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return http.StatusRequestEntityTooLarge, fmt.Sprintf("The form is larger than %d KiB.",
			large.Limit>>10)
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		return http.StatusRequestTimeout, "The form did not arrive in time. Send it again."
	}
	return http.StatusBadRequest, "The form cannot be read. Go back and send it again."
}
