package mcpclient

import (
	"io"
	"net/http"

	"github.com/switchyard/switchyard/internal/panics"
)

// ownStream requests the stream of a server's own messages, which servers need not have, and
// returns at once: the SDK requests it while it connects, without a timeout, and some servers send
// headers with the first event only. If the server has no such stream, whatever it answers instead,
// the stream stays empty.
func (w *wire) ownStream(req *http.Request) *http.Response {
	events, to := io.Pipe()
	go func() {
		var err error
		defer func() { _ = to.CloseWithError(err) }()
		defer panics.MCP.Contain(req.Context(), w.log, func(failed error) { err = failed })
		err = w.copyEvents(req, to)
	}()
	resp := response(req, http.StatusOK, nil)
	resp.Header.Set("Content-Type", eventStream)
	resp.Body, resp.ContentLength = events, -1
	return resp
}

// copyEvents copies the stream until it ends. The SDK then requests it again.
func (w *wire) copyEvents(req *http.Request, to io.Writer) error {
	resp, err := w.get(req)
	if err == nil && !refusal(resp.StatusCode) && contentType(resp) == eventStream {
		w.streams.Store(true)
		w.countFailure(req, nil)
		w.bound(message{}, resp, findExchange(req.Context()))
		defer resp.Body.Close()
		_, err = io.Copy(to, resp.Body)
		return err
	}
	if err == nil {
		_ = resp.Body.Close()
	} else if w.streams.Load() {
		w.countFailure(req, err) // a server that had the stream may be down
		return err
	}
	<-req.Context().Done()
	return req.Context().Err()
}
