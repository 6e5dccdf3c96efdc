package mcpclient

import (
	"context"
	"net/http"
	"sync"
)

// exchange is what is known of one request on its way: the transports note it, because the SDK's
// errors do not tell it and whether a call may be repeated depends on it.
type exchange struct {
	mu   sync.Mutex
	seen seen
}

// seen is what an exchange has noted so far.
type seen struct {
	// sent says that a part of the request may have reached the server.
	sent bool
	// answered says that the server's response arrived.
	answered bool
	// tooLarge says that the response was larger than allowed.
	tooLarge bool
	// status and header are those of the last HTTP response; none over stdio.
	status int
	header http.Header
	// code and message are those of a response that is an error.
	code    int
	message string
	// hadSession says that the request named a session that the server gave for an earlier one.
	hadSession bool
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// exchangeOf returns the exchange that a message of ctx belongs to, or one that nobody looks at.
func exchangeOf(ctx context.Context) *exchange {
	if x, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return x
	}
	return &exchange{}
}

func (x *exchange) note(change func(*seen)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change(&x.seen)
}

func (x *exchange) markSent() { x.note(func(s *seen) { s.sent = true }) }

func (x *exchange) now() seen {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen
}
