package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/internal/test/testserver"
)

// answers are the last outputs of the examples, by folder.
var answers = map[string]string{
	"function": "10 lamps cost 220.5",
	"stateful": "in the cart: 2 lamps, 1 desk",
	"shell":    "in notes: today.txt\n by Ada",
	"rest":     "3 desks are left",
	"mcp":      "to Oslo it takes 2 days",
	"command":  "4 x chair to Lisbon",
	"agent":    "2 x lamp to Oslo, there in 2 days",
	"plan":     "2 x lamp to Oslo for 49, there in 2 days",
	"human":    "accepted: true",
	"hooks":    "10 lamps cost 220, a catalogue 0; a thousand desks are too many",
	"together": "10 x lamp to Oslo: 220.5, 40 in stock, 2 days.",
}

// The test runs the command of each README. If an example waits for a person, the command that it
// prints lets it continue.
func TestExamples_DoWhatTheirREADMESays(t *testing.T) {
	t.Parallel()
	if withoutCache() {
		t.Skip("the examples start their workers themselves, with the cache that they have by default")
	}
	folders, err := filepath.Glob("../../../examples/kinds/*/README.md")
	if err != nil || len(folders) != len(answers) {
		t.Fatalf("%d examples have a README, want %d: %v", len(folders), len(answers), err)
	}
	dir := exampleFolder(t)
	for _, readme := range folders {
		kind := filepath.Base(filepath.Dir(readme))
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			output := runExample(t, dir, commandIn(t, readme))
			if !strings.Contains(output, "\n"+answers[kind]) {
				t.Errorf("the example does not answer %q; it prints:\n%s", answers[kind], output)
			}
		})
	}
}

// exampleFolder returns a folder in which the commands of READMEs find the programs and the
// examples.
func exampleFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for link, target := range map[string]string{"bin": filepath.Dir(testserver.Bin(t, "starter")),
		"examples": "../../../examples"} {
		target, err := filepath.Abs(target)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// commandIn returns the last line of the code block that ends a README.
func commandIn(t *testing.T, readme string) string {
	t.Helper()
	data, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(strings.TrimSpace(string(data)), "```")
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// replyCommand matches the command that answers a question, as a run prints it.
var replyCommand = regexp.MustCompile(`answer="bin/starter (.*) --value JSON"`)

// runExample runs a command of a README in a folder and returns what it prints. Where it asks, it
// is answered.
func runExample(t *testing.T, dir, command string) string {
	t.Helper()
	run := exec.CommandContext(t.Context(), "sh", "-c", command)
	run.Dir = dir
	out, in := io.Pipe()
	run.Stdout, run.Stderr = in, in
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- run.Wait()
		in.Close()
	}()
	var printed strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		printed.WriteString(lines.Text() + "\n")
		if m := replyCommand.FindStringSubmatch(lines.Text()); m != nil {
			answer := exec.CommandContext(t.Context(), "bin/starter", append(strings.Fields(m[1]),
				"--value", `{"accepted": true}`)...)
			answer.Dir = dir
			if text, err := answer.CombinedOutput(); err != nil {
				t.Errorf("starter %s: %v\n%s", m[1], err, text)
			}
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("%s: %v\n%s", command, err, printed.String())
	}
	return printed.String()
}
