package rest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/cases"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/folder"
	"github.com/switchyard/switchyard/toolspecs/imports"
)

// apiServer starts a program that serves an API on a free port and returns its address. PORT in the
// arguments is replaced by the port.
func apiServer(t *testing.T, program string, args ...string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
	_ = listener.Close()
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PORT", port)
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	address := "http://127.0.0.1:" + port
	// Large documents take some time.
	tick, deadline := time.NewTicker(20*time.Millisecond), time.After(2*time.Minute)
	defer tick.Stop()
	for {
		resp, err := http.Get(address)
		if err == nil {
			_ = resp.Body.Close()
			return address
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s does not listen: %v", filepath.Base(program), err)
		}
	}
}

// importedTools imports a document for a local server, writes the files, and reads them as a worker
// does.
func importedTools(t *testing.T, file string, data []byte,
	o imports.Options) []*toolspecs.Compiled {
	t.Helper()
	o.Allow = []string{"127.0.0.1"}
	r, err := imports.OpenAPI(file, data, o)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, tool := range r.Tools {
		written, err := r.YAML(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, imports.File(tool.Spec)), written,
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	catalog, err := folder.Load(dir, toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(catalog.All()) != len(r.Tools) {
		t.Errorf("%d tools were imported and %d read", len(r.Tools), len(catalog.All()))
	}
	return catalog.All()
}

// sampler creates arguments that fit a schema.
type sampler struct {
	// root is the schema that references are resolved in.
	root map[string]any
	// all includes optional values, except those in without.
	all     bool
	without []string
}

func (s sampler) value(schema map[string]any, depth int) any {
	if ref, ok := schema["$ref"].(string); ok {
		return s.value(s.definition(ref), depth)
	}
	if values, ok := schema["enum"].([]any); ok {
		return values[0]
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if forms, ok := schema[key].([]any); ok {
			form, _ := forms[0].(map[string]any)
			return s.value(form, depth)
		}
	}
	kind, _ := schema["type"].(string)
	if kinds, ok := schema["type"].([]any); ok {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "object":
		return s.object(schema, depth)
	case "array":
		items, _ := schema["items"].(map[string]any)
		list := []any{s.value(items, depth+1)}
		for len(list) < int(numberAt(schema, "minItems")) {
			list = append(list, list[0])
		}
		return list
	case "integer", "number":
		return max(1, numberAt(schema, "minimum"), numberAt(schema, "exclusiveMinimum")+1)
	case "boolean":
		return true
	}
	return sampleText(schema)
}

func (s sampler) definition(ref string) map[string]any {
	defs, _ := s.root["$defs"].(map[string]any)
	schema, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	return schema
}

func numberAt(schema map[string]any, key string) float64 {
	n, _ := schema[key].(float64)
	return n
}

func sampleText(schema map[string]any) string {
	switch schema["format"] {
	case "date-time":
		return "2026-01-02T03:04:05Z"
	case "date":
		return "2026-01-02"
	case "uri":
		return "https://example.com/x"
	}
	short := "x1"
	if pattern, _ := schema["pattern"].(string); strings.Contains(pattern, "[0-9a-f]") {
		short = strings.Repeat("a", 40)
	}
	if most, ok := schema["maxLength"].(float64); ok && most < 2 {
		return short[:int(most)]
	}
	return short + strings.Repeat("x", max(0, int(numberAt(schema, "minLength"))-len(short)))
}

func (s sampler) object(schema map[string]any, depth int) map[string]any {
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	o := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		if slices.Contains(required, any(name)) || s.all && depth < 3 && !slices.Contains(s.without,
			name) {
			o[name] = s.value(property, depth+1)
		}
	}
	if len(o) == 0 && depth > 0 {
		s.something(o, schema, properties, depth)
	}
	return o
}

// something adds an optional member to an object, because forms cannot have empty objects.
func (s sampler) something(o, schema, properties map[string]any, depth int) {
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		property, _ := properties[name].(map[string]any)
		o[name] = s.value(property, depth+1)
		return
	}
	if _, closed := schema["properties"]; !closed {
		more, _ := schema["additionalProperties"].(map[string]any)
		o["key"] = s.value(more, depth+1)
	}
}

// arguments returns arguments for a tool, validated and completed by its schema, and the problems
// of the sample.
func (s sampler) arguments(t *testing.T, tool *toolspecs.Compiled) (string, []api.Problem) {
	t.Helper()
	var schema map[string]any
	if err := json.Unmarshal(tool.InputSchema(), &schema); err != nil {
		t.Fatal(err)
	}
	s.root = schema
	given, err := json.Marshal(s.object(schema, 0))
	if err != nil {
		t.Fatal(err)
	}
	args, _, problems := tool.Arguments(string(given), "")
	return string(args), problems
}

// fitting returns arguments for tools that samples fit.
func (s sampler) fitting(t *testing.T, tool *toolspecs.Compiled) string {
	t.Helper()
	args, problems := s.arguments(t, tool)
	if len(problems) > 0 {
		t.Errorf("%s: the sample does not fit: %v", tool.Spec.Name, problems)
	}
	return args
}

// Every tool of Stripe's document is called against Stripe's mock, which checks each request
// against the document: once with the required arguments, once with all.
func TestImportedStripe_PassesStripesMock(t *testing.T) {
	program, dir := os.Getenv("SWITCHYARD_STRIPE_MOCK"), os.Getenv("SWITCHYARD_OPENAPI")
	if program == "" || dir == "" {
		t.Skip("SWITCHYARD_STRIPE_MOCK or SWITCHYARD_OPENAPI is not set: the program stripe-mock, and a folder with stripe.json")
	}
	data, err := os.ReadFile(filepath.Join(dir, "stripe.json"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("STRIPE_API_BEARER_AUTH", "sk_test_123")
	base := apiServer(t, program, "-http-addr", "127.0.0.1:PORT")
	tools := importedTools(t, "stripe.json", data, imports.Options{BaseURL: base})
	for _, all := range []bool{false, true} {
		refused := 0
		for _, tool := range tools {
			// The mock knows which fields can be expanded, and a sample does not.
			args := sampler{all: all, without: []string{"expand"}}.fitting(t, tool)
			answer, err := call(t, &tool.Spec, args)
			if err != nil {
				refused++
				t.Errorf("%s, all arguments %t: %v\n%s", tool.Spec.Name, all, err, args)
				continue
			}
			if problems := tool.CheckOutput(answer.Output); len(problems) > 0 {
				t.Logf("%s answers otherwise than it declares: %v", tool.Spec.Name, problems[0])
			}
		}
		t.Logf("all arguments %t: %d of %d calls were taken", all, len(tools)-refused, len(tools))
	}
}

// Every tool of two documents is called against Prism, which serves any document and checks each
// request: a small real document, and one with every place and style of parameter.
func TestImportedOnPrism_PassesItsChecks(t *testing.T) {
	prism := testserver.NPM(t, "prism")
	for variable, secret := range map[string]string{"SWAGGER_PETSTORE_PETSTORE_AUTH": "secret",
		"SWAGGER_PETSTORE_API_KEY": "secret", "STYLES_KEY": "secret", "STYLES_BASIC": "user:secret"} {
		t.Setenv(variable, secret)
	}
	styles, err := os.ReadFile(filepath.Join("testdata", "styles.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"petstore.yaml": cases.Bytes(t,
		"openapi/petstore.yaml"), "styles.yaml": styles} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), name)
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			base := apiServer(t, prism, "mock", "--errors", "-h", "127.0.0.1", "-p", "PORT", file)
			for _, tool := range importedTools(t, name, data, imports.Options{BaseURL: base}) {
				for _, all := range []bool{false, true} {
					args := sampler{all: all}.fitting(t, tool)
					answer, err := call(t, &tool.Spec, args)
					if err != nil {
						t.Errorf("%s %s: %v", tool.Spec.Name, args, err)
						continue
					}
					if problems := tool.CheckOutput(answer.Output); len(problems) > 0 {
						t.Errorf("%s answers otherwise than it declares: %v\n%s", tool.Spec.Name,
							problems, answer.Output)
					}
				}
			}
		})
	}
}

// Every tool of GitHub's document is called against Prism without a fault. Calls whose arguments
// have patterns that no sample fits are omitted and counted.
func TestImportedGitHub_PassesPrism(t *testing.T) {
	prism, dir := testserver.NPM(t, "prism"), os.Getenv("SWITCHYARD_OPENAPI")
	if dir == "" {
		t.Skip("SWITCHYARD_OPENAPI is not set: it names a folder with github.json")
	}
	file := filepath.Join(dir, "github.json")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	base := apiServer(t, prism, "mock", "-h", "127.0.0.1", "-p", "PORT", file)
	called, left := 0, 0
	for _, tool := range importedTools(t, "github.json", data, imports.Options{BaseURL: base}) {
		for _, all := range []bool{false, true} {
			args, problems := sampler{all: all}.arguments(t, tool)
			if len(problems) > 0 {
				left++
				continue
			}
			called++
			_, err := call(t, &tool.Spec, args)
			// Prism reads a number in a path as two of its possible forms.
			if err != nil && strings.Contains(err.Error(), "Your request is not valid") &&
				!strings.Contains(err.Error(), `"location":["path"`) {
				t.Errorf("%s %s: %v", tool.Spec.Name, args, err)
			}
		}
	}
	t.Logf("%d calls, %d left out", called, left)
	if left > called/20 {
		t.Errorf("%d of %d calls were left out", left, called)
	}
}

// This shows that the test above can fail.
func TestPrism_RefusesWrongRequests(t *testing.T) {
	prism := testserver.NPM(t, "prism")
	data := cases.Bytes(t, "openapi/petstore.yaml")
	file := filepath.Join(t.TempDir(), "petstore.yaml")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SWAGGER_PETSTORE_PETSTORE_AUTH", "secret")
	base := apiServer(t, prism, "mock", "--errors", "-h", "127.0.0.1", "-p", "PORT", file)
	for _, tool := range importedTools(t, "petstore.yaml", data, imports.Options{BaseURL: base,
		Only: []string{"addPet"}}) {
		_, err := call(t, &tool.Spec, `{"name": "x"}`)
		if err == nil || !strings.Contains(err.Error(), "422") {
			t.Errorf("got %v", err)
		}
	}
}
