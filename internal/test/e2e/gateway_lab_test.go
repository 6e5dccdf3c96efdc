package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/access"
	"github.com/switchyard/switchyard/internal/test/testserver"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
)

// gatewayTools is the folder with the tools of these tests.
const gatewayTools = "testdata/gateway"

// gatewayLab is a lab with gateways for clients that have API keys.
type gatewayLab struct {
	*lab
	config, keys string
	// secrets are the API keys by name.
	secrets map[string]string
}

// replica is a gateway process.
type replica struct {
	*testserver.Process
	Endpoint string `json:"endpoint"`
	Operator string `json:"operator"`
}

// newGatewayLab starts a server. settings are further lines of gateway.yaml. At the end of the test
// the histories of all sessions are replayed.
func newGatewayLab(t *testing.T, settings string) *gatewayLab {
	t.Helper()
	g := prepareGatewayLab(t, settings)
	t.Cleanup(g.replaySessions)
	return g
}

// prepareGatewayLab is newGatewayLab without the replay.
func prepareGatewayLab(t *testing.T, settings string, serverFlags ...string) *gatewayLab {
	t.Helper()
	l := newLab(t, serverFlags...)
	dir := t.TempDir()
	g := &gatewayLab{lab: l, config: filepath.Join(dir, "gateway.yaml"),
		keys: filepath.Join(dir, "keys.yaml"), secrets: map[string]string{}}
	// A gateway that runs takes seconds to notice new keys.
	for _, name := range []string{"ada", "ben", "eve", "withdrawn"} {
		g.apiKey(name)
	}
	g.addKey("grace", "operator")
	g.addKey("olga", "operator")
	text := "access:\n  api_keys: keys.yaml\n  hosts: [switchyard-gateway]\n" + settings
	if err := os.WriteFile(g.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return g
}

// serve starts a worker with the tools.
func (g *gatewayLab) serve() *testserver.Process {
	g.t.Helper()
	return g.workerIn(nil, "--tools", gatewayTools)
}

// apiKey returns the API key of that name. A gateway that starts later knows it.
func (g *gatewayLab) apiKey(name string) string {
	g.t.Helper()
	if g.secrets[name] == "" {
		g.addKey(name)
	}
	return g.secrets[name]
}

func (g *gatewayLab) addKey(name string, scopes ...string) {
	g.t.Helper()
	key, err := access.AddKey(g.keys, access.Key{Name: name, Scopes: scopes}, time.Now())
	if err != nil {
		g.t.Fatal(err)
	}
	g.secrets[name] = key
}

// replica starts a gateway on a free port, unless the flags say otherwise.
func (g *gatewayLab) replica(flags ...string) *replica {
	g.t.Helper()
	r := &replica{}
	args := append([]string{"gateway", "--address", g.Address, "--tools", gatewayTools, "--config",
		g.config, "--listen", "127.0.0.1:0", "--drain", "1s", "--output", "json"}, flags...)
	r.Process = testserver.Start(g.t, r, []string{"SWITCHYARD_GATEWAY_KEY=a key of these tests"},
		testserver.Bin(g.t, "starter"), args...)
	return r
}

// client returns a client of the newest revision.
func (g *gatewayLab) client(url, key, program string) *mcpClient {
	transport := &http.Transport{}
	g.t.Cleanup(transport.CloseIdleConnections)
	return &mcpClient{t: g.t, http: &http.Client{Transport: transport}, url: url, key: key,
		program: program}
}

// older returns a client of an older revision, with a session.
func (g *gatewayLab) older(url, key, program string) *mcpClient {
	g.t.Helper()
	c := g.client(url, key, program)
	if err := c.begin(g.ctx); err != nil || c.session == "" {
		g.t.Fatalf("no session was begun: %v", err)
	}
	return c
}

// sessions returns the first execution of each session.
func (g *gatewayLab) sessions(ctx context.Context) (map[string]*workflowpb.WorkflowExecutionInfo,
	error) {
	first := map[string]*workflowpb.WorkflowExecutionInfo{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s'", api.SessionWorkflow)}
	for {
		page, err := g.Client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			id := e.GetExecution().GetWorkflowId()
			if known := first[id]; known == nil ||
				e.GetStartTime().AsTime().Before(known.GetStartTime().AsTime()) {
				first[id] = e
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return first, nil
		}
	}
}

// replaySessions replays the histories of all sessions.
func (g *gatewayLab) replaySessions() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sessions, err := g.sessions(ctx)
	if err != nil {
		g.t.Errorf("the sessions were not replayed: %v", err)
	}
	for id, first := range sessions {
		g.replay(id, first.GetExecution().GetRunId())
	}
}

// texts returns how often each text was written to the journal.
func (g *gatewayLab) texts() map[string]int {
	g.t.Helper()
	counts := map[string]int{}
	for _, e := range g.entries() {
		counts[e.Text]++
	}
	return counts
}
