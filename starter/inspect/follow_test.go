package inspect

import (
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/starter/clitest"
)

func TestFollow_RejectsFlagsThatDoNotFit(t *testing.T) {
	see := "\nSee 'starter records --help'.\n"
	for want, args := range map[string]string{
		"--postgres needs --follow" + see: "--postgres",
		"--follow writes the records of all runs; leave out --call-status, --tool" + see: "--follow " +
			"--tool echo --call-status failed --since 1h",
		"--file and --postgres exclude each other" + see:                       "--follow --file a.jsonl --postgres",
		"--file \"a.csv\" does not end in .jsonl, which --follow writes" + see: "--follow --file a.csv",
		"--position needs --otlp-endpoint" + see:                               "--follow --position x",
		"--otlp-endpoint needs --position, a file for the position" + see: "--follow " +
			"--otlp-endpoint http://localhost:4318",
		"--otlp-endpoint excludes --file and --postgres" + see: "--follow --postgres " +
			"--otlp-endpoint http://localhost:4318 --position x",
		"--otlp-endpoint: the OTLP endpoint has no valid address: write http://host:4318 or " +
			"https://host:4318, and credentials in OTEL_EXPORTER_OTLP_HEADERS" + see: "--follow --otlp-endpoint collector --position x",
		"--otlp-endpoint needs --follow" + see:                        "--otlp-endpoint http://localhost:4318",
		"--stream needs --postgres" + see:                             "--follow --stream x",
		"--postgres-dsn-file /nowhere/dsn: the file does not exist\n": "--follow --postgres-dsn-file /nowhere/dsn",
	} {
		var out strings.Builder
		if code := inspectProgram.Run(t.Context(), append([]string{"records"},
			strings.Fields(args)...), cli.Stdio{Out: io.Discard,
			Err: &out}); code != cli.ExitUsage || out.String() != "starter: "+want {
			t.Errorf("%s: exit code %d with %q, want %q", args, code, out.String(), want)
		}
	}
}

// On standard output each entry is a line. Gaps are on standard error.
func TestPrintSink_PrintsALineForEachEntry(t *testing.T) {
	var out strings.Builder
	record := clitest.ToolEnded(1, 1, 14, "1.1", "echo", "{}", "no").Record
	record.WorkflowID = "demo-1"
	sink := &printSink{app: &cli.App{Stdio: cli.Stdio{Out: &out}}}
	if err := sink.write(t.Context(), audit.StreamBatch{Entries: []audit.StreamEntry{
		{Key: "r/1.1", Record: record}, {Key: "g", Gap: &audit.StreamGap{Reason: "late"}},
		{Key: "r", Run: &history.Summary{WorkflowID: "demo-1", Name: "librarian",
			Status: history.RunFailed, FailureType: api.RunCallsFailed, Started: clitest.At(0),
			Closed: clitest.At(1500)}}}}); err != nil {
		t.Fatal(err)
	}
	at := clitest.At(14).Local().Format("15:04:05")
	want := at + "  demo-1  1.1  echo  failed  12ms  execution_error\n" + at[:6] +
		clitest.At(1500).Local().Format("05") + "  demo-1  run  librarian  failed  1.50s  calls_failed\n"
	if out.String() != want {
		t.Errorf("printed\n%s, want\n%s", &out, want)
	}
}
