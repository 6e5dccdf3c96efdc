//go:build unix

package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func largeRequest(t *testing.T) *jsonrpc.Request {
	t.Helper()
	id, err := jsonrpc.MakeID("1")
	if err != nil {
		t.Fatal(err)
	}
	params, err := json.Marshal(strings.Repeat("x", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	return &jsonrpc.Request{ID: id, Method: "tools/call", Params: params}
}

// A server that does not read blocks a call until its timeout only. A server that has read half a
// message is ended.
func TestWrite_IsBoundedByTheContext(t *testing.T) {
	p, err := startProcess([]string{"sleep", "1000"}, "", nil, nil, 1<<20,
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	written := make(chan error, 2)
	for range 2 {
		go func() { written <- p.Write(ctx, largeRequest(t)) }()
	}
	for range 2 {
		if err := <-written; err == nil {
			t.Error("a message without a reader was written")
		}
	}
	<-p.ended
	if _, err := p.Read(t.Context()); err == nil || err.Error() != "the server was killed by signal: killed" {
		t.Errorf("got %v", err)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// A message whose timeout passed before it was written leaves the connection unchanged.
func TestWrite_AfterTheTimeoutKeepsTheConnection(t *testing.T) {
	p, err := startProcess([]string{"cat"}, "", nil, nil, 2<<20, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Write(over, largeRequest(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	go func() { _ = p.Write(t.Context(), largeRequest(t)) }()
	if m, err := p.Read(t.Context()); err != nil || m.(*jsonrpc.Request).Method != "tools/call" {
		t.Errorf("got %v, %v", m, err)
	}
}

// A server that closes its output, or whose child keeps it open, is not awaited.
func TestOutput_EndsWithTheServer(t *testing.T) {
	for script, words := range map[string]string{
		"exec >&-; sleep 1000":                      "the server closed its standard output",
		"setsid sleep 5 & echo last >&2; exit 4":    "the server ended with exit code 4; it wrote to standard error: last",
		"sleep 1000 & echo oops >&2; kill -9 $$":    "the server was killed by signal: killed; it wrote to standard error: oops",
		`printf '\n\n{"jsonrpc":"1.0"}\n'; sleep 5`: `the MCP server wrote a message to standard output that cannot be read: {"jsonrpc":"1.0"} (invalid message version tag "1.0"; expected "2.0")`,
		`printf 'starting\n{"a":1}\n'; exit 5`:      `the server ended with exit code 5; it wrote to standard output, not an MCP message: {"a":1}`,
		"yes":                                       "the MCP server wrote more than 1048576 bytes to standard output that are not MCP messages",
	} {
		p, err := startProcess([]string{"sh", "-c", script}, "", []string{"PATH=/usr/bin:/bin"},
			nil, 1<<20, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Read(t.Context()); err == nil || err.Error() != words {
			t.Errorf("%s: got %v", script, err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		<-p.ended
	}
}

// At most maxNoise lines are logged.
func TestNoise_IsSkippedAndLogged(t *testing.T) {
	var log bytes.Buffer
	script := `i=0; while [ $i -lt 100 ]; do echo noise $i; i=$((i+1)); done; ` +
		`echo '{"jsonrpc":"2.0","method":"ping","id":1}'; sleep 5`
	p, err := startProcess([]string{"sh", "-c", script}, "", []string{"PATH=/usr/bin:/bin"}, nil,
		1<<20, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if m, err := p.Read(t.Context()); err != nil || m.(*jsonrpc.Request).Method != "ping" {
		t.Errorf("got %v, %v", m, err)
	}
	if n := strings.Count(log.String(), "noise "); n != maxNoise {
		t.Errorf("%d lines are logged, want %d:\n%s", n, maxNoise, &log)
	}
}
