package gateway

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/wire"
)

// requestHeader carries the number of an HTTP request through the SDK to the handlers of its
// messages, which get a context of the session in place of the request's. What clients send in it
// is dropped.
const requestHeader = "Switchyard-Gateway-Request"

// httpRequest is an HTTP request in progress.
type httpRequest struct {
	ctx    context.Context
	header http.Header
	caller api.Caller
	roles  []api.UserRole
	// server is the name of the virtual server; empty for none.
	server string
	// session is the Mcp-Session-Id; empty in revisions without sessions.
	session string
	// message is the message of a POST.
	message wire.Message
	// responseOnly is set if the client reads nothing but the response.
	responseOnly bool
	// connect is the server of a session that the request begins; nil for none.
	connect *mcp.Server
}

// requests are the HTTP requests in progress.
type requests struct {
	mu     sync.Mutex
	last   uint64
	byHint map[string]*httpRequest
}

// begin registers a request until the returned function is called.
func (q *requests) begin(r *http.Request, h *httpRequest) (end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.byHint == nil {
		q.byHint = map[string]*httpRequest{}
	}
	q.last++
	number := strconv.FormatUint(q.last, 10)
	q.byHint[number] = h
	r.Header.Set(requestHeader, number)
	h.header = r.Header
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.byHint, number)
	}
}

// of returns the request with those headers; nil if it has ended or came over standard streams.
func (q *requests) of(header http.Header) *httpRequest {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.byHint[header.Get(requestHeader)]
}
