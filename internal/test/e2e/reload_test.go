package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
)

// greetSpec returns a version of the tool greet; the executing function shows which version it is.
func greetSpec(version, handler string) string {
	return fmt.Sprintf("name: greet\nversion: %s\ndescription: Greets.\nparameters: [{name: lines, type: integer, required: true}]\n"+
		"entry: {type: function, handler: %s}\nexecution: {effect: read, timeout: 1m, heartbeat: 1s}\n",
		version, handler)
}

const hostSpec = "name: hold\nversion: 1.0.0\ndescription: Waits for the gate.\nentry: {type: function}\nexecution: {effect: read, timeout: 1m, heartbeat: 1s}\n"

// toolsFolder makes a folder with the tools hold and greet, the latter of version 1.0.0.
func (l *lab) toolsFolder() string {
	l.t.Helper()
	dir := l.t.TempDir()
	l.writeFile(filepath.Join(dir, "hold.yaml"), hostSpec)
	l.writeFile(filepath.Join(dir, "greet.yaml"), greetSpec("1.0.0", "meet_one"))
	return dir
}

func (l *lab) writeFile(path, text string) {
	l.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		l.t.Fatal(err)
	}
}

// says waits until each worker's log has a line.
func (l *lab) says(line string, workers ...*testserver.Process) {
	l.t.Helper()
	for _, w := range workers {
		l.await("for a worker to say "+line, func() bool {
			log, err := os.ReadFile(w.Log)
			return err == nil && strings.Contains(string(log), line)
		})
	}
}

func (l *lab) closeGate() {
	l.t.Helper()
	if err := os.Remove(l.gate); err != nil {
		l.t.Fatal(err)
	}
}

// greeter is an agent that calls greet on two workers at once, waits at the gate, and repeats that.
// before is the number of lines in the journal so far.
func greeter(before int) *api.Agent {
	both := func(lines int) api.ScriptStep {
		c := call("greet", fmt.Sprintf(`{"lines":%d}`, before+lines))
		return step(c, c)
	}
	return withTools(agent(both(2), step(call("hold", `{}`)), both(5), answer("done")),
		"greet hold")
}

// greeted fails the test unless the journal, from a line on, has the four greetings of a greeter
// with the version, on both workers both times.
func (l *lab) greeted(from int, version string) {
	l.t.Helper()
	entries := l.entries()[from:]
	if len(entries) != 5 {
		l.t.Fatalf("%d calls, want 5: %v", len(entries), entries)
	}
	for _, pair := range [][]entry{entries[:2], entries[3:]} {
		if pair[0].Text != version || pair[1].Text != version || pair[0].PID == pair[1].PID {
			l.t.Errorf("these should be of version %s on two workers: %v", version, pair)
		}
	}
}

// Requirement T6: a toolspec is edited between two calls of a running agent, and removed between
// two calls of another. Each run keeps its version on both of two workers with separate folders,
// and the next run has the new state.
func TestReload_AppliesToTheNextRun(t *testing.T) {
	l := newLab(t)
	dirs := []string{l.toolsFolder(), l.toolsFolder()}
	var workers []*testserver.Process
	for _, dir := range dirs {
		workers = append(workers, l.workerIn(nil, "--tools", dir, "--concurrency", "1"))
	}
	runs := []struct {
		id, version string
		change      func(greet string) error
		says        string
	}{
		{"edited", "one", func(greet string) error {
			return os.WriteFile(greet,
				[]byte(greetSpec("2.0.0", "meet_two")), 0o600)
		}, `msg="tool updated" tool=greet version=2.0.0`},
		{"removed", "two", os.Remove, `msg="tool removed" tool=greet`},
	}
	for i, r := range runs {
		run := l.runAgent(r.id, greeter(5*i))
		l.awaitEntries(5*i + 3)
		for _, dir := range dirs {
			if err := r.change(filepath.Join(dir, "greet.yaml")); err != nil {
				t.Fatal(err)
			}
		}
		l.says(r.says, workers...)
		l.openGate()
		if result := l.result(run); result.Answer != "done" || result.Usage.Failed != 0 {
			t.Errorf("result of %s: %+v", r.id, result)
		}
		l.greeted(5*i, r.version)
		l.closeGate()
		l.pinned(run, map[string]string{"one": "1.0.0", "two": "2.0.0"}[r.version])
	}
	app := l.failure(l.runAgent("after", greeter(10)), api.RunInvalid)
	if app.Message() != `nothing was run: $.tools[0]: no worker's catalog has a tool "greet"` {
		t.Errorf("message %q", app.Message())
	}
}

// pinned fails the test unless all records of the tool greet have the version.
func (l *lab) pinned(run client.WorkflowRun, version string) {
	l.t.Helper()
	for _, r := range l.records(run) {
		if r.Tool == "greet" && r.Version != version {
			l.t.Errorf("%s of %s was of version %s, want %s", r.CallID, run.GetID(), r.Version,
				version)
		}
	}
}

// A worker executes the version that a run has pinned even if it never had it: it has another
// version, or no such tool, and queries the run.
func TestReload_PinnedVersionRunsOnANewWorker(t *testing.T) {
	for name, greet := range map[string]string{"another version": greetSpec("2.0.0", "meet_two"),
		"no such tool": ""} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			first := l.workerIn(nil, "--tools", l.toolsFolder())
			run := l.runAgent("run",
				withTools(agent(step(call("hold", `{}`)), step(call("greet", `{"lines":1}`)),
					answer("done")), "greet hold"))
			l.awaitEntries(1)
			first.Kill()
			l.openGate()
			other := t.TempDir()
			if greet != "" {
				l.writeFile(filepath.Join(other, "greet.yaml"), greet)
			}
			l.workerIn(nil, "--tools", other)
			l.result(run)
			if last := l.entries()[len(l.entries())-1]; last.Tool != "greet" || last.Text != "one" {
				t.Errorf("the last call was %+v", last)
			}
			l.pinned(run, "1.0.0")
		})
	}
}

// The next run still has the last version until the file is valid. A worker does not start with a
// folder that a running one only reports.
func TestReload_InvalidEditIsReported(t *testing.T) {
	l := newLab(t)
	dir := l.toolsFolder()
	greet := filepath.Join(dir, "greet.yaml")
	w := l.workerIn(nil, "--tools", dir)
	l.openGate()
	for i, edit := range []struct{ text, says, want string }{
		{"name: greet\nversion: [", `level=ERROR msg="load error" file=` + greet, "one"},
		{greetSpec("2.0.0", "unknown"), `no function is registered as \"unknown\"`, "one"},
		{greetSpec("3.0.0", "meet_two"), `msg="tool updated" tool=greet version=3.0.0`, "two"},
	} {
		l.writeFile(greet, edit.text)
		l.says(edit.says, w)
		l.result(l.runCall(fmt.Sprint("run", i), "greet", `{"lines":1}`))
		if last := l.entries()[i]; last.Text != edit.want {
			t.Errorf("after edit %d the call was %+v, want %s", i+1, last, edit.want)
		}
	}
	if n := len(l.entries()); n != 3 || slices.ContainsFunc(l.entries(),
		func(e entry) bool { return e.Tool != "greet" }) {
		t.Errorf("journal: %v", l.entries())
	}
}
