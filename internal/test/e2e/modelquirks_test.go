package e2e

import (
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs/agents"
)

// modelQuirks are what runs of the public cases end with: the beginning of the answer or, after an
// exclamation mark, a part of why the run failed; and the number of calls.
var modelQuirks = map[string]struct {
	end   string
	calls int
}{
	"B03": {"RESULTS: call_a=", 1},
	"B05": {"", 1},
	"B06": {"RESULTS: ", 2},
	"B07": {"RESULTS: call_a=", 1},
	"B09": {"RESULTS: call_x=", 1},
	"B11": {"RESULTS: call_x=", 1},
	"B13": {"hello", 0},
	"B14": {"RESULTS: D681PevKs=", 1},
	"B16": {"wrapped up", 2},
	"B17": {"SCHEMAS OK", 0},
	"B18": {"SCHEMAS OK", 0},
	"B20": {"SCHEMAS OK", 0},
	"B21": {"SCHEMAS OK", 0},
	"B23": {"SCHEMAS OK", 0},
	"B24": {"The answer is 4.", 0},
	"B25": {"RESULTS: ", 9},
	"B27": {"!as the one before; it ended at max_tokens, which is 50: raise it", 1},
	"B49": {"!Invalid credentials for upstream", 0},
}

// Servers of models that deviate from their protocol, as public bug reports describe them, are
// understood or named.
func TestModelQuirks_AreUnderstood(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	folder := cases.Path(t, "quirks")
	l := newLab(t)
	tools := filepath.Join(t.TempDir(), "tools")
	copyFile(t, filepath.Join(folder, "_common", "basic-tools.yaml"), filepath.Join(tools, "basic.yaml"))
	args := []string{"-r", "./testdata/anyport.js", filepath.Join(folder, "_common", "model.js")}
	for name := range modelQuirks {
		args = append(args, filepath.Join(folder, name, "quirk.js"))
		if spec := filepath.Join(folder, name, "tools.yaml"); exists(spec) {
			copyFile(t, spec, filepath.Join(tools, name+".yaml"))
		}
	}
	server := exec.CommandContext(t.Context(), node, args...)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(address)
	server.Env = append(os.Environ(), "PORT="+port, "MODEL_LOG="+os.DevNull)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	l.await("for the model server", func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil
	})
	l.program(testserver.Bin(t, "worker"), []string{"OPENAI_BASE_URL=http://" + address + "/v1",
		"OPENAI_API_KEY=" + secretKey, "ANTHROPIC_BASE_URL=http://" + address,
		"ANTHROPIC_API_KEY=" + secretKey}, "--tools", tools)
	for _, name := range slices.Sorted(maps.Keys(modelQuirks)) {
		want := modelQuirks[name]
		t.Run(name, func(t *testing.T) {
			l := *l
			l.t = t
			agent, err := agents.Load(filepath.Join(folder, name, "agent.yaml"), agents.Known{})
			if err != nil {
				t.Fatal(err)
			}
			run := l.run(api.AgentWorkflow, name, api.RunInput{Agent: agent,
				Prompt: "Weather in Oslo and Rome?"})
			if reason, fails := strings.CutPrefix(want.end, "!"); fails {
				if app := l.failure(run, api.RunModelFailed); !strings.Contains(app.Message(),
					reason) {
					t.Errorf("the run failed with %q, want %q", app.Message(), reason)
				}
				return
			}
			r := l.result(run)
			if !strings.HasPrefix(r.Answer, want.end) || r.Usage.Calls != want.calls ||
				r.Usage.Failed != 0 {
				t.Errorf("the answer is %q after %+v", r.Answer, r.Usage)
			}
			// What only the provider reads is not shown: it repeats what masks hide.
			for e, err := range audit.Events(l.ctx, l.Client, name, "") {
				if err != nil || e.Step != nil && e.Step.Message.Native != nil {
					t.Errorf("the event %+v, %v", e, err)
				}
			}
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
