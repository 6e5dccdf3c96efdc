package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/mcpserver"
	"github.com/switchyard/switchyard/internal/test/testserver"
)

// offers is a model that plays answers and keeps the names of the tools that each request offers.
type offers struct {
	*httptest.Server
	mu      sync.Mutex
	offered [][]string
	// results are the messages of the role tool in the last request.
	results []string
}

func newOffers(t *testing.T, answers ...string) *offers {
	t.Helper()
	o := &offers{}
	o.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Tools    []struct{ Function struct{ Name string } }
			Messages []struct {
				Role    string
				Content any
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		names, results := []string{}, []string(nil)
		for _, tool := range request.Tools {
			names = append(names, tool.Function.Name)
		}
		for _, m := range request.Messages {
			if m.Role == "tool" {
				results = append(results, fmt.Sprint(m.Content))
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.offered, o.results = append(o.offered, names), results
		if len(o.offered) > len(answers) {
			http.Error(w, "the script is over", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, answers[len(o.offered)-1])
	}))
	t.Cleanup(o.Close)
	return o
}

// importServers imports the servers of an mcp.json and returns the folder of their tools.
func (l *lab) importServers(config map[string][]string) string {
	l.t.Helper()
	dir := l.t.TempDir()
	servers := map[string]any{}
	for name, argv := range config {
		servers[name] = map[string]any{"command": argv[0], "args": argv[1:]}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		l.t.Fatal(err)
	}
	file, tools := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "tools")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		l.t.Fatal(err)
	}
	out, err := exec.CommandContext(l.ctx, testserver.Bin(l.t, "starter"), "tools", "import",
		file, "--out", tools).CombinedOutput()
	if err != nil {
		l.t.Fatalf("import: %v\n%s", err, out)
	}
	return tools
}

// TestFindTools_OnAnImportedServer follows an agent with all tools of a server that has more than
// 500: its model is offered find_tools, then the tools that it found, and calls one of them. An
// agent that selects a few of them by a pattern is offered these.
func TestFindTools_OnAnImportedServer(t *testing.T) {
	l := newLab(t)
	tools := l.importServers(map[string][]string{"many": mcpserver.Argv(mcpserver.Many)})
	model := newOffers(t,
		chatAnswer("", [2]string{api.FindTools, `{"query":"an image of some bytes"}`}),
		chatAnswer("", [2]string{"many_picture", `{"count":3}`}), chatAnswer("found"),
		chatAnswer("", [2]string{"many_tool_007", `{"text":"seven"}`}), chatAnswer("called"))
	l.workerIn([]string{"OPENAI_BASE_URL=" + model.URL + "/v1", "OPENAI_API_KEY=" + secretKey},
		"--tools", tools)
	a := &api.Agent{Name: "finder", Tools: []string{"server:many"},
		Model: api.Model{Provider: api.ProviderOpenAI, Name: "local"}}
	run := l.runAgent("found", a)
	if r := l.result(run); r.Answer != "found" || r.Usage.Failed != 0 {
		t.Errorf("got %+v", r)
	}
	expect(t, "calls", l.statuses(run), []string{"1.1 find_tools completed",
		"2.1 many_picture completed"})
	expect(t, "the first request offers", model.offered[0], []string{api.FindTools})
	found := model.offered[1]
	if !slices.Contains(found, api.FindTools) || !slices.Contains(found, "many_picture") ||
		len(found) > 6 {
		t.Errorf("the second request offers %q", found)
	}
	if results := strings.Join(model.results, "\n"); !strings.Contains(results, "a picture:") {
		t.Errorf("the model received %s", results)
	}

	a.Tools = []string{"many_tool_00*"}
	if r := l.result(l.runAgent("few", a)); r.Answer != "called" || r.Usage.Failed != 0 {
		t.Errorf("got %+v", r)
	}
	if few := model.offered[3]; len(few) != 10 || !slices.Contains(few, "many_tool_007") {
		t.Errorf("the pattern offers %q", few)
	}
}
