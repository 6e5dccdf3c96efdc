//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/switchyard/switchyard/starter/cli"
)

// No command waits for a pipe or reads a device. Unreadable files are reported at once, with the
// same message everywhere.
func TestOddFiles_EndCommandsWithExitCode2(t *testing.T) {
	dir := t.TempDir()
	odd := map[string]string{"pipe.yaml": "it is not a regular file",
		"folder.yaml": "it is not a regular file", "device.yaml": "it is not a regular file",
		"circle.yaml":    "too many levels of symbolic links",
		"line\nend.yaml": "it is not a regular file"}
	path := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		syscall.Mkfifo(path("pipe.yaml"), 0o600), syscall.Mkfifo(path("line\nend.yaml"), 0o600),
		os.Mkdir(path("folder.yaml"), 0o700),
		os.Symlink("/dev/zero", path("device.yaml")), os.Symlink("circle.yaml",
			path("circle.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	commands := [][]string{{"run", "FILE", "hello"}, {"plan", "FILE"},
		{"tools", "lint", "FILE"}, {"policy", "test", "FILE"},
		{"tools", "list", "--lanes-file", "FILE"}, {"dev", "--devserver", "nowhere",
			"--policies-file", "FILE"}}
	for name, what := range odd {
		for _, command := range commands {
			args := strings.Split(strings.ReplaceAll(strings.Join(command, "\x00"), "FILE",
				path(name)), "\x00")
			var out bytes.Buffer
			code := starter.Run(t.Context(), args, cli.Stdio{In: strings.NewReader(""), Out: &out,
				Err: &out})
			if name == "folder.yaml" && args[1] == "lint" {
				continue // folders are checked, too
			}
			if code != cli.ExitUsage || !strings.Contains(out.String(), what) ||
				strings.Contains(out.String(), "line\nend") {
				t.Errorf("%q ends with %d and says %q", args, code, out.String())
			}
		}
	}
}
