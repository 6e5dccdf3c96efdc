package inspect

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// The file has another extension, the export to verify has no seal, or traces have no destination.
// The error names what is possible.
func TestExport_RefusesImpossibleFiles(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	notARecordsFile := func(file string) string {
		return fmt.Sprintf("--file %q does not end in .jsonl or .csv; --output json writes "+
			"records to standard output, without a seal\nSee 'starter records --help'.\n", file)
	}
	for want, args := range map[string][]string{
		notARecordsFile("records.txt"): {"records", "--file", "records.txt"},
		notARecordsFile("-"):           {"records", "--file", "-"},
		notARecordsFile(""):            {"records", "--file", ""},
		"--verify january.CSV: a .csv file has no seal; only .jsonl exports can be verified\nSee 'starter audit --help'.\n": {"audit", "--verify", "january.CSV"},
		"--verify january.jsonl: the file does not exist\n":                                                                 {"audit", "--verify", "january.jsonl"},
		"no OTLP endpoint: set --otlp-endpoint, OTEL_EXPORTER_OTLP_ENDPOINT or --file\nSee 'starter traces --help'.\n":      {"traces", "run-1"},
		"--otlp-endpoint and --file exclude each other\nSee 'starter traces --help'.\n": {"traces", "run-1", "--otlp-endpoint", "http://c:4318",
			"--file", "spans.json"},
		"--otlp-endpoint: the OTLP endpoint has no valid address: write http://host:4318 or https://host:4318, and credentials in OTEL_EXPORTER_OTLP_HEADERS\nSee 'starter traces --help'.\n": {"traces", "run-1", "--otlp-endpoint", "c:4318"},
	} {
		var out strings.Builder
		if code := inspectProgram.Run(t.Context(), args, cli.Stdio{Out: io.Discard,
			Err: &out}); code != cli.ExitUsage || out.String() != "starter: "+want {
			t.Errorf("%q: exit code %d with %q", args, code, out.String())
		}
	}
}
