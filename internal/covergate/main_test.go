package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// profiles writes each text into a separate file and returns the names.
func profiles(t *testing.T, texts ...string) []string {
	t.Helper()
	var names []string
	for _, text := range texts {
		f, err := os.CreateTemp(t.TempDir(), "*.txt")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name())
	}
	return names
}

// Profiles add up. A package below its threshold, or in no profile, fails the gate by name and
// number, and a broken profile is an error.
func TestEvaluate_FailsBelowAThreshold(t *testing.T) {
	hosted := []threshold{{pkg: "m", least: 90}, {pkg: "m/sub", least: 50, nested: true}}
	const good = "mode: set\nm/a.go:1.1,2.2 9 1\nm/a.go:3.1,4.2 1 0\nm/sub/b.go:1.1,2.2 1 1\nm/free/c.go:1.1,2.2 10 0\n"
	tests := []struct {
		name     string
		profiles []string
		code     int
		says     string
	}{
		{"enough", []string{good}, 0, "  90.0 %  m\n"},
		{"two profiles cover what one does not",
			[]string{good, "mode: count\nm/a.go:3.1,4.2 1 7\n"}, 0, " 100.0 %  m\n"},
		{"the later profile takes nothing away", []string{good, "mode: set\nm/a.go:1.1,2.2 9 0\n"},
			0, "  90.0 %  m\n"},
		{"too little", []string{good, "mode: set\nm/d.go:1.1,2.2 1 0\n"}, 1,
			"m has 81.8 %, 2 of its 11 statements"},
		{"too little in a nested package", []string{good, "mode: set\nm/sub/x/e.go:1.1,2.2 3 0\n"},
			1, "m/sub/x has 0.0 %"},
		{"not measured", []string{"mode: set\nm/a.go:1.1,2.2 9 1\n"}, 1,
			"m/sub is in none of the profiles"},
		{"empty", []string{""}, 2, "line 1: not a coverage profile"},
		{"cut off", []string{"mode: set\nm/a.go:1.1,2.2 9\n"}, 2, "line 2:"},
		{"no numbers", []string{"mode: set\nm/a.go:1.1,2.2 x 1\n"}, 2, "line 2:"},
		{"no count", []string{"mode: set\nm/a.go:1.1,2.2 1 x\n"}, 2, "line 2:"},
		{"none", nil, 2, "no profile given"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if code := evaluate(&out, &out, profiles(t, tt.profiles...), hosted); code != tt.code ||
				!strings.Contains(out.String(), tt.says) {
				t.Errorf("code %d, want %d, and %q in:\n%s", code, tt.code, tt.says, out.String())
			}
		})
	}
}

// A missing profile fails the gate.
func TestEvaluate_RejectsMissingFile(t *testing.T) {
	var out strings.Builder
	if code := evaluate(&out, &out, []string{filepath.Join(t.TempDir(), "none.txt")},
		thresholds); code != 2 {
		t.Errorf("code %d, want 2: %s", code, out.String())
	}
}

func TestEvaluate_AddsUpPackagesOfAnAggregate(t *testing.T) {
	group := []threshold{{pkg: "m/group", least: 50, aggregate: true}}
	const small = "mode: set\nm/group/a/a.go:1.1,2.2 1 0\nm/group/b/b.go:1.1,2.2 3 1\nm/c.go:1.1,2.2 9 0\n"
	var out strings.Builder
	if code := evaluate(&out, &out, profiles(t, small), group); code != 0 ||
		out.String() != "  75.0 %  m/group\n" {
		t.Errorf("exit code %d with %q", code, &out)
	}
	out.Reset()
	more := "mode: set\nm/group/c/c.go:1.1,2.2 9 0\n"
	if code := evaluate(&out, &out, profiles(t, small, more), group); code != 1 ||
		!strings.Contains(out.String(), "m/group has 23.1 %, 10 of its 13 statements") {
		t.Errorf("exit code %d with %q", code, &out)
	}
}
