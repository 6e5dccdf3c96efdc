package mcpclient

import (
	"context"
	"net/http"
	"sync"
)

// exchange tracks one request. The transports record it, because the SDK's errors do not contain it
// and it decides whether a call may be repeated.
type exchange struct {
	mu   sync.Mutex
	seen seen
	// taskID is the id of the task that the request is about; empty for other requests.
	taskID string
	// traceparent is that of the call; empty for none.
	traceparent string
}

// seen is what an exchange has noted so far.
type seen struct {
	// method is that of the last message that was sent.
	method string
	// sent is set if a part of the request may have reached the server.
	sent bool
	// answered is set when the server's response has arrived.
	answered bool
	// tooLarge is set if the response was larger than allowed.
	tooLarge bool
	// status and header are those of the last HTTP response; none over stdio.
	status int
	header http.Header
	// code and message are those of a response that is an error.
	code    int
	message string
	// hadSession is set if the request named a session that the server had issued.
	hadSession bool
}

type exchangeKey struct{}

func withExchange(ctx context.Context) (context.Context, *exchange) {
	x := &exchange{}
	return context.WithValue(ctx, exchangeKey{}, x), x
}

// findExchange returns the exchange of a message's ctx, or an unused one.
func findExchange(ctx context.Context) *exchange {
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

// begin notes that a message of a method is about to be sent. Over HTTP it is part of a new
// request. The cancellation of a request has the request's exchange and is none of its messages.
func (x *exchange) begin(method string) {
	if method != "" && method != methodCancelled {
		x.note(func(s *seen) { *s = seen{sent: s.sent, method: method} })
	}
}

const methodCancelled = "notifications/cancelled"

func (x *exchange) markSent() { x.note(func(s *seen) { s.sent = true }) }

func (x *exchange) now() seen {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.seen
}
