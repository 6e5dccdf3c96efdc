// Package httpserver makes HTTP servers that slow clients and large requests cannot keep busy.
package httpserver

import (
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
