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
	data, err := YAML("", r.Tools[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadRecord_TellsEditedFilesFromImportedOnes(t *testing.T) {
	file := importedFile(t, "files", "Reads.", Overrides{})
	first, _ := ReadRecord([]byte(file))
	for _, test := range []struct {
		name, file             string
		imported, edited, same bool
	}{
		{"as imported", file, true, false, true},
		{"other line ends", strings.ReplaceAll(file, "\n", "\r\n"), true, false, true},
		{"a changed field", strings.Replace(file, "Reads.", "Writes.", 1), true, true, true},
		{"an added comment", file + "# Slow.\n", true, true, true},
		{"a note removed", strings.Replace(file, "# From read.\n", "", 1), true, true, true},
		{"another version", importedFile(t, "files", "Writes.", Overrides{}), true, false, false},
		{"written by people", "name: read\n", false, false, false},
		{"an unknown record", "# Imported: once\nname: read\n", false, false, false},
	} {
		record, imported := ReadRecord([]byte(test.file))
		if imported != test.imported || record.Edited != test.edited ||
			record.Same(first) != test.same || imported && record.Source != first.Source {
			t.Errorf("%s: %+v, imported %v", test.name, record, imported)
		}
	}
	other, _ := ReadRecord([]byte(importedFile(t, "others", "Reads.", Overrides{})))
	if other.Source == first.Source {
		t.Error("two servers are one source")
	}
}

// A command that changes a file leaves it as imported, unless people edited it before.
func TestRenew_KeepsWhetherPeopleEdited(t *testing.T) {
	file := importedFile(t, "files", "Reads.", Overrides{})
	for _, edited := range []bool{false, true} {
		before := file
		if edited {
			before += "# Slow.\n"
		}
		after := Renew([]byte(before), []byte(before+"emits: [untrusted]\n"))
		if record, imported := ReadRecord(after); !imported || record.Edited != edited {
			t.Errorf("edited %v: %+v\n%s", edited, record, after)
		}
	}
	if got := Renew([]byte("name: a\n"), []byte("name: b\n")); string(got) != "name: b\n" {
		t.Errorf("got %s", got)
	}
}

// Versions of a document are one source. A document without a title is of no known source.
func TestSourceDigest_IsThatOfTheDocument(t *testing.T) {
	digest := func(title string) string { return sourceDigest(title, toolspecs.Spec{}) }
	if digest("Pets 1.0.0") != digest("Pets 2.0.0") || digest("Pets") != digest("Pets v1") {
		t.Error("two versions are two sources")
	}
	if digest("Pets 1.0.0") == digest("Big Pets 1.0.0") || digest("") != "" {
		t.Error("two documents are one source")
	}
}

// With an effect that a person declares, the hints of the server are no news.
func TestMCP_NotesHintsOnlyWithoutAnEffect(t *testing.T) {
	for effect, want := range map[api.Effect]int{"": 1, api.EffectRead: 0} {
		r := MCP(toolspecs.MCPEntry{Argv: []string{"server"}}, []mcpclient.Tool{{Name: "read",
			Description: "Reads.", ReadOnly: true}}, MCPOptions{Effect: effect})
		if len(r.Tools) != 1 || len(r.Tools[0].Notes) != want {
			t.Errorf("%q: %+v", effect, r)
		}
	}
}

// The reason names the host, so that its flag can be copied.
func TestOverride_NamesTheHostToAllow(t *testing.T) {
	r := MCP(toolspecs.MCPEntry{URL: "http://localhost:3001/mcp"}, []mcpclient.Tool{{Name: "read",
		Description: "Reads."}}, MCPOptions{})
	r.Override(Overrides{}, nil)
	if len(r.Refused) != 1 || !strings.HasSuffix(r.Refused[0].Reason, "; pass --allow localhost") {
		t.Errorf("got %+v", r.Refused)
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

func TestOverride_SetsTheHeartbeat(t *testing.T) {
	file := importedFile(t, "files", "Reads.", Overrides{Heartbeat: api.Duration(5 * time.Second)})
	if !strings.Contains(file, "heartbeat: 5s") {
		t.Errorf("the file is %s", file)
	}
}
