package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// lanesAnswers maps the last file of a command of examples/lanes, or else the command, to its
// output.
var lanesAnswers = map[string]string{
	"exclusive.yaml":      "The site is in order.",
	"parallel-first.yaml": "The site is in order.",
	"keyed.yaml":          "three phones",
	"priority.yaml":       "five pictures",
	"queue.yaml":          "calls (3 failed or refused)",
	"apart.yaml":          "It is 379.5, and 72 of tax.",
	"inline.yaml":         "It is 379.5, and 72 of tax.",
	"limit.yaml":          "six pages",
	"lanes":               "/3 ",
	"bypass.yaml":         "bypass-",
	"call":                "completed in",
}

// shownCommand matches one of our commands in a block of a README.
var shownCommand = regexp.MustCompile("(?m)^bin/.*$")

// The test runs the commands of the README: those that start their own server, and those that use
// the server with two workers that the README starts first.
func TestLanesExample_DoesWhatItsREADMESays(t *testing.T) {
	t.Parallel()
	if withoutCache() {
		t.Skip("the examples start their workers themselves, with the cache that they have by default")
	}
	text, err := os.ReadFile("../../../examples/lanes/README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := exampleFolder(t)
	var alone, batching []string
	for _, command := range shownCommand.FindAllString(string(text), -1) {
		if strings.Contains(command, " -- ") {
			alone = append(alone, command)
		} else {
			batching = append(batching, command)
		}
	}
	if len(alone)+len(batching) < len(lanesAnswers) {
		t.Fatalf("the README shows %q and %q", alone, batching)
	}
	for _, command := range alone {
		t.Run(filepath.Base(command), func(t *testing.T) {
			t.Parallel()
			checkLanes(t, command, runExample(t, dir, command))
		})
	}
	t.Run("several workers", func(t *testing.T) {
		t.Parallel()
		var server struct{ Address string }
		for _, command := range batching {
			t.Log(command)
			switch {
			case strings.HasPrefix(command, "bin/starter dev "):
				testserver.Start(t, &server, nil, "sh", "-c", "cd "+dir+" && exec "+command+
					" --port 0 --output json")
			case strings.HasPrefix(command, "bin/worker "):
				testserver.Start(t, &struct{}{}, nil, "sh", "-c", "cd "+dir+" && exec "+command+
					" --address "+server.Address)
			default:
				run := exec.CommandContext(t.Context(), "sh", "-c", command)
				run.Dir, run.Env = dir, append(os.Environ(), "TEMPORAL_ADDRESS="+server.Address)
				out, err := run.CombinedOutput()
				if err != nil {
					t.Errorf("%s: %v", command, err)
				}
				checkLanes(t, command, string(out))
			}
		}
	})
}

// checkLanes checks the output of a command.
func checkLanes(t *testing.T, command, printed string) {
	t.Helper()
	words := strings.Fields(command)
	key := words[1]
	for _, word := range words {
		if _, ok := lanesAnswers[filepath.Base(word)]; ok && strings.HasSuffix(word, ".yaml") {
			key = filepath.Base(word)
		}
	}
	want, known := lanesAnswers[key]
	if strings.Contains(command, "--detach") {
		want = strings.TrimSuffix(key, ".yaml") + "-"
	}
	if !known || !strings.Contains(printed, want) {
		t.Errorf("%s does not print %q but\n%s", command, want, printed)
	}
}
