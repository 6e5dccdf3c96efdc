package inspect

import (
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/internal/cli"
)

// The file has another extension, the export to verify has no seal, or traces have no destination.
// The error names what is possible.
func TestExport_RefusesImpossibleFiles(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	for want, args := range map[string][]string{
		"does not end in .jsonl, .csv or .parquet": {"records", "--file", "records.txt"},
		"--output json":                          {"records", "--file", "-"},
		`--file ""`:                              {"records", "--file", ""},
		"has no seal":                            {"audit", "--verify", "january.CSV"},
		"a .parquet file has no seal":            {"audit", "--verify", "january.parquet"},
		"january.jsonl: the file does not exist": {"audit", "--verify", "january.jsonl"},
		"no OTLP endpoint":                       {"traces", "run-1"},
		"exclude each other": {"traces", "run-1", "--endpoint", "http://c:4318",
			"--file", "spans.json"},
		"write http://host:4318": {"traces", "run-1", "--endpoint", "c:4318"},
	} {
		var out strings.Builder
		if code := inspectProgram.Run(t.Context(), args, cli.Stdio{Out: io.Discard,
			Err: &out}); code != cli.ExitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d with %q", args, code, out.String())
		}
	}
}
