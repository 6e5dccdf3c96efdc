package switchyard_test

import (
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// requirement is one module that a go.mod requires; direct says that it is not marked as indirect.
type requirement struct {
	module string
	direct bool
}

// requirementsOf reads the modules that a go.mod requires.
func requirementsOf(gomod string) []requirement {
	var list []requirement
	inside := false
	for line := range strings.SplitSeq(gomod, "\n") {
		line = strings.TrimSpace(line)
		if line == "require (" || line == ")" {
			inside = line != ")"
			continue
		}
		single, isSingle := strings.CutPrefix(line, "require ")
		if isSingle {
			line = single
		}
		if fields := strings.Fields(line); (inside || isSingle) && len(fields) >= 2 {
			list = append(list, requirement{module: fields[0], direct: !strings.HasSuffix(line,
				"// indirect")})
		}
	}
	return list
}

// moduleOf returns the required module that a package belongs to: the longest name that begins the
// package's.
func moduleOf(pkg string, required []requirement) string {
	longest := ""
	for _, r := range required {
		if within(pkg, []string{r.module}) && len(r.module) > len(longest) {
			longest = r.module
		}
	}
	return longest
}

// directDependencies returns the modules that one of the repository's modules uses itself: whatever
// its go.mod calls direct, and whatever its code imports.
func directDependencies(t *testing.T, folder string) map[string]bool {
	t.Helper()
	required := requirementsOf(readText(t, path.Join(folder, "go.mod")))
	direct := map[string]bool{}
	for _, r := range required {
		if r.direct {
			direct[r.module] = true
		}
	}
	for _, s := range goFiles(t) {
		if inDevserver := within(s.name,
			[]string{"devserver"}); inDevserver != (folder == "devserver") {
			continue
		}
		for _, spec := range s.parse(t).Imports {
			pkg, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if m := moduleOf(pkg, required); m != "" {
				direct[m] = true
			}
		}
	}
	return direct
}

// TestDependenciesAreExplained proves that docs/dependencies.md has a line for every module that
// the main module or devserver uses directly and for every pinned linter, each with its job and the
// reason for it, and no line for others.
func TestDependenciesAreExplained(t *testing.T) {
	explained := map[string]int{}
	for _, r := range tableRows(readText(t, "docs/dependencies.md"), "module", "job",
		"why this one") {
		if len(r.cells) != 3 || r.cells[1] == "" || r.cells[2] == "" {
			t.Errorf("docs/dependencies.md:%d: write | `module` | job | why this one |", r.line)
			continue
		}
		explained[strings.Trim(r.cells[0], "`")] = r.line
	}
	used := directDependencies(t, ".")
	maps.Copy(used, directDependencies(t, "devserver"))
	for _, r := range requirementsOf(readText(t, "internal/kubernetes/go.mod")) {
		if r.direct {
			used[r.module] = true
		}
	}
	tools := requirementsOf(readText(t, "internal/tools/go.mod"))
	for line := range strings.SplitSeq(readText(t, "internal/tools/go.mod"), "\n") {
		if tool := moduleOf(strings.TrimPrefix(strings.TrimSpace(line), "tool "),
			tools); tool != "" && len(strings.Fields(line)) == 1 {
			used[tool] = true
		}
	}
	for _, m := range slices.Sorted(maps.Keys(used)) {
		if explained[m] == 0 {
			t.Errorf("docs/dependencies.md has no line for %s", m)
		}
	}
	for m, line := range explained {
		if !used[m] {
			t.Errorf("docs/dependencies.md:%d: nothing uses %s any more", line, m)
		}
	}
}

// TestPackagesAreExplained proves the same of the npm packages that tests run or pages are made
// with, and that each is pinned to one version.
func TestPackagesAreExplained(t *testing.T) {
	var manifest struct{ Dependencies, OptionalDependencies map[string]string }
	if err := json.Unmarshal([]byte(readText(t, "internal/npm/package.json")),
		&manifest); err != nil {
		t.Fatal(err)
	}
	maps.Copy(manifest.Dependencies, manifest.OptionalDependencies)
	if err := json.Unmarshal([]byte(readText(t, "audit/html/echarts/package.json")),
		&manifest); err != nil {
		t.Fatal(err)
	}
	var explained []string
	for _, r := range tableRows(readText(t, "docs/dependencies.md"), "package", "job",
		"why this one") {
		if len(r.cells) != 3 || r.cells[1] == "" || r.cells[2] == "" {
			t.Errorf("docs/dependencies.md:%d: write | `package` | job | why this one |", r.line)
			continue
		}
		explained = append(explained, strings.Trim(r.cells[0], "`"))
	}
	slices.Sort(explained)
	if installed := slices.Sorted(maps.Keys(manifest.Dependencies)); !slices.Equal(explained,
		installed) {
		t.Errorf("docs/dependencies.md explains %q, the package.json files have %q", explained,
			installed)
	}
	for name, version := range manifest.Dependencies {
		if strings.Trim(version, "0123456789.-alph") != "" {
			t.Errorf("package.json pins %s to %q, which is more than one version", name, version)
		}
	}
}

// TestRequirementsOf proves that both ways to write a requirement are read, and directness with
// them.
func TestRequirementsOf(t *testing.T) {
	got := requirementsOf("module m\n\ngo 1.26.0\n\nrequire a.b/c v1.0.0\n\nrequire (\n\td.e/f v1 // indirect\n\tg.h/i/v2 v2\n)\n\nreplace a.b/c => ../c\n")
	if want := []requirement{{"a.b/c", true}, {"d.e/f", false},
		{"g.h/i/v2", true}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if m := moduleOf("g.h/i/v2/sub", got); m != "g.h/i/v2" {
		t.Errorf("the package belongs to %q", m)
	}
}
