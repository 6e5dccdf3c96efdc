package gateway

//lint:file-ignore SA1019 clients use log messages as long as the protocol has them

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// What a tool reports reaches the client that wants it: progress while the call runs, and the last
// reports and the log messages with the result. Progress only increases.
func TestReports_ReachTheClient(t *testing.T) {
	l := newLab(t, nil)
	got := make(chan string, 100)
	s := l.connect(l.url+Path, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context,
			r *mcp.ProgressNotificationClientRequest) {
			if p := r.Params; p.Message != "it runs" {
				got <- fmt.Sprint(p.Message, " ", p.Total > p.Progress)
			}
		},
		LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) {
			got <- fmt.Sprint(r.Params.Level, " ", r.Params.Data)
		}})
	if err := s.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: "info"}); err != nil {
		t.Fatal(err)
	}
	params := &mcp.CallToolParams{Name: "slow"}
	params.SetProgressToken("token")
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(t.Context(), params)
		ended <- err
	}()
	handle := <-l.submitted
	at := &api.Progress{Done: 1, Total: 3, Message: "one"}
	l.fakeSessions.mu.Lock()
	l.progress = map[string]*api.Progress{handle: at}
	l.fakeSessions.mu.Unlock()
	if first := <-got; first != "one true" {
		t.Errorf("got %s", first)
	}
	l.finish(handle, api.CallOutcome{Tool: "slow", Result: &api.Result{Output: []byte("1"),
		Reports: []api.Report{{Progress: at}, {Progress: &api.Progress{Done: 0.5, Message: "back"}},
			{Log: &api.LogLine{Level: "debug", Data: json.RawMessage(`"details"`)}},
			{Log: &api.LogLine{Level: "warning", Data: json.RawMessage(`"careful"`)}},
			{Progress: &api.Progress{Done: 3, Total: 3, Message: "three"}}}}})
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := []string{"warning careful", "three false"}
	var rest []string
	for range want {
		select {
		case text := <-got:
			rest = append(rest, text)
		case <-time.After(10 * time.Second):
		}
	}
	slices.Sort(rest)
	slices.Sort(want)
	if !slices.Equal(rest, want) {
		t.Errorf("with the result: %v, want %v", rest, want)
	}
}
