package switchyard_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// unexplained returns the modules and tools that a go.mod requires directly without a comment above
// that says what for. The modules of tools are all indirect.
func unexplained(gomod string) (missing []string) {
	inside, before := false, ""
	for line := range strings.SplitSeq(gomod, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "require (" || line == "tool (":
			inside = true
		case line == ")":
			inside = false
		case inside && line != "" && !strings.HasPrefix(line, "//") &&
			!strings.HasSuffix(line, "// indirect") && !strings.HasPrefix(before, "//"):
			missing = append(missing, strings.Fields(line)[0])
		}
		before = line
	}
	return missing
}

func TestDependencies_AreExplained(t *testing.T) {
	for _, file := range []string{"go.mod", "devserver/go.mod", "internal/kubernetes/go.mod",
		"internal/tools/go.mod"} {
		for _, module := range unexplained(readText(t, file)) {
			t.Errorf("%s: say in a comment above %s what it is for and why it is this one", file,
				module)
		}
	}
	got := unexplained("module m\n\nrequire (\n\t// Why.\n\ta.b/c v1\n\td.e/f v2\n\tg.h/i v1 " +
		"// indirect\n)\n\ntool (\n\tj.k/l\n)\n")
	if want := []string{"d.e/f", "j.k/l"}; !slices.Equal(got, want) {
		t.Errorf("unexplained are %q, want %q", got, want)
	}
}

// Each npm package that tests run is pinned to one version.
func TestPackages_AreOfOneVersion(t *testing.T) {
	const file = "internal/npm/package.json"
	var manifest struct{ Dependencies, OptionalDependencies map[string]string }
	if err := json.Unmarshal([]byte(readText(t, file)), &manifest); err != nil {
		t.Fatal(err)
	}
	maps.Copy(manifest.Dependencies, manifest.OptionalDependencies)
	for name, version := range manifest.Dependencies {
		if strings.Trim(version, "0123456789.-alph") != "" {
			t.Errorf("%s has %s of %q, which is more than one version", file, name, version)
		}
	}
}
