package switchyard_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/payloads"
	"gopkg.in/yaml.v3"
)

var (
	alertRule = regexp.MustCompile(`(?m)^ *- alert: (\w+)$`)
	runbook   = regexp.MustCompile(`(?m)^ *runbook_url: (\S+)$`)
)

// alertsPage is the address of docs/operations.md for people who get an alert.
const alertsPage = "https://github.com/switchyard/switchyard/blob/main/docs/operations.md#"

// alertFaults returns the alerts of a rules file without a section and a row on the page, the
// sections of the page without an alert, and the alerts that do not link their section.
func alertFaults(rules, page string) (faults []string) {
	alerts := alertRule.FindAllStringSubmatchIndex(rules, -1)
	rows := map[string]bool{}
	for _, r := range tableRows(page, "alert", "severity", "condition") {
		if m := quoted.FindStringSubmatch(r.cells[0]); m != nil {
			rows[m[1]] = true
		}
	}
	known := map[string]bool{}
	for i, at := range alerts {
		name, end := rules[at[2]:at[3]], len(rules)
		if i+1 < len(alerts) {
			end = alerts[i+1][0]
		}
		known[name] = true
		if !anchors(page)[strings.ToLower(name)] {
			faults = append(faults, fmt.Sprintf("%s has no section", name))
		}
		if !rows[name] {
			faults = append(faults, fmt.Sprintf("%s has no row", name))
		}
		want := alertsPage + strings.ToLower(name)
		if m := runbook.FindStringSubmatch(rules[at[0]:end]); m == nil || m[1] != want {
			faults = append(faults, fmt.Sprintf("%s needs runbook_url: %s", name, want))
		}
	}
	for _, line := range strings.Split(page, "\n") {
		if name, ok := strings.CutPrefix(line, "### Switchyard"); ok && !known["Switchyard"+name] {
			faults = append(faults, fmt.Sprintf("Switchyard%s is no alert", name))
		}
	}
	return faults
}

func TestAlerts_HaveASectionThatTheirRuleLinks(t *testing.T) {
	rules := readText(t, "deploy/prometheus/switchyard.rules.yaml")
	if len(alertRule.FindAllString(rules, -1)) == 0 {
		t.Error("the rules have no alert")
	}
	for _, fault := range alertFaults(rules, readText(t, "docs/operations.md")) {
		t.Error(fault)
	}
}

func TestAlertFaults_NamesWhatIsMissing(t *testing.T) {
	rules := "  - alert: A\n    annotations:\n      runbook_url: " + alertsPage + "a\n" +
		"  - alert: B\n  - alert: C\n    annotations:\n      runbook_url: elsewhere\n"
	page := "| alert | severity | condition |\n| --- | --- | --- |\n| [`A`](#a) | x | y |\n" +
		"| [`C`](#c) | x | y |\n\n### A\n\n### C\n\n### SwitchyardGone\n"
	want := []string{"B has no section", "B has no row", "B needs runbook_url: " + alertsPage + "b",
		"C needs runbook_url: " + alertsPage + "c", "SwitchyardGone is no alert"}
	if got := alertFaults(rules, page); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// dynamicKey matches a key of a dynamic configuration file and its value.
var dynamicKey = regexp.MustCompile(`(?m)^([\w.]+):\n  - value: (\S+)$`)

// dynamicFaults returns the differences between a dynamic configuration file and the table of
// docs/sizing.md.
func dynamicFaults(file, page string) (faults []string) {
	documented := map[string]string{}
	rows := tableRows(page, "key", "value", "default", "cost if it is missing")
	for _, r := range rows {
		documented[strings.Trim(r.cells[0], "`")] = strings.Trim(r.cells[1], "`")
	}
	known := map[string]bool{}
	for _, m := range dynamicKey.FindAllStringSubmatch(file, -1) {
		known[m[1]] = true
		if got, ok := documented[m[1]]; !ok {
			faults = append(faults, fmt.Sprintf("%s has no row", m[1]))
		} else if got != m[2] {
			faults = append(faults, fmt.Sprintf("%s is %s, the page says %s", m[1], m[2], got))
		}
	}
	for _, r := range rows {
		if key := strings.Trim(r.cells[0], "`"); !known[key] {
			faults = append(faults, fmt.Sprintf("%s is not in the file", key))
		}
	}
	return faults
}

func TestDynamicConfiguration_IsDocumented(t *testing.T) {
	file := readText(t, "devserver/dynamicconfig.yaml")
	if keys, values := len(dynamicKey.FindAllString(file, -1)),
		strings.Count(file, "- value:"); keys == 0 || keys != values {
		t.Errorf("the file has %d keys and %d values", keys, values)
	}
	for _, fault := range dynamicFaults(file, readText(t, "docs/sizing.md")) {
		t.Error(fault)
	}
}

func TestDynamicFaults_NamesDifferences(t *testing.T) {
	file := "a.x:\n  - value: 1\nb.y:\n  - value: 2\nc.z:\n  - value: 3\n"
	page := "| key | value | default | cost if it is missing |\n| --- | --- | --- | --- |\n" +
		"| `a.x` | `1` | 0 | x |\n| `b.y` | `9` | 0 | x |\n| `d.w` | `1` | 0 | x |\n"
	want := []string{"b.y is 2, the page says 9", "c.z has no row", "d.w is not in the file"}
	if got := dynamicFaults(file, page); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// packageFaults returns the Go files, tests aside, whose package differs from that of the first
// file of their folder. Builds for this system do not notice it in files of another one.
func packageFaults(sources []source, t *testing.T) (faults []string) {
	packages := map[string]string{}
	for _, s := range sources {
		if s.isTest() {
			continue
		}
		folder, name := path.Dir(s.name), s.parse(t).Name.Name
		if want, ok := packages[folder]; ok && want != name {
			faults = append(faults, fmt.Sprintf("%s is of package %s, not %s", s.name, name, want))
		} else {
			packages[folder] = name
		}
	}
	return faults
}

func TestFolders_HaveOnePackageOnEverySystem(t *testing.T) {
	for _, fault := range packageFaults(goFiles(t), t) {
		t.Error(fault)
	}
	got := packageFaults([]source{{name: "a/x.go", text: []byte("package a\n")},
		{name: "a/x_windows.go", text: []byte("package b\n")}}, t)
	if want := []string{"a/x_windows.go is of package b, not a"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// composeSettings matches the settings that docker-compose.yml takes from .env.
var composeSettings = regexp.MustCompile(`\$\{(\w+)(:[-?][^}]*)?\}`)

// composeFaults returns the payload settings that a service which reads or writes payloads lacks in
// a compose file, and the settings of the file that the example of .env does not name.
func composeFaults(file, example string) (faults []string, err error) {
	var compose struct {
		Services map[string]struct{ Environment map[string]string }
	}
	if err := yaml.Unmarshal([]byte(file), &compose); err != nil {
		return nil, err
	}
	wanted := []string{"SWITCHYARD_KEY_1", "SWITCHYARD_KEY_2", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"}
	payloads.FromEnvironment(func(name string) string {
		wanted = append(wanted, name)
		return ""
	})
	for _, service := range []string{"worker", "starter", "codec"} {
		for _, name := range wanted {
			if compose.Services[service].Environment[name] == "" {
				faults = append(faults, fmt.Sprintf("the service %s lacks %s", service, name))
			}
		}
	}
	for _, m := range composeSettings.FindAllStringSubmatch(file, -1) {
		if !regexp.MustCompile(`(?m)^#?` + m[1] + `=`).MatchString(example) {
			faults = append(faults, ".env.example lacks "+m[1])
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults), nil
}

// Workers, starter and codec server read each other's payloads only with the same settings.
func TestCompose_GivesEveryServiceThePayloadSettings(t *testing.T) {
	faults, err := composeFaults(readText(t, "docker-compose.yml"), readText(t, ".env.example"))
	if err != nil {
		t.Fatal(err)
	}
	for _, fault := range faults {
		t.Error(fault)
	}
}

func TestComposeFaults_NamesServiceAndSetting(t *testing.T) {
	file := strings.Replace(readText(t, "docker-compose.yml"), "<<: *payloads",
		"SWITCHYARD_PAYLOAD_KEYS: k", 1)
	faults, err := composeFaults(file, strings.Replace(readText(t, ".env.example"), "#RETENTION=", "", 1))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{".env.example lacks RETENTION", "the service codec lacks AWS_ACCESS_KEY_ID",
		"the service codec lacks AWS_REGION", "the service codec lacks AWS_SECRET_ACCESS_KEY",
		"the service codec lacks AWS_SESSION_TOKEN", "the service codec lacks SWITCHYARD_KEY_1",
		"the service codec lacks SWITCHYARD_KEY_2",
		"the service codec lacks SWITCHYARD_PAYLOAD_COMPRESSION",
		"the service codec lacks SWITCHYARD_PAYLOAD_STORE",
		"the service codec lacks SWITCHYARD_PAYLOAD_THRESHOLD"}
	if !slices.Equal(faults, want) {
		t.Errorf("the faults are\n%s\nwant\n%s", strings.Join(faults, "\n"), strings.Join(want, "\n"))
	}
}

// contextRule is a line of .dockerignore.
type contextRule struct {
	name    string
	pattern *regexp.Regexp
	include bool
}

// contextRules reads a .dockerignore. A pattern applies to a path and everything below it.
func contextRules(text string) (rules []contextRule) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, include := strings.CutPrefix(line, "!")
		pattern := strings.NewReplacer(`\*\*/`, "(.*/)?", `\*`, "[^/]*").Replace(
			regexp.QuoteMeta(name))
		rules = append(rules, contextRule{name: name, include: include,
			pattern: regexp.MustCompile("^" + pattern + "(/.*)?$")})
	}
	return rules
}

// inContext reports whether a file is sent to a build of the Dockerfile: the last rule that applies
// to it decides.
func inContext(rules []contextRule, file string) bool {
	for _, rule := range slices.Backward(rules) {
		if rule.pattern.MatchString(file) {
			return rule.include
		}
	}
	return true
}

// contextFaults returns the folders with needed files that the rules keep out of the build, and the
// rules that let in none of the needed files.
func contextFaults(rules []contextRule, needed []string) (faults []string) {
	for _, file := range needed {
		if !inContext(rules, file) {
			faults = append(faults, path.Dir(file)+" is kept out")
		}
	}
	for _, rule := range rules {
		if rule.include && !slices.ContainsFunc(needed, rule.pattern.MatchString) {
			faults = append(faults, rule.name+" is let in and not needed")
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// imagePrograms are the packages that the Dockerfile builds: those of its targets, and the values
// of WORKER that its comment names.
var imagePrograms = []string{"./starter", "./worker", "./examples/librarian", "./examples/kinds"}

// sourcesOf returns the files of this repository that programs are built from for Linux.
func sourcesOf(t *testing.T, programs ...string) []string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module,GoFiles,EmbedFiles"},
		programs...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	sources := []string{"go.mod", "go.sum"}
	for d := json.NewDecoder(strings.NewReader(string(output))); ; {
		var pkg struct {
			Dir    string
			Module *struct {
				Main bool
				Dir  string
			}
			GoFiles, EmbedFiles []string
		}
		if err := d.Decode(&pkg); errors.Is(err, io.EOF) {
			return sources
		} else if err != nil {
			t.Fatal(err)
		}
		if pkg.Module == nil || !pkg.Module.Main {
			continue
		}
		folder, err := filepath.Rel(pkg.Module.Dir, pkg.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Concat(pkg.GoFiles, pkg.EmbedFiles) {
			sources = append(sources, path.Join(filepath.ToSlash(folder), filepath.ToSlash(name)))
		}
	}
}

// An image is built from what .dockerignore lets in. Without one of the folders no image builds.
func TestDockerignore_LetsInWhatTheProgramsNeed(t *testing.T) {
	rules := contextRules(readText(t, ".dockerignore"))
	needed := sourcesOf(t, imagePrograms...)
	if len(needed) < 100 {
		t.Errorf("the programs need %d files only", len(needed))
	}
	for _, fault := range contextFaults(rules, needed) {
		t.Error(fault)
	}
}

func TestContextFaults_NamesFoldersAndRules(t *testing.T) {
	rules := contextRules("# why\n*\n!*.go\n!a\n!b\n!c\na/inner\n**/testdata\n**/*_test.go\n")
	needed := []string{"main.go", "a/a.go", "a/inner/x.go", "b/x/testdata/y.json", "b/x/y_test.go",
		"b/z.go", "gateway/g.go", "gateway/runs/r.go", "go.mod"}
	want := []string{". is kept out", "a/inner is kept out", "b/x is kept out",
		"b/x/testdata is kept out", "c is let in and not needed", "gateway is kept out", "gateway/runs is kept out"}
	if got := contextFaults(rules, needed); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
