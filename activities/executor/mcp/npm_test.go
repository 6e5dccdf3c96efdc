package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/internal/test/expect"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs"
)

// everything is server-everything at a URL, as a process that tests kill and restart.
type everything struct {
	t       *testing.T
	program string
	port    int
	cmd     *exec.Cmd
}

func newEverything(t *testing.T) *everything {
	t.Helper()
	e := &everything{t: t, program: testserver.NPM(t, "mcp-server-everything")}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.port = listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	e.start()
	t.Cleanup(e.kill)
	return e
}

func (e *everything) url() string { return fmt.Sprintf("http://127.0.0.1:%d/mcp", e.port) }

func (e *everything) start() {
	e.t.Helper()
	e.cmd = exec.Command(e.program, "streamableHttp")
	e.cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(e.port))
	if err := e.cmd.Start(); err != nil {
		e.t.Fatal(err)
	}
	// It refuses a request without a session. Another program on the port would answer differently.
	expect.Eventually(e.t, "server-everything to listen", func() bool {
		resp, err := http.Get(e.url())
		if err != nil {
			return false
		}
		_ = resp.Body.Close()
		return resp.StatusCode == http.StatusBadRequest
	})
}

func (e *everything) kill() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

// The tools of server-everything, by the authors of the protocol, return what they document, over
// both transports.
func TestNPMEverything_ReturnsItsResults(t *testing.T) {
	program := testserver.NPM(t, "mcp-server-everything")
	t.Setenv("SWITCHYARD_TEST_SECRET", "s3cret")
	for name, entry := range map[string]toolspecs.MCPEntry{
		"stdio": {Argv: []string{program}},
		"http":  {URL: newEverything(t).url(), Allow: []string{"127.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMCPBench(t, entry, Options{})
			for _, tt := range []struct{ tool, args, want string }{
				{"echo", `{"message":"hello"}`, `"Echo: hello"`},
				{"get-sum", `{"a":2,"b":3}`, `"The sum of 2 and 3 is 5."`},
				{"get-structured-content", `{"location":"New York"}`,
					`{"temperature":33,"conditions":"Cloudy","humidity":82}`},
				{"get-tiny-image", `{}`, `{"type":"image","mimeType":"image/png","data":"`},
				{"get-annotated-message", `{"messageType":"error","includeImage":true}`,
					`"mimeType":"image/png"`},
				{"get-resource-links", `{"count":2}`,
					`{"type":"resource_link","uri":"demo://resource/dynamic/`},
				{"get-resource-reference", `{"resourceType":"Blob","resourceId":1}`,
					`"uri":"demo://resource/dynamic/blob/1"`},
			} {
				if got := b.mustCall(t, tt.tool, tt.args); !strings.Contains(string(got.Output),
					tt.want) {
					t.Errorf("%s: got %s", tt.tool, got.Output)
				}
			}
			if e := failureOf(b.call(t.Context(), "get-sum", `{"a":"x"}`)); e == nil ||
				e.Type != api.ErrExecution && e.Type != api.ErrValidation ||
				!strings.Contains(e.Message, "expected number") {
				t.Errorf("wrong arguments: got %v", e)
			}
			if entry.URL == "" && strings.Contains(string(b.mustCall(t, "get-env", `{}`).Output),
				"s3cret") {
				t.Error("the server sees the worker's environment")
			}
			var received []api.Progress
			reason := errors.New("end of the test")
			ctx, cancel := context.WithCancelCause(t.Context())
			ctx = callcontext.WithProgress(ctx, func(p api.Progress) {
				if received = append(received, p); len(received) == 2 {
					cancel(reason)
				}
			})
			if _, err := b.call(ctx, "trigger-long-running-operation",
				`{"duration":600,"steps":6000}`); !errors.Is(err, reason) ||
				received[1] != (api.Progress{Done: 2, Total: 6000}) {
				t.Errorf("got %v after %v", err, received)
			}
			b.mustCall(t, "echo", `{"message":"next"}`)
		})
	}
}

func failureOf(_ executor.Answer, err error) *api.Error { return api.AsError(err) }

// A server that is killed between calls, or during one, costs one failed attempt: the next call
// uses the new one, although it answers old sessions with 400.
func TestNPMEverything_MayRestart(t *testing.T) {
	e := newEverything(t)
	b := newMCPBench(t, toolspecs.MCPEntry{URL: e.url(), Allow: []string{"127.0.0.1"}}, Options{})
	b.mustCall(t, "echo", `{"message":"first"}`)
	e.kill()
	if f := failureOf(b.call(t.Context(), "echo", `{"message":"away"}`)); f == nil || !f.Retryable {
		t.Errorf("while the server is away: %v", f)
	}
	e.start()
	b.mustCall(t, "echo", `{"message":"second"}`)

	started := make(chan struct{}, 10)
	ctx := callcontext.WithProgress(t.Context(), func(api.Progress) { started <- struct{}{} })
	failed := make(chan error, 1)
	spec := b.spec("trigger-long-running-operation",
		func(s *toolspecs.Spec) { s.Execution.Effect = api.EffectOnce })
	go func() {
		_, err := b.Execute(ctx, spec, json.RawMessage(`{"duration":600,"steps":6000}`))
		failed <- err
	}()
	<-started
	e.kill()
	if f := executor.CallError(ctx, <-failed, spec); f.Type != api.ErrOutcomeUnknown {
		t.Errorf("killed in the middle of a call: %v", f)
	}
	e.start()
	b.mustCall(t, "echo", `{"message":"third"}`)
}

// server-filesystem reads and writes files and refuses paths outside of its folder. server-memory
// keeps its state, because a worker's calls share one server.
func TestNPMFilesystemAndMemory_Work(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := newMCPBench(t, toolspecs.MCPEntry{Argv: []string{testserver.NPM(t, "mcp-server-filesystem"),
		dir}}, Options{})
	file, _ := json.Marshal(map[string]string{"path": filepath.Join(dir, "a.txt"),
		"content": "one\ntwo\n"})
	b.mustCall(t, "write_file", string(file))
	read := b.mustCall(t, "read_text_file", string(file))
	if string(read.Output) != `{"content":"one\ntwo\n"}` {
		t.Errorf("got %s", read.Output)
	}
	if f := failureOf(b.call(t.Context(), "read_text_file",
		`{"path":"/etc/hostname"}`)); f == nil || f.Type != api.ErrExecution ||
		!strings.Contains(f.Message, "outside allowed directories") {
		t.Errorf("got %v", f)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.png"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	media := b.mustCall(t, "read_media_file", fmt.Sprintf(`{"path":%q}`,
		filepath.Join(dir, "a.png")))
	if len(media.Output) == 0 || len(media.Notes) == 0 && !strings.Contains(string(media.Output),
		`"path":`) {
		t.Errorf("got %.300s, %v", media.Output, media.Notes)
	}

	t.Setenv("MEMORY_FILE_PATH", filepath.Join(dir, "memory.json"))
	m := newMCPBench(t, toolspecs.MCPEntry{Argv: []string{testserver.NPM(t, "mcp-server-memory")},
		Env: []string{"MEMORY_FILE_PATH"}}, Options{})
	for i := range 5 {
		m.mustCall(t, "create_entities",
			fmt.Sprintf(`{"entities":[{"name":"e%d","entityType":"thing","observations":[]}]}`, i))
	}
	if graph := m.mustCall(t, "read_graph", `{}`); strings.Count(string(graph.Output),
		`"entityType":"thing"`) != 5 {
		t.Errorf("got %s", graph.Output)
	}
}
