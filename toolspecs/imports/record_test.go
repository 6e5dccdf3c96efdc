package imports

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
)

// importedFile returns the file of a tool of an MCP server whose description is text.
func importedFile(t *testing.T, server, text string) string {
	t.Helper()
	entry := toolspecs.MCPEntry{Argv: []string{server}}
	r, err := MCP(server, entry, []mcpclient.Tool{{Name: "read", Description: text,
		InputSchema: []byte(`{"type":"object"}`)}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	data, err := r.YAML(r.Tools[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReadRecord_TellsEditedFilesFromImportedOnes(t *testing.T) {
	file := importedFile(t, "files", "Reads.")
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
		{"another version", importedFile(t, "files", "Writes."), true, false, false},
		{"written by people", "name: read\n", false, false, false},
		{"an unknown record", "# Imported: once\nname: read\n", false, false, false},
	} {
		record, imported := ReadRecord([]byte(test.file))
		if imported != test.imported || record.Edited != test.edited ||
			record.Same(first) != test.same || imported && record.Source != first.Source {
			t.Errorf("%s: %+v, imported %v", test.name, record, imported)
		}
	}
	other, _ := ReadRecord([]byte(importedFile(t, "others", "Reads.")))
	if other.Source == first.Source {
		t.Error("two servers are one source")
	}
}

// A command that changes a file leaves it as imported, unless people edited it before.
func TestRenew_KeepsWhetherPeopleEdited(t *testing.T) {
	file := importedFile(t, "files", "Reads.")
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

// Versions of a document are one source, whatever their titles end in. Untitled documents are not.
func TestRecord_TellsSourcesApart(t *testing.T) {
	record := func(title, version, file string) Record {
		r, err := OpenAPI("f.yaml", []byte(fmt.Sprintf(`{"openapi": "3.0.0", "info": {"title": %q,
			"version": %q}, "servers": [{"url": "https://example.com"}], "paths": {"/a": {"get": {}}}}`,
			title, version)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r.Source = cmp.Or(r.Source, file)
		data, err := r.YAML(r.Tools[0])
		if err != nil {
			t.Fatal(err)
		}
		found, _ := ReadRecord(data)
		return found
	}
	for _, tt := range []struct {
		name string
		a, b Record
		same bool
	}{
		{"two versions", record("Pets", "1.0.0", ""), record("Pets", "1.1 beta", ""), true},
		{"two titles", record("Pets", "1.0.0", ""), record("Big Pets", "1.0.0", ""), false},
		{"two titles that end in numbers", record("Area 51", "", ""), record("Area 52", "", ""), false},
		{"two files", record("", "1", "a.yaml"), record("", "1", "b.yaml"), false},
		{"one file", record("", "1", "a.yaml"), record("", "2", "a.yaml"), true},
		{"unknown", record("", "1", ""), record("", "1", ""), false},
	} {
		if got := tt.a.SameSource(tt.b); got != tt.same {
			t.Errorf("%s: same source is %v", tt.name, got)
		}
	}
}

// The reason names the host, so that its flag can be copied.
func TestAdmit_NamesTheHostToAllow(t *testing.T) {
	r, err := MCP("server", toolspecs.MCPEntry{URL: "http://localhost:3001/mcp"},
		[]mcpclient.Tool{{Name: "read", Description: "Reads."}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Admit("", nil)
	if len(r.Refused) != 1 || !strings.HasSuffix(r.Refused[0].Reason, "; pass --allow localhost") {
		t.Errorf("got %+v", r.Refused)
	}
}

func TestMCP_RefusesToolsThatCannotBeCalled(t *testing.T) {
	schema := []byte(`{"type":"object"}`)
	r, err := MCP("server", toolspecs.MCPEntry{Argv: []string{"server"}}, []mcpclient.Tool{
		{Name: "", InputSchema: schema},
		{Name: "twice", InputSchema: schema, Ambiguous: true},
		{Name: "long", InputSchema: schema, Description: strings.Repeat("long ", 400_000)},
		{Name: "echo", InputSchema: schema},
		{Name: "good", InputSchema: schema},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Admit("", nil)
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
