package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// journalTool is the toolspec of a tool with a name.
const journalTool = `name: %s
version: 1.0.0
description: Writes a line to the journal.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: append}
execution: {effect: read, lane: inline}
`

// withKey sends requests with an API key.
type withKey struct {
	key string
	http.RoundTripper
}

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return k.RoundTripper.RoundTrip(r)
}

// sdkClient returns a session of the official Go SDK's client in a revision; changed hears of
// changes of the list of tools.
func (g *gatewayLab) sdkClient(r *replica, revision string,
	changed chan<- struct{}) *mcp.ClientSession {
	g.t.Helper()
	transport := &http.Transport{}
	g.t.Cleanup(transport.CloseIdleConnections)
	c := mcp.NewClient(&mcp.Implementation{Name: "sdk", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case changed <- struct{}{}:
			default:
			}
		}})
	s, err := c.Connect(g.ctx, &mcp.StreamableClientTransport{Endpoint: r.Endpoint,
		HTTPClient: &http.Client{Transport: withKey{g.apiKey("ada"), transport}}},
		&mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = s.Close() })
	return s
}

// The client of the official Go SDK lists and calls tools in each revision, and hears that a
// toolspec was added to the folder.
func TestGateway_ServesTheGoSDKInEachRevision(t *testing.T) {
	g := newGatewayLab(t, "")
	tools := t.TempDir()
	glance := fmt.Appendf(nil, journalTool, "glance")
	if err := os.WriteFile(filepath.Join(tools, "glance.yaml"), glance, 0o600); err != nil {
		t.Fatal(err)
	}
	g.workerIn(nil, "--tools", tools)
	r := g.replica("--tools", tools)
	revisions := []string{"2025-06-18", "2025-11-25", newestRevision}
	clients := map[string]*mcp.ClientSession{}
	heard := map[string]chan struct{}{}
	for _, revision := range revisions {
		heard[revision] = make(chan struct{}, 1)
		c := g.sdkClient(r, revision, heard[revision])
		clients[revision] = c
		if got := c.InitializeResult().ProtocolVersion; got != revision {
			t.Errorf("the session has the revision %s, want %s", got, revision)
		}
		a, err := c.CallTool(g.ctx, &mcp.CallToolParams{Name: "glance",
			Arguments: arguments("text", revision)})
		if err != nil || a.IsError || a.Content[0].(*mcp.TextContent).Text !=
			`{"text":"`+revision+`"}` {
			t.Errorf("%s: %+v, %v", revision, a, err)
		}
	}
	added := fmt.Appendf(nil, journalTool, "added")
	if err := os.WriteFile(filepath.Join(tools, "added.yaml"), added, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, revision := range revisions {
		select {
		case <-heard[revision]:
		case <-g.ctx.Done():
			t.Fatalf("the client of %s did not hear of the new tool", revision)
		}
		list, err := clients[revision].ListTools(g.ctx, nil)
		if err != nil || !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool {
			return tool.Name == "added"
		}) {
			t.Errorf("%s: the list lacks the new tool: %v", revision, err)
		}
	}
}

// A task that its client cancels is cancelled, and its call with it.
func TestGateway_CancelsTasks(t *testing.T) {
	g := newGatewayLab(t, "")
	g.serve()
	r := g.replica("--direct", "100ms")
	c := g.client(r.Endpoint, g.apiKey("ada"), "tasks")
	c.capabilities = followsTasks
	task := must(t)(c.call(g.ctx, "hold_read", map[string]any{}, nil))
	if task.Result == nil || task.Result.TaskID == "" {
		t.Fatalf("the task: %s", task.body)
	}
	about := arguments("taskId", task.Result.TaskID)
	for range 2 { // a task that has ended can be cancelled, too
		if a := must(t)(c.request(g.ctx, "tasks/cancel", about, nil)); a.refused() {
			t.Fatalf("tasks/cancel: %s", a.body)
		}
		g.await("for the end of the task", func() bool {
			task = must(t)(c.request(g.ctx, "tasks/get", about, nil))
			return task.Result != nil && task.Result.Status == "cancelled"
		})
	}
	if a := must(t)(g.client(r.Endpoint, g.apiKey("eve"), "tasks").request(g.ctx, "tasks/get",
		about, nil)); !a.refused() {
		t.Errorf("the task of another caller: %s", a.body)
	}
	older := g.older(r.Endpoint, g.apiKey("ada"), "older")
	if a := must(t)(older.request(g.ctx, "tasks/get", about, nil)); !a.refused() {
		t.Errorf("a task in an older revision: %s", a.body)
	}
}
