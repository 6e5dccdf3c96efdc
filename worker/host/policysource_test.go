package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPoliciesInForce_ReportTheFaultOfAnInvalidEdit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rules.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const rules = "policies:\n  - {name: none, when: tool.name == 'echo', then: deny, message: " +
		"not today}\n"
	write(rules)
	var logs output
	c := Config{PoliciesFile: path, ReloadInterval: 20 * time.Millisecond,
		Logger: slog.New(slog.NewTextHandler(&logs, nil))}
	source, err := c.readPolicies()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.close)
	if p := source.inForce(); p == nil || p.File != path || p.Rules != 1 || p.Error != "" {
		t.Errorf("got %+v", p)
	}
	write("policies: nonsense\n")
	awaitLog(t, &logs, "invalid policies file")
	if p := source.inForce(); p.Rules != 1 || !contains(p.Error, "rules.yaml:1:") {
		t.Errorf("for an invalid file, got %+v", p)
	}
	write(rules)
	awaitLog(t, &logs, "policies reloaded")
	if p := source.inForce(); p.Rules != 1 || p.Error != "" {
		t.Errorf("for a repaired file, got %+v", p)
	}
	none, err := Config{}.readPolicies()
	if err != nil || none.inForce() != nil {
		t.Errorf("without a file, got %+v, %v", none.inForce(), err)
	}
}
