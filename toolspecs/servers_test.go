package toolspecs

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

const someServers = `
servers:
  files:
    argv: [npx, -y, server-files, notes]
    env: [LANG]
    set_env: {MODE: quiet}
    secrets: {FILES_TOKEN: env:FILES_TOKEN}
    answer_within: 1h
    tools:
      category: file
      tags: [notes]
      emits: [untrusted]
      execution: {access: exclusive, timeout: 5s, retry: {max_interval: 30s}}
  search:
    url: https://mcp.example.com/mcp
    auth: {type: bearer, secret: env:SEARCH_TOKEN}
`

const pinned = `pin: sha256:8a1f0c0f6f1c7a54f2a9a4fb6b0e0c6f5d1c1b8f3f7e2d9c4b5a697887766554`

// inFolder writes files into a new folder and returns it.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func decodeIn(dir, name, text string) (Spec, error) {
	specs, err := Decode(filepath.Join(dir, name), []byte(text), Options{})
	if err != nil {
		return Spec{}, err
	}
	return specs[0], nil
}

// A toolspec that names a server has its connection, and its defaults where it declares nothing.
func TestDecode_FillsInTheNamedServer(t *testing.T) {
	dir := inFolder(t, map[string]string{"servers.yaml": someServers})
	for _, name := range []string{"read.yaml", "below/read.yaml"} {
		s, err := decodeIn(dir, name, `
name: read
version: 1.0.0
description: Reads.
input_schema: {type: object, properties: {path: {type: string, default: "."}}}
entry: {type: mcp, server: files, tool: read_file, `+pinned+`}
tags: []
execution: {effect: read, timeout: 9s, retry: {max_attempts: 2}}
`)
		if err != nil {
			t.Fatal(err)
		}
		e, x := s.Entry.Kind.(MCPEntry), s.Execution
		if e.Server != "files" || strings.Join(e.Argv, " ") != "npx -y server-files notes" ||
			e.Tool != "read_file" || e.SetEnv["MODE"] != "quiet" ||
			e.Secrets["FILES_TOKEN"] != "env:FILES_TOKEN" || e.AnswerWithin.String() != "1h0m0s" {
			t.Errorf("the entry is %+v", e)
		}
		if s.Category != "file" || len(s.Tags) != 0 || len(s.Emits) != 1 ||
			x.Access != api.AccessExclusive || x.Effect != api.EffectRead ||
			x.Timeout.String() != "9s" || x.Retry.MaxAttempts != 2 ||
			x.Retry.MaxInterval.String() != "30s" {
			t.Errorf("got %+v, %+v", s, x)
		}
		compiled, err := s.Compile()
		if err != nil {
			t.Fatal(err)
		}
		again, err := FromTool(compiled.Tool())
		if err != nil || again.Digest != compiled.Digest {
			t.Errorf("the pinned tool is not read again: %v", err)
		}
		if args, _, _ := compiled.Arguments("{}", ""); string(args) != "{}" {
			t.Errorf("the server's default is sent: %s", args)
		}
	}
}

// The tools of a server share its decoded file until the file changes.
func TestServersCache_DecodesAFileOnce(t *testing.T) {
	var c ServersCache
	first, _ := c.decode("servers.yaml", []byte(someServers))
	again, _ := c.decode("servers.yaml", []byte(someServers))
	if len(first) == 0 || reflect.ValueOf(first).Pointer() != reflect.ValueOf(again).Pointer() {
		t.Errorf("the file was decoded again: %v, %v", first, again)
	}
	if _, faults := c.decode("other/servers.yaml", []byte("servers: 1")); len(faults) == 0 {
		t.Error("the faults of another file are missing")
	}
	for range 2 {
		if _, faults := c.decode("servers.yaml", []byte("servers: 1")); len(faults) == 0 {
			t.Error("the changed file has no faults")
		}
	}
}

// Faults of servers and of references to them name the file, the server and the remedy.
func TestDecode_ReportsFaultsOfNamedServers(t *testing.T) {
	dir := inFolder(t, map[string]string{"servers.yaml": someServers,
		"faulty/servers.yaml": "servers: {files: {argv: [a], url: 'https://example.com'}}",
		"none/deep/x":         ""})
	spec := func(entry string) string {
		return "name: read\nversion: 1.0.0\ndescription: Reads.\nentry: {type: mcp, " + entry +
			pinned + "}\n"
	}
	for _, test := range []struct{ file, entry, want string }{
		{"read.yaml", "server: filse, ", ":4:28: DIR/servers.yaml" +
			` declares no server "filse" (did you mean "files"?)`},
		{"read.yaml", "server: files, argv: [b], ",
			`:4:35: argv is declared by the server "files" (remove it here, or remove server)`},
		{"faulty/read.yaml", "server: files, ",
			":4:28: the servers file DIR/faulty/servers.yaml has faults, first: DIR/faulty/servers.yaml:1:30: a tool has either argv or url, not both (keep one of them) (correct them there)"},
		{"none/deep/read.yaml", "server: files, ",
			":4:28: there is no file of servers: neither DIR/none/deep/servers.yaml nor DIR/none/servers.yaml (declare the server there: servers: {files: {argv: […]}})"},
	} {
		_, err := decodeIn(dir, test.file, spec(test.entry))
		faults, ok := errors.AsType[Faults](err)
		want := filepath.Join(dir, test.file) + strings.ReplaceAll(test.want, "DIR", dir)
		if !ok || faults.Error() != want {
			t.Errorf("%s: got %v, not %s", test.entry, err, want)
		}
	}
	_, err := CheckServers("servers.yaml", []byte(`
servers:
  a b: {argv: [x]}
  both: {argv: [x], url: "https://example.com"}
  pinned: {argv: [x], tool: y, pin: z}
  secret: {argv: [x], set_env: {API_KEY: abc}}
  other: {argv: [x], handler: y, typ: mcp}
  late: {url: "https://example.com", tools: {execution: {lane: l, effct: read}}}
`))
	want := `servers.yaml:3:3: "a b" cannot name a server (use letters, digits, _, - and .)
servers.yaml:4:21: a tool has either argv or url, not both (keep one of them)
servers.yaml:5:23: tool is a field of a tool, not of its server (write it in the toolspec)
servers.yaml:5:32: pin is a field of a tool, not of its server (write it in the toolspec)
servers.yaml:6:33: the value of API_KEY looks secret; a toolspec refers to secrets by name ` +
		`(write secrets: {API_KEY: env:API_KEY})
servers.yaml:7:22: handler is for the kind function or stateful, not for mcp (remove it, ` +
		`or change the type)
servers.yaml:7:34: unknown field "typ" (did you mean "type"?)
servers.yaml:8:67: unknown field "effct" (did you mean "effect"?)`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}

// A server that changes something and is shared by all runs gives one warning.
func TestWarnings_NamesSharedServersThatSeemToKeepState(t *testing.T) {
	tool := func(remote, session, program string, effect api.Effect) Located {
		return Located{File: "tools/" + remote + ".yaml", Line: 1, Column: 7, Spec: Spec{
			Name: remote, Entry: Entry{Kind: MCPEntry{Tool: remote, Session: session,
				Argv: []string{program}}}, Execution: ExecutionSpec{Effect: effect}}}
	}
	warnings := Warnings([]Located{
		tool("read_graph", "shared", "memory", api.EffectOnce),
		tool("create_entities", "shared", "memory", api.EffectOnce),
		tool("deleteEntities", "shared", "memory", api.EffectOnce),
		tool("create_entities", "run", "other", api.EffectOnce),
		tool("create_report", "shared", "reports", api.EffectRead),
		tool("get_settings", "shared", "settings", api.EffectOnce),
	})
	if len(warnings) != 1 || warnings[0].File != "tools/create_entities.yaml" ||
		warnings[0].Message != "the server seems to keep state, as its tool create_entities changes something, but session: shared lets all runs share it" {
		t.Errorf("got %v", warnings)
	}
}

func TestWarnings_NameUndoToolsWhoseApprovalIsSkipped(t *testing.T) {
	tool := func(name, undo string, approval *Approval) Located {
		l := Located{File: name + ".yaml", Line: 1, Column: 1, Spec: Spec{Name: name,
			Approval: approval}}
		if undo != "" {
			l.Spec.Undo = &api.Undo{Tool: undo}
		}
		return l
	}
	got := Warnings([]Located{tool("book", "cancel", nil), tool("rent", "release", nil),
		tool("pay", "refund", &Approval{When: approvalAlways}), tool("release", "", nil),
		tool("cancel", "", &Approval{When: "args.amount > 10"}),
		tool("refund", "", &Approval{When: approvalNever})})
	want := []string{"book.yaml:1:1: calls of cancel need approval, but not those that undo " +
		"calls of book (name another tool in undo if these calls need approval too)"}
	var texts []string
	for _, w := range got {
		texts = append(texts, w.String())
	}
	if !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

func TestWarnings_OfNamesThatGatewaysHaveThemselves(t *testing.T) {
	got := Warnings([]Located{{File: "a.yaml", Spec: Spec{Name: "get_result"}},
		{File: "b.yaml", Spec: Spec{Name: "get_results"}}})
	want := "a.yaml: starter gateway does not offer get_result: it has a tool of that name " +
		"(choose another name if MCP clients are to call the tool)"
	if len(got) != 1 || got[0].String() != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
