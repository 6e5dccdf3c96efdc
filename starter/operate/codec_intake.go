package operate

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// intake bounds the requests that are in memory at the same time. The zero value is not valid.
type intake struct {
	// bodies has a place for each request whose body is read or kept, decoding one for each that is
	// decoded.
	bodies, decoding chan struct{}
	// wait bounds the time until a request's body is read, and again until it is decoded. stretch
	// bounds the arrival of each bodyStretch of a body.
	wait, stretch time.Duration
}

// bodyStretch is the part of a body, in bytes, that has to arrive within intake.stretch.
const bodyStretch = 1 << 20

func newIntake(bodies, decoding int, wait, stretch time.Duration) *intake {
	return &intake{bodies: make(chan struct{}, bodies), decoding: make(chan struct{}, decoding),
		wait: wait, stretch: stretch}
}

// serve reads the body of a request and passes the request to next, each as soon as there is a
// place. It answers requests that get none, or whose bodies are too slow or too large.
func (n *intake) serve(w http.ResponseWriter, r *http.Request, next http.Handler) {
	if !n.enter(w, r, n.bodies) {
		return
	}
	defer leave(n.bodies)
	body, err := n.read(w, r)
	if err != nil {
		refuseBody(w, err)
		return
	}
	if !n.enter(w, r, n.decoding) {
		return
	}
	defer leave(n.decoding)
	r.Body = io.NopCloser(bytes.NewReader(body))
	next.ServeHTTP(w, r)
}

// enter takes a place. It answers a request that gets none in time.
func (n *intake) enter(w http.ResponseWriter, r *http.Request, places chan struct{}) bool {
	ctx, cancel := context.WithTimeout(r.Context(), n.wait)
	defer cancel()
	select {
	case places <- struct{}{}:
		return true
	case <-ctx.Done():
		http.Error(w, "too many requests are being decoded; try again", http.StatusServiceUnavailable)
		return false
	}
}

func leave(places chan struct{}) { <-places }

// read reads the body of a request. A client that sends it too slowly loses its place.
func (n *intake) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	connection := http.NewResponseController(w)
	for {
		if err := connection.SetReadDeadline(time.Now().Add(n.stretch)); err != nil {
			return nil, err
		}
		_, err := io.CopyN(&body, r.Body, bodyStretch)
		if err == io.EOF {
			// A deadline that passes while the request is decoded would cancel it.
			return body.Bytes(), connection.SetReadDeadline(time.Time{})
		}
		if err != nil {
			return nil, err
		}
	}
}

func refuseBody(w http.ResponseWriter, err error) {
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return
	}
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		http.Error(w, "the request's body arrives too slowly", http.StatusRequestTimeout)
		return
	}
	http.Error(w, "the request has not arrived: "+err.Error(), http.StatusBadRequest)
}
