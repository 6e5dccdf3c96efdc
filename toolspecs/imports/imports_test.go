package imports

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/toolspecs"
)

// written renders a result: every written file, refusals and notes. Every file lints clean and
// decodes to the imported spec.
func written(t *testing.T, r Result, err error) string {
	t.Helper()
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	var b strings.Builder
	for _, tool := range r.Tools {
		data, err := r.YAML(tool)
		if err != nil {
			t.Fatal(err)
		}
		b.WriteString("-- " + File(tool.Spec) + " --\n")
		b.Write(data)
		checkWritten(t, tool, data)
	}
	for _, refused := range r.Refused {
		b.WriteString("refused " + refused.Source + ": " + refused.Reason + "\n")
	}
	for _, note := range r.Notes {
		b.WriteString("note: " + note + "\n")
	}
	return b.String()
}

func checkWritten(t *testing.T, tool Tool, data []byte) {
	t.Helper()
	specs, err := toolspecs.Decode("f.yaml", data, toolspecs.Options{})
	if err != nil {
		t.Errorf("%s: what was written does not lint clean: %v\n%s", tool.Source, err, data)
		return
	}
	want, err := tool.Spec.Compile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := specs[0].Compile()
	if err != nil || got.Digest != want.Digest {
		t.Errorf("%s: what was written is another spec (%v):\n%s", tool.Source, err, data)
	}
}

// remoteTools are tools of a server: plain ones, one without a description, one with an invalid
// schema, and names that toolspecs cannot have.
var remoteTools = []mcpclient.Tool{
	{Name: "read_file", Description: "Reads a file.\n\nThe path is\n  - relative, or\n  - absolute.",
		ReadOnly: true,
		InputSchema: json.RawMessage(
			`{"properties":{"path":{"description":"A path.","type":"string"}},"required":["path"],"type":"object"}`),
		OutputSchema: json.RawMessage(`{"properties":{"text":{"type":"string"}},"type":"object"}`)},
	{Name: "search", Title: "Search everything",
		InputSchema: json.RawMessage(
			`{"properties":{"query":{"nullable":true,"type":"string","wrong":1}},"type":"object"}`)},
	{Name: "files/list.all"},
}

// serve returns a server that lists remoteTools.
func serve(e toolspecs.MCPEntry) ([]mcpclient.Tool, error) {
	if strings.Contains(e.URL, "down") {
		return nil, errors.New("the server cannot be reached")
	}
	return remoteTools, nil
}

// Each listed tool is pinned by its digest, with the server's texts.
func TestMCP_PinsEveryTool(t *testing.T) {
	entry := toolspecs.MCPEntry{Argv: []string{"mcp-files", "."}, Env: []string{"FILES_ROOT"}}
	r, err := MCP("server", entry, remoteTools, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Admit("fs_", nil)
	golden.Compare(t, filepath.Join("testdata", "mcp.golden"), written(t, r, nil))
	for i, tool := range r.Tools {
		if e := tool.Spec.Entry.Kind.(toolspecs.MCPEntry); e.Pin != remoteTools[i].Digest() {
			t.Errorf("%s is pinned as %s", tool.Source, e.Pin)
		}
	}
	if r, err := MCP("server", entry, remoteTools, []string{"read_*"}); err != nil ||
		len(r.Tools) != 1 || r.Tools[0].Spec.Entry.Kind.(toolspecs.MCPEntry).Tool != "" {
		t.Errorf("picked %+v", r.Tools)
	}
}

// The golden files show the results of small documents: places and styles of parameters, bodies,
// servers and secrets, names, schemas of both dialects, functions of every provider, and a registry
// of every kind.
func TestImports_MatchGoldenFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		ran++
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			name := filepath.Base(file)
			var r Result
			switch {
			case strings.HasPrefix(name, "functions"):
				r, err = Functions(name, data, nil)
			case strings.HasPrefix(name, "registry"):
				r, err = Registry(name, data, nil, serve)
			default:
				r, err = OpenAPI(name, data, Options{})
			}
			golden.Compare(t, file+".golden", written(t, r, err))
		})
	}
	if ran < 8 {
		t.Errorf("only %d documents", ran)
	}
}
