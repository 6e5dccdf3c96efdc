package switchyard_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/switchyard/switchyard"

// packageRule is one row of the import rule: what the packages of a folder may import besides
// themselves. A name allows the package and all packages below it.
type packageRule struct {
	// folder may have * in place of a name.
	folder string
	// ours are folders of this repository; "." is the root, "*" is every folder that may be
	// imported at all.
	ours []string
	// others are packages of other modules; "*" is all of them.
	others []string
	// std are packages of the standard library; "*" is all of them.
	std []string
}

var (
	anything = []string{"*"}
	// pure packages use no network, files or processes: the same input gives the same output.
	pure = []string{"bytes", "cmp", "encoding/base64", "encoding/binary", "encoding/json", "errors",
		"fmt", "maps", "math/big", "regexp", "slices",
		"strconv", "strings", "time", "unicode", "unicode/utf8"}
	sdk  = "go.temporal.io/sdk/"
	apis = "go.temporal.io/api"
)

// packageRules is the import rule. docs/dev/architecture.md describes each row. The
// first row that matches applies.
var packageRules = []packageRule{
	{folder: ".", ours: []string{"api", "internal/core", "internal/value", "audit", "payloads", "toolspecs", "internal",
		"internal/connection", "internal/runstart"}, std: anything, others: []string{
		apis, sdk + "client", sdk + "log", sdk + "temporal", "google.golang.org/grpc/codes",
	}},
	{folder: "tool", ours: []string{"api", "internal/core"}, std: anything},
	{folder: "api", ours: []string{"internal/value"}, std: slices.Concat(pure, []string{
		"crypto/sha256", "sync", "sync/atomic",
	})},
	{folder: "toolspecs", ours: []string{"api", "internal/core", "internal/value", "internal"}, std: anything, others: []string{
		"cel.dev/cel-go", "github.com/modelcontextprotocol/go-sdk",
		"github.com/pelletier/go-toml/v2",
		"github.com/tailscale/hujson",
		"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/text", "gopkg.in/yaml.v3",
	}},
	{folder: "workflows", ours: []string{"api", "internal/core", "internal/value"}, std: append(slices.Clone(pure), "reflect"), others: []string{sdk + "workflow", sdk +
		"temporal", apis + "/enums"}},
	// A feature has its types in a folder below feature, and folders in that for its part in runs,
	// what it reads from the server, and its commands, as far as it has them.
	{folder: "feature/*/run", ours: []string{
		"api", "internal/core", "internal/value", "workflows", "feature/*",
	}, std: pure, others: []string{sdk + "workflow", sdk + "temporal"}},
	{folder: "feature/*/cmd", ours: []string{
		"api", "internal/core", "internal/value", "internal/runstart", "toolspecs", "workflows",
		"audit", "starter", "starter/replay", "feature", "feature/*", "feature/*/read",
		"feature/*/run",
	}, std: anything, others: []string{
		sdk + "client", sdk + "workflow", "github.com/spf13/cobra",
	}},
	{folder: "feature/*/read", ours: []string{
		"api", "internal/core", "internal/value", "audit", "feature/*",
	}, std: anything, others: []string{apis, sdk + "client", sdk + "converter"}},
	{folder: "feature/*", ours: []string{"api", "internal/core", "internal/value"}, std: pure},
	{folder: "feature", ours: []string{"workflows", "feature/*/run"}},
	{folder: "activities", ours: []string{"tool", "api", "internal/core", "internal/value", "toolspecs", "internal"}, std: anything,
		others: []string{
			apis, sdk + "activity", sdk + "client", sdk + "converter", sdk + "temporal",
			"github.com/anthropics/anthropic-sdk-go", "github.com/google/jsonschema-go",
			"github.com/modelcontextprotocol/go-sdk",
			"github.com/openai/openai-go/v3", "github.com/tiktoken-go/tokenizer",
			"golang.org/x/sys", "golang.org/x/text", "google.golang.org/protobuf",
		}},
	{folder: "audit/export", ours: []string{"api", "internal/core", "internal/value", "audit"},
		std: anything},
	{folder: "audit/html", ours: []string{"api", "internal/core", "internal/value", "audit", "internal"}, std: anything, others: []string{sdk +
		"client"}},
	{folder: "audit/traces", ours: []string{"api", "internal/core", "internal/value", "audit"}, std: anything, others: []string{
		sdk + "client", "go.opentelemetry.io/otel/exporters/otlp", "go.opentelemetry.io/proto/otlp",
		"google.golang.org/protobuf",
	}},
	{folder: "audit/recordfile", ours: []string{"api", "internal/core", "internal/value", "audit", "internal"}, std: anything},
	{folder: "audit/recorddb", ours: []string{"api", "internal/core", "internal/value", "audit"}, std: anything,
		others: []string{"github.com/jackc/pgx/v5"}},
	{folder: "audit", ours: []string{"api", "internal/core", "internal/value"}, std: anything, others: []string{
		apis, sdk + "client", sdk + "converter", "google.golang.org/protobuf",
	}},
	{folder: "payloads/s3", ours: []string{"api", "internal/core", "internal/value", "internal", "payloads"}, std: anything,
		others: []string{"github.com/minio/minio-go/v7"}},
	{folder: "payloads", ours: []string{"api", "internal/core", "internal/value", "internal"}, std: anything,
		others: []string{
			apis, sdk + "client", sdk + "converter", sdk + "temporal",
			"github.com/klauspost/compress", "google.golang.org/grpc", "google.golang.org/protobuf",
		}},
	{folder: "worker", ours: []string{
		"tool", "api", "internal/core", "internal/value", "toolspecs", "workflows", "feature", "activities", "payloads", "payloads/s3",
		"internal", "internal/connection",
	}, std: anything, others: []string{"cel.dev/cel-go", "go.temporal.io",
		"github.com/expr-lang/expr", "github.com/prometheus/client_golang", "github.com/spf13/pflag",
		"google.golang.org/grpc", "google.golang.org/protobuf"}},
	{folder: "gateway", ours: []string{
		".", "api", "internal/core", "internal/value", "toolspecs", "audit", "audit/html", "payloads", "internal",
	}, std: anything, others: []string{
		"github.com/coreos/go-oidc/v3", "github.com/go-jose/go-jose/v4",
		"github.com/modelcontextprotocol/go-sdk", "github.com/yosida95/uritemplate/v3",
		"golang.org/x/oauth2", "golang.org/x/sync", "golang.org/x/time",
	}},
	// One command of starter contains the workflows, to replay histories with them. It contains no
	// activities and no executors.
	{folder: "starter/replay", ours: []string{"api", "internal/core", "internal/value", "feature", "audit", "starter"},
		std: anything, others: []string{
			apis, sdk + "client", sdk + "log", sdk + "worker", sdk + "workflow",
			"github.com/spf13/cobra",
		}},
	{folder: "starter", ours: []string{
		".", "api", "internal/core", "internal/value", "toolspecs", "audit", "gateway", "audit/export", "audit/html", "audit/recorddb",
		"audit/recordfile",
		"audit/traces", "payloads", "payloads/s3", "internal", "internal/connection", "internal/runstart",
		"starter/replay", "feature/*/cmd",
	}, std: anything, others: []string{
		apis, sdk + "client", sdk + "converter", sdk + "log", sdk + "temporal",
		"charm.land", "github.com/charmbracelet/x", "github.com/spf13",
		"go.opentelemetry.io/proto/otlp",
		"golang.org/x/sys", "golang.org/x/term", "google.golang.org/grpc",
		"google.golang.org/protobuf",
	}},
	// Test support, and the tools of the build.
	{folder: "internal/test", ours: anything, std: anything, others: anything},
	{folder: "internal/codesize", std: anything, others: anything},
	{folder: "internal/covergate", std: anything, others: anything},
	{folder: "internal/webui", ours: anything, std: anything, others: anything},
	{folder: "internal/tools", std: anything, others: anything},
	{folder: "internal/connection", ours: []string{"api", "internal/core", "internal/value"}, std: anything, others: []string{
		apis, sdk + "client", sdk + "contrib/envconfig", "google.golang.org/grpc",
	}},
	{folder: "internal/runstart", ours: []string{"api", "internal/core", "internal/value", "internal/connection"}, std: anything,
		others: []string{apis, sdk + "client", sdk + "converter", sdk + "temporal",
			"google.golang.org/grpc/codes", "google.golang.org/protobuf/proto"}},
	// What packages of every kind decide alike, and the values that they have in common.
	{folder: "internal/core", ours: []string{"api", "internal/value"}, std: slices.Concat(pure,
		[]string{"context", "crypto/sha256", "hash/fnv"})},
	{folder: "internal/value", std: slices.Concat(pure, []string{"compress/gzip", "io", "net/url"})},
	{folder: "internal", ours: []string{"api", "internal/core", "internal/value"}, std: anything, others: []string{
		"github.com/fsnotify/fsnotify", "github.com/go-json-experiment/json",
		"github.com/gofrs/flock", "github.com/google/jsonschema-go",
		"github.com/jmespath-community/go-jmespath",
		"github.com/modelcontextprotocol/go-sdk", "github.com/santhosh-tekuri/jsonschema/v6",
		"github.com/spf13/pflag",
		"golang.org/x/oauth2", "golang.org/x/sys", "gopkg.in/yaml.v3",
	}},
	{folder: "bench", ours: anything, std: anything, others: anything},
	{folder: "examples", ours: anything, std: anything, others: anything},
	{folder: "devserver", std: anything, others: anything},
}

// within reports whether a package is one of those allowed, or below one.
func within(pkg string, allowed []string) bool {
	return slices.ContainsFunc(allowed, func(a string) bool {
		return a == "*" || pkg == a ||
			strings.HasPrefix(pkg, a+"/")
	})
}

// matches reports whether a folder is one of a pattern, or below one.
func matches(pattern, folder string) bool {
	names := strings.Split(folder, "/")
	depth := min(len(names), strings.Count(pattern, "/")+1)
	ok, err := path.Match(pattern, path.Join(names[:depth]...))
	return ok && err == nil
}

// packageRuleOf returns the first row that matches a folder.
func packageRuleOf(folder string) (packageRule, bool) {
	i := slices.IndexFunc(packageRules, func(r packageRule) bool {
		return r.folder == folder ||
			within(folder, []string{r.folder}) || strings.Contains(r.folder, "*") &&
			matches(r.folder, folder)
	})
	if i < 0 {
		return packageRule{}, false
	}
	return packageRules[i], true
}

// fault returns why a file of the folder must not import pkg; empty if it may. Tests may import
// what they need, except for packages that are never imported.
func (r packageRule) fault(pkg string, test bool) string {
	if rest, ok := strings.CutPrefix(pkg+"/", module+"/"); ok {
		return r.faultOfOurs(path.Clean(rest), test)
	}
	if test {
		return ""
	}
	if first, _, _ := strings.Cut(pkg, "/"); !strings.Contains(first, ".") {
		if !slices.Contains(r.std, "*") && !slices.Contains(r.std, pkg) {
			return "is a package of the standard library that the rule does not list"
		}
		return ""
	}
	if !within(pkg, r.others) {
		return "belongs to a module that the rule does not list"
	}
	return ""
}

func (r packageRule) faultOfOurs(folder string, test bool) string {
	target, known := packageRuleOf(folder)
	switch {
	case r.folder == "devserver":
		return "belongs to the main module; devserver is a separate module"
	case !known:
		return "has no row in the import rule"
	case target.folder == r.folder:
		return ""
	case target.folder == "devserver" || target.folder == "bench" || target.folder == "examples":
		return "is never imported"
	case within(target.folder, []string{"starter"}) && !within(r.folder, []string{"starter"}) &&
		!slices.Contains(r.ours, "starter"):
		return "is a program, which no package imports"
	case test:
		return ""
	case target.folder == "internal/test" && r.folder != "internal/test" &&
		r.folder != "internal/webui" && r.folder != "bench":
		return "is test support, which only tests and measurements import"
	case !slices.Contains(r.ours, "*") && !slices.Contains(r.ours, target.folder):
		return "is a package that the rule does not list"
	}
	return ""
}

// importFaults returns what is wrong with the imports of one file.
func importFaults(name string, file *ast.File) []string {
	r, ok := packageRuleOf(path.Dir(name))
	if !ok {
		return []string{fmt.Sprintf(
			"%s: the folder has no row in the import rule: add a row to the import rule", name)}
	}
	var faults []string
	for _, spec := range file.Imports {
		pkg, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return []string{fmt.Sprintf("%s: %v", name, err)}
		}
		if why := r.fault(pkg, strings.HasSuffix(name, "_test.go")); why != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s, which %s (rule for %s)", name, pkg,
				why, r.folder))
		}
	}
	return faults
}

func TestImports_FollowTheRule(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range goFiles(t) {
		for _, fault := range importFaults(f.name, f.parse(t)) {
			t.Error(fault)
		}
		r, _ := packageRuleOf(path.Dir(f.name))
		seen[r.folder] = true
	}
	for _, r := range []string{".", "api", "internal", "toolspecs", "workflows", "activities",
		"audit", "payloads", "worker", "starter", "devserver"} {
		if !seen[r] {
			t.Errorf("the test saw no file of %s", r)
		}
	}
}

// TestTool_IsALeaf holds that a tool's author compiles no client, no audit and no payload store.
func TestTool_IsALeaf(t *testing.T) {
	leaves := []string{"tool", "api", "internal/core/callcontext", "internal/value"}
	for _, pkg := range goList(t, "-deps", "./tool") {
		if rest, ours := strings.CutPrefix(pkg, module+"/"); ours && !within(rest, leaves) {
			t.Errorf("package tool compiles %s", pkg)
		}
	}
}

// TestHost_CompilesWhatAWorkerNeeds holds that a worker with one function compiles neither the
// audit nor the client of S3. A program that has payloads in S3 imports payloads/s3.
func TestHost_CompilesWhatAWorkerNeeds(t *testing.T) {
	for _, pkg := range goList(t, "-deps", "./worker/host") {
		if strings.HasPrefix(pkg, module+"/audit") || pkg == module+"/payloads/s3" ||
			strings.HasPrefix(pkg, "github.com/minio/") {
			t.Errorf("a worker compiles %s", pkg)
		}
	}
}

// goList returns the words that go list prints.
func goList(t *testing.T, args ...string) []string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output()
	if err != nil {
		t.Fatalf("go list %q: %v", args, err)
	}
	list := strings.Fields(string(out))
	if len(list) == 0 {
		t.Fatalf("go list %q prints nothing", args)
	}
	return list
}

func TestImportRule_RefusesWhatIsNotListed(t *testing.T) {
	tests := []struct {
		file, pkg string
		allowed   bool
	}{
		{"api/call.go", "strings", true},
		{"api/call.go", "os", false},
		{"api/call.go", "net/http", false},
		{"api/call.go", "encoding/xml", false},
		{"api/call.go", "gopkg.in/yaml.v3", false},
		{"api/call.go", module + "/toolspecs", false},
		{"api/call_test.go", "os", true},
		{"api/call_test.go", "pgregory.net/rapid", true},
		{"toolspecs/a.go", module + "/api", true},
		{"toolspecs/a.go", module, false},
		{"toolspecs/a.go", module + "/internal/strictyaml", true},
		{"internal/strictyaml/a.go", module + "/internal/spelling", true},
		{"internal/strictyaml/a.go", module + "/toolspecs", false},
		{"tool/ask.go", module + "/api", true},
		{"tool/ask.go", module + "/toolspecs", false},
		{"tool/ask.go", module, false},
		{"tool/ask.go", "go.temporal.io/sdk/client", false},
		{"client.go", module + "/toolspecs", true},
		{"client.go", module + "/audit", true},
		{"client.go", module + "/workflows", false},
		{"client.go", module + "/activities", false},
		{"client.go", "gopkg.in/yaml.v3", false},
		{"toolspecs/a.go", "go.temporal.io/sdk/client", false},
		{"toolspecs/a.go", module + "/workflows", false},
		{"workflows/a.go", module + "/api", true},
		{"workflows/a.go", module, false},
		{"workflows/a.go", "go.temporal.io/sdk/workflow", true},
		{"workflows/a.go", "go.temporal.io/api/enums/v1", true},
		{"workflows/a.go", "go.temporal.io/api/history/v1", false},
		{"workflows/a.go", "go.temporal.io/sdk/activity", false},
		{"workflows/a.go", "go.temporal.io/sdk/workflowx", false},
		{"workflows/a.go", "math/rand", false},
		{"workflows/a.go", "context", false},
		{"workflows/a.go", "sync", false},
		{"workflows/a.go", module + "/toolspecs", false},
		{"workflows/a_test.go", module + "/internal/test/e2e", true},
		{"workflows/a.go", module + "/feature", false},
		{"workflows/a.go", module + "/feature/forks", false},
		{"feature/a.go", module + "/feature/forks/run", true},
		{"feature/a.go", module + "/feature/forks/cmd", false},
		{"feature/forks/a.go", module + "/api", true},
		{"feature/forks/a.go", module + "/workflows", false},
		{"feature/forks/run/a.go", module + "/workflows", true},
		{"feature/forks/run/a.go", module + "/feature/forks", true},
		{"feature/forks/run/a.go", module + "/internal/value/display", true},
		{"feature/forks/run/a.go", module + "/audit", false},
		{"feature/forks/run/a.go", module + "/activities", false},
		{"feature/forks/run/a.go", "go.temporal.io/sdk/workflow", true},
		{"feature/forks/run/a.go", "go.temporal.io/sdk/client", false},
		{"feature/forks/run/a.go", "context", false},
		{"feature/forks/read/a.go", module + "/audit", true},
		{"feature/forks/read/a.go", module + "/workflows", false},
		{"feature/forks/cmd/a.go", module + "/starter/cli", true},
		{"feature/forks/cmd/a.go", module + "/feature/forks/run", true},
		{"feature/forks/cmd/a.go", module + "/activities", false},
		{"starter/a.go", module + "/feature/forks/cmd", true},
		{"starter/a.go", module + "/feature/forks/run", false},
		{"worker/host/a.go", module + "/feature", true},
		{"worker/host/a.go", module + "/feature/forks/cmd", false},
		{"activities/a.go", module + "/toolspecs", true},
		{"activities/a.go", module + "/workflows", false},
		{"activities/a.go", module + "/tool", true},
		{"activities/a.go", module, false},
		{"activities/a.go", module + "/audit", false},
		{"activities/a.go", "github.com/spf13/cobra", false},
		{"audit/a.go", "go.temporal.io/api/history/v1", true},
		{"audit/a.go", module + "/activities", false},
		{"audit/a_test.go", module + "/activities", true},
		{"audit/a.go", module + "/audit/export", false},
		{"audit/export/a.go", module + "/audit", true},
		{"audit/a.go", "github.com/parquet-go/parquet-go", false},
		{"activities/a.go", module + "/payloads", false},
		{"payloads/a.go", module + "/internal/strictyaml", true},
		{"payloads/a.go", module + "/audit", false},
		{"worker/host/a.go", module + "/activities", true},
		{"worker/host/a.go", "go.temporal.io/sdk/worker", true},
		{"worker/host/a.go", "github.com/spf13/cobra", false},
		{"worker/host/a.go", module + "/starter", false},
		{"worker/host/a_test.go", module + "/starter", false},
		{"worker/host/a.go", module + "/internal/test/e2e", false},
		{"starter/a.go", module + "/audit", true},
		{"starter/a.go", module + "/worker/host", false},
		{"starter/a.go", module + "/starter/replay", true},
		{"starter/replay/a.go", module + "/feature", true},
		{"starter/replay/a.go", module + "/workflows", false},
		{"starter/replay/a.go", module + "/starter/cli", true},
		{"starter/replay/a.go", "go.temporal.io/sdk/worker", true},
		{"starter/replay/a.go", module + "/activities", false},
		{"bench/a.go", module + "/starter/replay", false},
		{"starter/a.go", module + "/workflows", false},
		{"starter/a.go", "go.temporal.io/sdk/worker", false},
		{"devserver/a.go", "go.temporal.io/server/temporal", true},
		{"devserver/a.go", module, false},
		{"devserver/a_test.go", module + "/audit", false},
		{"worker/a.go", module + "/devserver", false},
		{"examples/librarian/a.go", module + "/worker/host", true},
		{"examples/librarian/a.go", module + "/internal/test/e2e", false},
		{"bench/a.go", module + "/examples/librarian", false},
		{"bench/a.go", module + "/internal/test/e2e", true},
		{"worker/a.go", module + "/nowhere", false},
		{"nowhere/a.go", "strings", false},
	}
	for _, tt := range tests {
		file, err := parser.ParseFile(token.NewFileSet(), tt.file,
			fmt.Sprintf("package p\n\nimport _ %q\n", tt.pkg), parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		if faults := importFaults(tt.file, file); (len(faults) == 0) != tt.allowed {
			t.Errorf("%s importing %s: allowed should be %v, faults: %q", tt.file, tt.pkg,
				tt.allowed, faults)
		}
	}
}

// Building the main module must not download a Temporal server.
func TestDevserver_IsASeparateModule(t *testing.T) {
	if name := readText(t, "devserver/go.mod"); !strings.HasPrefix(name, "module "+module+
		"/devserver\n") {
		t.Errorf("devserver/go.mod begins with %.60q", name)
	}
	if strings.Contains(readText(t, "go.mod"), "go.temporal.io/server") {
		t.Error("the main module requires the Temporal server")
	}
}

// namesInFile matches a file in backticks and the names in brackets after it.
var namesInFile = regexp.MustCompile("`([^`]+)` \\(([^)]*)\\)")

// missingNames returns the names in brackets that the file before them does not define. read
// returns the text of a file.
func missingNames(text string, read func(name string) string) (missing []string) {
	for _, m := range namesInFile.FindAllStringSubmatch(text, -1) {
		for name := range strings.SplitSeq(m[2], ", ") {
			defined := regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |var |const |\t)` +
				regexp.QuoteMeta(name) + `\b`)
			if !defined.MatchString(read(m[1])) {
				missing = append(missing, m[1]+" does not define "+name)
			}
		}
	}
	return missing
}

// TestArchitecturePage_NamesExistingFiles checks that docs/dev/architecture.md has every row of the
// import rule, that the files and folders it names exist, and that the functions and types it names
// in brackets are defined in their files.
func TestArchitecturePage_NamesExistingFiles(t *testing.T) {
	document := readText(t, "docs/dev/architecture.md")
	var named []string
	for _, r := range tableRows(document, "package", "what it holds", "imports of ours") {
		for _, folder := range quoted.FindAllStringSubmatch(r.cells[0], -1) {
			named = append(named, strings.TrimSuffix(folder[1], "/"))
		}
	}
	for _, r := range packageRules {
		if !slices.Contains(named, r.folder) {
			t.Errorf("the table of packages has no row for %s", r.folder)
		}
	}
	places := tableRows(document, "to find", "open")
	if len(places) < 15 {
		t.Fatalf("%d rows name files to open", len(places))
	}
	for _, r := range places {
		for _, name := range quoted.FindAllStringSubmatch(r.cells[1], -1) {
			if _, err := os.Stat(name[1]); err != nil {
				t.Errorf("docs/dev/architecture.md:%d: %v", r.line, err)
			}
		}
		for _, fault := range missingNames(r.cells[1],
			func(name string) string { return readText(t, name) }) {
			t.Errorf("docs/dev/architecture.md:%d: %s", r.line, fault)
		}
	}
	sample := func(string) string { return "func (c call) startCall() { run() }" }
	got := missingNames("`a.go` (startCall, start), `b.go` (run)", sample)
	if want := []string{"a.go does not define start", "b.go does not define run"}; !slices.Equal(
		got, want) {
		t.Errorf("the missing names are %q, want %q", got, want)
	}
}
