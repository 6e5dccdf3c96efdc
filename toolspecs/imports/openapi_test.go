package imports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/golden"
	"github.com/switchyard/switchyard/toolspecs"
)

// synthetic returns a document with n operations. Each shares schemas with others; some schemas
// nest and contain themselves.
func synthetic(operations int) []byte {
	schemas, paths := map[string]any{}, map[string]any{}
	for i := range operations / 2 {
		properties := map[string]any{"self": map[string]any{"$ref": fmt.Sprintf(
			"#/components/schemas/S%d", i)}}
		for j := range 12 {
			properties[fmt.Sprintf("p%d", j)] = map[string]any{"type": "string",
				"description": strings.Repeat("A property of it. ", 4), "maxLength": 100,
				"default": "x"}
		}
		if i%4 > 0 {
			properties["inner"] = map[string]any{"allOf": []any{map[string]any{"$ref": fmt.Sprintf(
				"#/components/schemas/S%d", i-1)}}, "nullable": true}
		}
		schemas[fmt.Sprintf("S%d", i)] = map[string]any{"type": "object",
			"required": []string{"p0"}, "properties": properties}
		ref := map[string]any{"$ref": fmt.Sprintf("#/components/schemas/S%d", i)}
		answer := map[string]any{"200": map[string]any{"description": "ok",
			"content": map[string]any{"application/json": map[string]any{"schema": ref}}}}
		id := map[string]any{"name": "id", "in": "path", "required": true,
			"schema": map[string]any{"type": "integer"}}
		paths[fmt.Sprintf("/things%d/{id}", i)] = map[string]any{
			"parameters": []any{id},
			"get": map[string]any{"operationId": fmt.Sprintf("get-thing.%d", i),
				"tags": []string{fmt.Sprintf("tag%d", i%10)}, "responses": answer},
			"post": map[string]any{"operationId": fmt.Sprintf("make-thing.%d", i),
				"summary": "Makes a thing.", "responses": answer,
				"requestBody": map[string]any{"required": true,
					"content": map[string]any{"application/json": map[string]any{"schema": ref}}}},
		}
	}
	data, err := json.Marshal(map[string]any{"openapi": "3.0.3",
		"info":    map[string]any{"title": "Synthetic", "version": "1.0.0"},
		"servers": []any{map[string]any{"url": "https://api.example.com"}}, "paths": paths,
		"components": map[string]any{"schemas": schemas}})
	if err != nil {
		panic(err)
	}
	return data
}

// Each operation has a unique name. The files lint clean, and a second import writes the same
// bytes.
func TestOpenAPI_ImportsAThousandOperations(t *testing.T) {
	data := synthetic(1000)
	first, err := OpenAPI("f.json", data, Options{})
	if err != nil || len(first.Tools) != 1000 || len(first.Refused) > 0 {
		t.Fatalf("%d tools, refused %v, %v", len(first.Tools), first.Refused, err)
	}
	second, err := OpenAPI("f.json", data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for i, tool := range first.Tools {
		one, err := first.YAML(tool)
		if err != nil {
			t.Fatal(err)
		}
		two, err := second.YAML(second.Tools[i])
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%s: another import writes something else (%v)", tool.Source, err)
		}
		names[strings.ToLower(tool.Spec.Name)] = true
		if i%50 == 0 {
			checkWritten(t, tool, one)
		}
	}
	if len(names) != 1000 {
		t.Errorf("only %d names", len(names))
	}
}

// Each way to select operations works.
func TestOpenAPI_NamesDoNotDependOnTheSelection(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "names.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	pets := cases.Bytes(t, "openapi/petstore.yaml")
	for _, tt := range []struct {
		data       []byte
		only, want string
	}{
		{data, "/a", "meta_root_f302df meta_root META_ROOT_2b9647"},
		{data, "meta/*", "meta_root_f302df"},
		{data, "*_2b9647 same", "META_ROOT_2b9647 same same_fe36d1"},
		{pets, "store", "getInventory placeOrder getOrderById deleteOrder"},
		{pets, "/store/order/**", "placeOrder getOrderById deleteOrder"},
		{pets, "/pet/find*", "findPetsByStatus findPetsByTags"},
		{pets, "/user/log* getInventory", "getInventory loginUser logoutUser"},
	} {
		r, err := OpenAPI("f.yaml", tt.data, Options{Only: strings.Fields(tt.only)})
		var names []string
		for _, tool := range r.Tools {
			names = append(names, tool.Spec.Name)
		}
		if got := strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("%s: got %s, %v", tt.only, got, err)
		}
	}
	_, err = OpenAPI("f.yaml", pets, Options{Only: []string{"pett"}})
	if err == nil || err.Error() !=
		`f.yaml: none is selected; the document has 19 operations (did you mean "pet"?)` {
		t.Errorf("got %v", err)
	}
}

// A given server and security replace those of the document in every tool.
func TestOpenAPI_UsesTheGivenServerAndAuth(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "access.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	auth := &outbound.Auth{Type: "bearer", Secret: "env:TOKEN"}
	r, err := OpenAPI("f.yaml", data, Options{BaseURL: "https://staging.example.com", Auth: auth})
	if err != nil || len(r.Refused) > 0 || len(r.Tools) != 15 {
		t.Fatalf("%d tools, %v, %v", len(r.Tools), r.Refused, err)
	}
	for _, tool := range r.Tools {
		if e := tool.Spec.Entry.Kind.(toolspecs.RESTEntry); e.BaseURL != "https://staging.example.com" || e.Auth != auth {
			t.Errorf("%s: %+v", tool.Source, e)
		}
	}
	if notes := r.Tools[0].Notes; !slices.ContainsFunc(notes,
		func(n string) bool { return strings.Contains(n, "the given base URL replaces it") }) {
		t.Errorf("notes %v", notes)
	}
}

// The test runs if SWITCHYARD_OPENAPI names a folder of documents. Every operation becomes a tool
// or is refused with a reason, and every written file lints clean.
func TestOpenAPI_ImportsRealDocuments(t *testing.T) {
	dir := os.Getenv("SWITCHYARD_OPENAPI")
	if dir == "" {
		t.Skip("SWITCHYARD_OPENAPI is not set: it names a folder of OpenAPI documents")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenAPI(file, data, Options{})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		notes := 0
		for _, tool := range r.Tools {
			notes += len(tool.Notes)
			written, err := r.YAML(tool)
			if err != nil {
				t.Fatal(err)
			}
			checkWritten(t, tool, written)
		}
		operations := countOperations(t, data)
		t.Logf("%s: %d operations, %d tools with %d notes", filepath.Base(file), operations,
			len(r.Tools), notes)
		for _, refused := range r.Refused {
			t.Logf("  refused %s: %s", refused.Source, refused.Reason)
		}
		if len(r.Tools)+len(r.Refused) != operations {
			t.Errorf("%s: %d tools and %d refused of %d operations", file, len(r.Tools),
				len(r.Refused), operations)
		}
	}
}

// countOperations counts the operations of a document without using this package.
func countOperations(t *testing.T, data []byte) int {
	t.Helper()
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Skipf("this test counts operations of JSON documents alone: %v", err)
	}
	n := 0
	for _, item := range doc.Paths {
		for key := range item {
			if slices.Contains([]string{"get", "put", "post", "delete", "options", "head", "patch",
				"trace"}, key) {
				n++
			}
		}
	}
	return n
}

// Any text at any place of a document stays unchanged if it is a value, and written files decode to
// the same spec.
func TestOpenAPI_KeepsAnyText(t *testing.T) {
	for _, text := range cases.NaughtyStrings(t) {
		o := jsontext.NewObject()
		o.Set(keyType, typeString)
		o.Set(keyDescription, text)
		o.Set(keyEnum, []any{text, "x"})
		o.Set(keyDefault, text)
		properties := jsontext.NewObject()
		properties.Set("a", o)
		properties.Set(text, o)
		schema := jsontext.NewObject()
		schema.Set(keyType, typeObject)
		schema.Set(keyProperties, properties)
		s := toolspecs.Spec{Name: "naughty", Version: "1.0.0", Description: "It says: " + text,
			Category: "custom", InputSchema: encoded(schema),
			Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{}}}
		tool := Tool{Spec: s, Source: text, Notes: []string{text}}
		data, err := Result{Title: text, Source: text}.YAML(tool)
		if err != nil {
			t.Fatal(err)
		}
		checkWritten(t, tool, data)
		document := fmt.Sprintf(`{"openapi": "3.0.0", "servers": [{"url": "https://a.example.com"}], "paths": {"/a": {"post": {"operationId": %[1]s, "summary": %[1]s,
			"description": %[1]s, "tags": [%[1]s], "parameters": [{"name": %[1]s, "in": "query", "schema": {"type": "string", "default": %[1]s, "enum": [%[1]s]}}],
			"requestBody": {"content": {"application/json": {"schema": {"type": "object", "properties": {%[1]s: {"pattern": %[1]s}}}}}}}}}}`, encoded(text))
		r, err := OpenAPI("f.json", []byte(document), Options{})
		if err == nil {
			written(t, r, nil)
		}
	}
}

// FuzzImports passes any bytes to every importer: they return tools that compile, and faults, and
// never panic or hang.
func FuzzImports(f *testing.F) {
	golden.Seed(f, filepath.Join("testdata", "*.*"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func() (Result, error){
			func() (Result, error) { return OpenAPI("f.yaml", data, Options{}) },
			func() (Result, error) { return Functions("f.yaml", data, nil) },
			func() (Result, error) { return Registry("f.toml", data, nil, serve) },
		} {
			r, err := read()
			if err != nil {
				continue
			}
			written(t, r, nil)
		}
	})
}

// Servers are relative to the address that the document was read from, as OpenAPI says.
func TestOpenAPI_ResolvesServersAgainstTheDocument(t *testing.T) {
	const operation = `paths: {/p: {get: {operationId: p, responses: {200: {description: x}}}}}`
	for _, tt := range []struct{ servers, want string }{
		{"", "https://api.example.com:8443/"},
		{"servers: [{url: /api/v3}]\n", "https://api.example.com:8443/api/v3"},
		{"servers: [{url: v3}]\n", "https://api.example.com:8443/docs/v3"},
		{"servers: [{url: //other.example.com/v3}]\n", "https://other.example.com/v3"},
		{"servers: [{url: https://other.example.com}]\n", "https://other.example.com"},
		{"servers: [{url: '/v3?tenant=7'}]\n", "has a query or a fragment"},
	} {
		r, err := OpenAPI("https://api.example.com:8443/docs/openapi.yaml?x=1", []byte("openapi: 3.0.0\n"+
			"info: {title: T, version: '1'}\n"+tt.servers+operation), Options{})
		if text := written(t, r, err); !strings.Contains(text, tt.want) {
			t.Errorf("%s: want %s in\n%s", tt.servers, tt.want, text)
		}
	}
}
