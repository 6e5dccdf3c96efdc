package switchyard_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/switchyard/switchyard/api"

// room is one row of the import rule: what the packages of a folder may import besides themselves. A name allows the
// package and all below it.
type packageRule struct {
	folder string
	// ours are the rooms that may be imported; "." is the root, "*" is every room that may be imported at all.
	ours []string
	// others are packages of other modules; "*" is any.
	others []string
	// std are the packages of the standard library; "*" is any.
	std []string
}

var (
	anything = []string{"*"}
	// pure packages touch neither network nor files nor processes: the same input gives the same output.
	pure = []string{"bytes", "cmp", "encoding/base64", "encoding/binary", "encoding/json", "errors", "fmt", "maps", "regexp", "slices",
		"strconv", "strings", "time", "unicode", "unicode/utf8"}
	sdk  = "go.temporal.io/sdk/"
	apis = "go.temporal.io/api"
)

// rooms is the import rule. Reasons for each row stand in docs/architecture.md.
var packageRules = []packageRule{
	{folder: ".", std: slices.Concat(pure, []string{"compress/gzip", "context", "crypto/sha256", "hash", "hash/fnv", "io", "net/url"})},
	{folder: "toolspecs", ours: []string{"."}, std: anything,
		others: []string{"gopkg.in/yaml.v3", "github.com/santhosh-tekuri/jsonschema/v6", "github.com/jmespath-community/go-jmespath", "github.com/modelcontextprotocol/go-sdk", "golang.org/x/sys", "github.com/fsnotify/fsnotify", "cel.dev/cel-go",
			"github.com/pelletier/go-toml/v2", "golang.org/x/oauth2"}},
	{folder: "workflows", ours: []string{"."}, std: pure,
		others: []string{sdk + "workflow", sdk + "temporal", apis + "/enums"}},
	{folder: "activities", ours: []string{".", "toolspecs"}, std: anything,
		others: []string{sdk + "activity", sdk + "client", sdk + "converter", sdk + "temporal", apis, "github.com/modelcontextprotocol/go-sdk", "github.com/openai/openai-go/v3",
			"github.com/anthropics/anthropic-sdk-go", "github.com/tiktoken-go/tokenizer", "github.com/google/jsonschema-go", "golang.org/x/sys"}},
	{folder: "audit/columns", ours: []string{".", "audit"}, std: anything, others: []string{"github.com/parquet-go/parquet-go"}},
	{folder: "audit/pictures", ours: []string{".", "audit"}, std: anything, others: []string{sdk + "client"}},
	{folder: "audit/traces", ours: []string{".", "audit"}, std: anything, others: []string{"go.opentelemetry.io/proto/slim/otlp", "google.golang.org/protobuf", sdk + "client"}},
	{folder: "audit", ours: []string{"."}, std: anything,
		others: []string{apis, sdk + "client", sdk + "converter", "google.golang.org/protobuf"}},
	{folder: "payloads", ours: []string{".", "toolspecs"}, std: anything,
		others: []string{apis, sdk + "client", sdk + "converter", sdk + "temporal", "google.golang.org/grpc", "google.golang.org/protobuf", "github.com/klauspost/compress"}},
	{folder: "worker", ours: []string{".", "toolspecs", "workflows", "activities", "audit", "audit/traces", "payloads"}, std: anything,
		others: []string{"go.temporal.io", "github.com/prometheus/client_golang"}},
	{folder: "starter", ours: []string{".", "toolspecs", "audit", "audit/columns", "audit/pictures", "audit/traces", "payloads"}, std: anything,
		others: []string{apis, sdk + "client", sdk + "contrib/envconfig", sdk + "converter", sdk + "log", sdk + "temporal", "google.golang.org/grpc",
			"google.golang.org/protobuf", "github.com/spf13", "charm.land", "github.com/charmbracelet/x", "golang.org/x/term", "golang.org/x/sys", "go.opentelemetry.io/proto/slim/otlp"}},
	{folder: "internal", ours: []string{"."}, std: anything, others: anything},
	{folder: "bench", ours: anything, std: anything, others: anything},
	{folder: "examples", ours: anything, std: anything, others: anything},
	{folder: "devserver", std: anything, others: anything},
}

// within reports whether a package is one of the allowed or lies below one.
func within(pkg string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool { return a == "*" || pkg == a || strings.HasPrefix(pkg, a+"/") })
}

// roomOf returns the row that holds for a folder.
func packageRuleOf(folder string) (packageRule, bool) {
	i := slices.IndexFunc(packageRules, func(r packageRule) bool { return r.folder == folder || within(folder, []string{r.folder}) })
	if i < 0 {
		return packageRule{}, false
	}
	return packageRules[i], true
}

// fault says why a file of the room must not import pkg; empty if it may. Tests may use whatever they need, but not what
// nobody may.
func (r packageRule) fault(pkg string, test bool) string {
	if rest, ok := strings.CutPrefix(pkg+"/", module+"/"); ok {
		return r.faultOfOurs(path.Clean(rest), test)
	}
	if test {
		return ""
	}
	if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") {
		if !slices.Contains(r.std, "*") && !slices.Contains(r.std, pkg) {
			return "is not one of the standard library's packages listed for this room"
		}
		return ""
	}
	if !within(pkg, r.others) {
		return "is not one of the modules listed for this room"
	}
	return ""
}

func (r packageRule) faultOfOurs(folder string, test bool) string {
	target, known := packageRuleOf(folder)
	switch {
	case r.folder == "devserver":
		return "is ours, and devserver is a module of its own"
	case !known:
		return "is in no room"
	case target.folder == r.folder:
		return ""
	case target.folder == "devserver" || target.folder == "bench" || target.folder == "examples":
		return "is never imported"
	case target.folder == "starter":
		return "is a door: nobody imports it"
	case test:
		return ""
	case target.folder == "internal":
		return "is test support: only tests import it"
	case !slices.Contains(r.ours, "*") && !slices.Contains(r.ours, target.folder):
		return "is a room that this one must not know"
	}
	return ""
}

// importFaults returns what is wrong with the imports of one file.
func importFaults(name string, file *ast.File) []string {
	r, ok := packageRuleOf(path.Dir(name))
	if !ok {
		return []string{fmt.Sprintf("%s: the folder is in no room: add a row to the import rule", name)}
	}
	var faults []string
	for _, spec := range file.Imports {
		pkg, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", name, err)}
		}
		if why := r.fault(pkg, strings.HasSuffix(name, "_test.go")); why != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s, which %s (room %s)", name, pkg, why, r.folder))
		}
	}
	return faults
}

// TestImportRule proves that every file of the repository keeps to its room's row.
func TestImportRule(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range goFiles(t) {
		for _, fault := range importFaults(f.name, f.parse(t)) {
			t.Error(fault)
		}
		r, _ := packageRuleOf(path.Dir(f.name))
		seen[r.folder] = true
	}
	for _, r := range []string{".", "toolspecs", "workflows", "activities", "audit", "payloads", "worker", "starter", "devserver"} {
		if !seen[r] {
			t.Errorf("no file of room %s was looked at", r)
		}
	}
}

// TestImportRuleCatches proves that the rule can fail: each of these files breaks it, or comes as close as is allowed.
func TestImportRuleCatches(t *testing.T) {
	tests := []struct {
		file, pkg string
		allowed   bool
	}{
		{"call.go", "strings", true},
		{"call.go", "os", false},
		{"call.go", "net/http", false},
		{"call.go", "encoding/xml", false},
		{"call.go", "gopkg.in/yaml.v3", false},
		{"call.go", module + "/toolspecs", false},
		{"call_test.go", "os", true},
		{"call_test.go", "pgregory.net/rapid", true},
		{"toolspecs/a.go", module, true},
		{"toolspecs/a.go", module + "/toolspecs/strictyaml", true},
		{"toolspecs/strictyaml/a.go", module + "/toolspecs/spelling", true},
		{"toolspecs/a.go", "go.temporal.io/sdk/client", false},
		{"toolspecs/a.go", module + "/workflows", false},
		{"workflows/a.go", module, true},
		{"workflows/a.go", "go.temporal.io/sdk/workflow", true},
		{"workflows/a.go", "go.temporal.io/api/enums/v1", true},
		{"workflows/a.go", "go.temporal.io/api/history/v1", false},
		{"workflows/a.go", "go.temporal.io/sdk/activity", false},
		{"workflows/a.go", "go.temporal.io/sdk/workflowx", false},
		{"workflows/a.go", "math/rand", false},
		{"workflows/a.go", "context", false},
		{"workflows/a.go", "sync", false},
		{"workflows/a.go", module + "/toolspecs", false},
		{"workflows/a_test.go", module + "/internal/e2e", true},
		{"activities/a.go", module + "/toolspecs", true},
		{"activities/a.go", module + "/workflows", false},
		{"activities/a.go", module + "/audit", false},
		{"activities/a.go", "github.com/spf13/cobra", false},
		{"audit/a.go", "go.temporal.io/api/history/v1", true},
		{"audit/a.go", module + "/activities", false},
		{"audit/a_test.go", module + "/activities", true},
		{"audit/a.go", module + "/audit/columns", false},
		{"audit/columns/a.go", module + "/audit", true},
		{"audit/a.go", "github.com/parquet-go/parquet-go", false},
		{"activities/a.go", module + "/payloads", false},
		{"payloads/a.go", module + "/toolspecs/strictyaml", true},
		{"payloads/a.go", module + "/audit", false},
		{"worker/host/a.go", module + "/activities", true},
		{"worker/host/a.go", "go.temporal.io/sdk/worker", true},
		{"worker/host/a.go", "github.com/spf13/cobra", false},
		{"worker/host/a.go", module + "/starter", false},
		{"worker/host/a_test.go", module + "/starter", false},
		{"worker/host/a.go", module + "/internal/e2e", false},
		{"starter/a.go", module + "/audit", true},
		{"starter/a.go", module + "/worker/host", false},
		{"starter/a.go", module + "/workflows", false},
		{"starter/a.go", "go.temporal.io/sdk/worker", false},
		{"devserver/a.go", "go.temporal.io/server/temporal", true},
		{"devserver/a.go", module, false},
		{"devserver/a_test.go", module + "/audit", false},
		{"worker/a.go", module + "/devserver", false},
		{"examples/librarian/a.go", module + "/worker/host", true},
		{"examples/librarian/a.go", module + "/internal/e2e", false},
		{"bench/a.go", module + "/examples/librarian", false},
		{"worker/a.go", module + "/nowhere", false},
		{"nowhere/a.go", "strings", false},
	}
	for _, tt := range tests {
		file, err := parser.ParseFile(token.NewFileSet(), tt.file, fmt.Sprintf("package p\n\nimport _ %q\n", tt.pkg), parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if faults := importFaults(tt.file, file); (len(faults) == 0) != tt.allowed {
			t.Errorf("%s importing %s: allowed should be %v, faults: %q", tt.file, tt.pkg, tt.allowed, faults)
		}
	}
}

// TestDevserverIsAModuleOfItsOwn proves that nobody who builds the main module downloads a Temporal server.
func TestDevserverIsAModuleOfItsOwn(t *testing.T) {
	if name := readText(t, "devserver/go.mod"); !strings.HasPrefix(name, "module "+module+"/devserver\n") {
		t.Errorf("devserver/go.mod begins with %.60q", name)
	}
	if strings.Contains(readText(t, "go.mod"), "go.temporal.io/server") {
		t.Error("the main module requires the Temporal server")
	}
}

// TestArchitectureNamesWhatIsThere proves that docs/architecture.md has every room of the import rule, and that every file
// which it sends readers to is where it says.
func TestArchitectureNamesWhatIsThere(t *testing.T) {
	document := readText(t, "docs/architecture.md")
	var named []string
	for _, r := range tableRows(document, "room", "what lives there", "imports of ours") {
		for _, folder := range quoted.FindAllStringSubmatch(r.cells[0], -1) {
			named = append(named, strings.TrimSuffix(folder[1], "/"))
		}
	}
	for _, r := range packageRules {
		if !slices.Contains(named, r.folder) {
			t.Errorf("the table of rooms has no row for %s", r.folder)
		}
	}
	places := tableRows(document, "what", "words", "decided by `workflows/`", "done by `activities/` and others", "seen through `audit/` and `starter/`")
	if len(places) < 20 {
		t.Fatalf("%d rows say where to find things", len(places))
	}
	for _, r := range places {
		for i, folder := range map[int]string{1: "", 2: "workflows", 3: "activities", 4: ""} {
			for _, name := range quoted.FindAllStringSubmatch(r.cells[i], -1) {
				place := name[1]
				if !strings.Contains(place, "/") {
					place = path.Join(folder, place)
				}
				if _, err := os.Stat(place); err != nil {
					t.Errorf("docs/architecture.md:%d: %v", r.line, err)
				}
			}
		}
	}
}
