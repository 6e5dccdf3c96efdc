package imports

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// importedFile returns the file of a tool of an MCP server whose description is text.
func importedFile(t *testing.T, server, text string, o Overrides) string {
	t.Helper()
	entry := toolspecs.MCPEntry{Argv: []string{server}}
	r := MCP(entry, []mcpclient.Tool{{Name: "read", Description: text,
		InputSchema: []byte(`{"type":"object"}`)}}, MCPOptions{})
	r.Override(o, nil)
	data, err := YAML("", r.Tools[0], o.Explicit())
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestMerge_KeepsWhatPeopleWrote(t *testing.T) {
	first := importedFile(t, "files", "Reads.", Overrides{})
	next := importedFile(t, "files", "Reads a file.", Overrides{})
	for _, test := range []struct {
		name, old, new string
		o              Overrides
		has, not       []string
		kept           string
		foreign, same  bool
	}{
		{name: "nothing changed", old: first, new: first, same: true},
		{name: "the source changed", old: first, new: next, has: []string{"Reads a file."}},
		{name: "fields were added", new: next, old: first + "emits: [untrusted]\napproval: always\n",
			has: []string{"Reads a file.", "emits: [untrusted]", "approval: always"}},
		{name: "a field was changed", old: strings.Replace(first, "Reads.", "Reads text.", 1),
			new: next, has: []string{"Reads text."}, not: []string{"Reads a file."},
			kept: "description"},
		{name: "a field was changed and the source was not", new: first,
			old:  strings.Replace(first, "Reads.", "Reads text.", 1),
			has:  []string{"Reads text."},
			same: true},
		{name: "a field was removed", new: first, same: true,
			old: strings.Replace(first, "input_schema: {type: object}\n", "", 1)},
		{name: "a comment was added", new: next, has: []string{"# Slow.", "Reads a file."},
			old: strings.Replace(first, "entry:", "# Slow.\nentry:", 1)},
		{name: "a flag takes precedence", new: importedFile(t, "files", "Reads.",
			Overrides{Effect: "read"}), o: Overrides{Effect: "read"},
			old: first + "execution: {effect: idempotent, lane: serial}\n",
			has: []string{"effect: read", "lane: serial"}, not: []string{"idempotent"}},
		{name: "a flag of an earlier import stays", new: next, has: []string{"effect: read"},
			old: importedFile(t, "files", "Reads.", Overrides{Effect: "read"})},
		{name: "another source", new: importedFile(t, "others", "Asks.", Overrides{}),
			old: first + "emits: [untrusted]\n", foreign: true,
			has: []string{"argv: [others]", "Asks.", "emits: [untrusted]"},
			not: []string{"argv: [files]"}},
		{name: "written by hand", new: next, foreign: true,
			old: "name: read\nversion: 2.0.0\ndescription: Mine.\nentry: {type: mcp, url: 'https://" +
				"example.com', session: run}\nexecution: {lane: serial}\n",
			has: []string{"argv: [files]", "session: run", "lane: serial", "version: 1.0.0"},
			not: []string{"url:"}},
	} {
		m, err := Merge([]byte(test.old), []byte(test.new), test.o.Explicit())
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := string(m.Data)
		if m.Foreign != test.foreign || test.same != (got == test.old) ||
			strings.Join(m.Kept, " ") != test.kept {
			t.Errorf("%s: foreign %t, kept %v, got\n%s", test.name, m.Foreign, m.Kept, got)
		}
		for _, text := range test.has {
			if !strings.Contains(got, text) {
				t.Errorf("%s: no %q in\n%s", test.name, text, got)
			}
		}
		for _, text := range test.not {
			if strings.Contains(got, text) {
				t.Errorf("%s: %q in\n%s", test.name, text, got)
			}
		}
		if again, err := Merge(m.Data, []byte(test.new), test.o.Explicit()); err != nil ||
			string(again.Data) != got && !test.foreign {
			t.Errorf("%s: merging again gives\n%s, %v", test.name, again.Data, err)
		}
	}
}

func TestMCP_RefusesToolsThatCannotBeCalled(t *testing.T) {
	schema := []byte(`{"type":"object"}`)
	r := MCP(toolspecs.MCPEntry{Argv: []string{"server"}}, []mcpclient.Tool{
		{Name: "", InputSchema: schema},
		{Name: "twice", InputSchema: schema, Ambiguous: true},
		{Name: "long", InputSchema: schema, Description: strings.Repeat("long ", 400_000)},
		{Name: "echo", InputSchema: schema},
		{Name: "good", InputSchema: schema},
	}, MCPOptions{})
	r.Override(Overrides{}, nil)
	var reasons []string
	for _, refused := range r.Refused {
		reasons = append(reasons, refused.Source+": "+refused.Reason)
	}
	want := `tool 1 of the server: it has no name, so that it cannot be called
twice: the server lists different tools of this name; correct the server
long: the toolspec would be invalid: $.description: the description has 1999999 bytes, ` +
		`and models may be shown 32768 (write a shorter one)
echo: the worker provides a tool of the name echo; pass --prefix`
	if got := strings.Join(reasons, "\n"); got != want || len(r.Tools) != 1 {
		t.Errorf("got %d tools and\n%s\nwant\n%s", len(r.Tools), got, want)
	}
}

// Versions of a source are not compared. Files that people wrote are never of an import.
func TestEarlier_RecognizesTheSource(t *testing.T) {
	const record = "# Imported: AAAA (tells your changes from those of the source; keep this line)\n"
	for text, want := range map[string]bool{
		"# From GET /pets of Pets 1.0.0.\n" + record:     true,
		"# From GET /pets of Pets.\n" + record:           true,
		"# From GET /pets of Big Pets 1.0.0.\n" + record: false,
		"# From GET /pets of Petshop 1.0.0.\n" + record:  false,
		"# From GET /pets of Pets 1.0.0.\nname: pets\n":  false,
		"name: pets\n": false,
	} {
		if got := Earlier([]byte(text), "Pets 2.0.0"); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if Earlier([]byte("# From a.\n"+record), "") {
		t.Error("a source without a title has earlier files")
	}
}

func TestOverride_SetsTheHeartbeat(t *testing.T) {
	file := importedFile(t, "files", "Reads.", Overrides{Heartbeat: api.Duration(5 * time.Second)})
	if !strings.Contains(file, "heartbeat: 5s") {
		t.Errorf("the file is %s", file)
	}
}
