package inspect

import (
	"io"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

func TestFollow_RejectsFlagsThatDoNotFit(t *testing.T) {
	see := "\nSee 'starter records --help'.\n"
	for want, args := range map[string]string{
		"--position, --postgres needs --follow" + see: "--postgres --position x",
		"--follow writes the records of all runs; leave out --tool" + see: "--follow --tool echo " +
			"--since 1h",
		"--file, --postgres and --otlp-endpoint exclude each other" + see:      "--follow --file a.jsonl --postgres",
		"--file \"a.csv\" does not end in .jsonl, which --follow writes" + see: "--follow --file a.csv",
		"--otlp-endpoint needs --position, a file for the position" + see: "--follow " +
			"--otlp-endpoint http://localhost:4318",
		"--otlp-endpoint: the OTLP endpoint has no valid address: write http://host:4318 or " +
			"https://host:4318, and credentials in OTEL_EXPORTER_OTLP_HEADERS" + see: "--follow --otlp-endpoint collector --position x",
	} {
		var out strings.Builder
		if code := inspectProgram.Run(t.Context(), append([]string{"records"},
			strings.Fields(args)...), cli.Stdio{Out: io.Discard,
			Err: &out}); code != cli.ExitUsage || out.String() != "starter: "+want {
			t.Errorf("%s: exit code %d with %q, want %q", args, code, out.String(), want)
		}
	}
}
