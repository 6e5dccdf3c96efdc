package lanetest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// wire is a connection to the server that can be cut: a toxiproxy.
type wire struct {
	t       *testing.T
	api     string
	Address string `json:"listen"`
}

// newWire starts a proxy to the server.
func newWire(l *lab) *wire {
	l.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(free.Addr().String())
	if err != nil {
		l.t.Fatal(err)
	}
	if err := free.Close(); err != nil {
		l.t.Fatal(err)
	}
	testserver.Start(l.t, &struct{}{}, nil, testserver.Bin(l.t, "toxiproxy"), "-host", host,
		"-port", port)
	w := &wire{t: l.t, api: "http://" + net.JoinHostPort(host, port)}
	l.until("for toxiproxy", func() bool {
		resp, err := http.Get(w.api + "/version")
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil
	})
	w.send(http.MethodPost, "/proxies",
		fmt.Sprintf(`{"name":"server","listen":"127.0.0.1:0","upstream":%q}`, l.Server.Address), w)
	return w
}

// send sends a command and reads the answer.
func (w *wire) send(method, path, body string, answer any) {
	w.t.Helper()
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.api+path,
		bytes.NewBufferString(body))
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		w.t.Fatalf("toxiproxy, %s %s: %s, %s, %v", method, path, resp.Status, text, err)
	}
	if answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			w.t.Fatal(err)
		}
	}
}

// streams are the two directions of a connection.
var streams = []string{"upstream", "downstream"}

// cut drops everything in both directions without closing a connection: the worst cut, because
// neither side notices.
func (w *wire) cut() {
	w.t.Helper()
	for _, s := range streams {
		w.send(http.MethodPost, "/proxies/server/toxics",
			fmt.Sprintf(`{"name":%q,"type":"timeout","stream":%q,"attributes":{"timeout":0}}`, s,
				s), nil)
	}
}

// slow delays everything in both directions.
func (w *wire) slow(by time.Duration) {
	w.t.Helper()
	for _, s := range streams {
		w.send(http.MethodPost, "/proxies/server/toxics",
			fmt.Sprintf(`{"name":%q,"type":"latency","stream":%q,"attributes":{"latency":%d}}`, s,
				s, by.Milliseconds()), nil)
	}
}

// enable closes all connections and refuses new ones, or accepts them again.
func (w *wire) enable(on bool) {
	w.t.Helper()
	w.send(http.MethodPost, "/proxies/server", fmt.Sprintf(`{"enabled":%v}`, on), nil)
}

// heal forwards everything again; what was dropped is lost.
func (w *wire) heal() {
	w.t.Helper()
	for _, s := range streams {
		w.send(http.MethodDelete, "/proxies/server/toxics/"+s, "", nil)
	}
}
