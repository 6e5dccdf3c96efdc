package main

import (
	"io"
	"strings"
	"testing"
)

// TestExportFiles proves that an export to a file of another kind, and a check of one without a seal, are refused with what is possible.
func TestExportFiles(t *testing.T) {
	for want, args := range map[string][]string{
		"nor in .csv nor in .parquet":          {"records", "--file", "records.txt"},
		"--output json":                        {"records", "--file", "-"},
		`--file ""`:                            {"records", "--file", ""},
		"has no seal":                          {"audit", "--verify", "january.CSV"},
		"a .parquet file has no seal":          {"audit", "--verify", "january.parquet"},
		"january.jsonl: there is no such file": {"audit", "--verify", "january.jsonl"},
	} {
		var out strings.Builder
		if code := Run(t.Context(), args, Stdio{Out: io.Discard, Err: &out}); code != exitUsage || !strings.Contains(out.String(), want) {
			t.Errorf("%q: exit code %d with %q", args, code, out.String())
		}
	}
}
