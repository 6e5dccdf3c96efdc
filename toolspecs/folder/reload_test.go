package folder

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/switchyard/switchyard/toolspecs"
)

// Some file systems store whole seconds only.
func TestReload_FindsEditsWithEqualSizeAndTime(t *testing.T) {
	l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a@1.0.0")})
	info, err := os.Stat(l.path("a.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	l.write("a.yaml", specOf("a@1.0.1"))
	if err := os.Chtimes(l.path("a.yaml"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := l.reload(); !slices.Contains(got, "updated a 1.0.0 to 1.0.1") {
		t.Errorf("this happened: %q", got)
	}
}

// Of a thousand files, one is compiled.
func TestReload_CompilesOnlyChangedFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 1000 {
		files[fmt.Sprintf("tool%03d.yaml", i)] = specOf(fmt.Sprintf("tool%03d", i))
	}
	l := newWatchLab(t, WatchConfig{}, files)
	before := l.w.Catalog().All()
	l.write("tool500.yaml", specOf("tool500@2.0.0"))
	l.reload()
	for i, after := range l.w.Catalog().All() {
		if (after == before[i]) == (i == 500) {
			t.Errorf("%s: compiled again: %t", after.Spec.Name, after != before[i])
		}
	}
}

// An agent and its script belong to the toolspec that names them, wherever they are. An edit of one
// is an edit of the tool, and an invalid edit is refused.
func TestReload_FollowsFilesOfAgents(t *testing.T) {
	const agent = "name: helper\nmodel: {provider: scripted, script: script.yaml}\ninstructions: "
	l := newWatchLab(t, WatchConfig{}, map[string]string{
		"../agents/helper.yaml": agent + "Help.\n",
		"../agents/script.yaml": "steps: [{answer: one}]\n", "a.yaml": specOf("a"),
		"helper.yaml": "name: helper\nversion: 1.0.0\ndescription: Helps.\nparameters: [{name: prompt, type: string}]\nentry: {type: agent, agent: ../agents/helper.yaml}\n"})
	helper := func() string {
		c, _ := l.w.Catalog().Get("helper")
		agent := c.Spec.Entry.Common().Agent
		return agent.Instructions + " " +
			agent.Model.Script.Value.Steps[0].Answer
	}
	updated := []string{"started", "updated helper 1.0.0 to 1.0.0", "completed: 2 tools, 0 faulty"}
	for _, s := range []struct {
		name, file, text string
		events           []string
		helper           string
	}{
		{"the agent", "helper.yaml", agent + "Help more.\n", updated, "Help more. one"},
		{"its script", "script.yaml", "steps: [{answer: two}]\n", updated, "Help more. two"},
		{"its script, broken", "script.yaml", "steps: [{answr: two}]\n",
			[]string{"started", "error helper.yaml: …", "completed: 2 tools, 1 faulty"},
			"Help more. two"},
		{"its script, right again", "script.yaml", "steps: [{answer: three}]\n", updated,
			"Help more. three"},
		{"a tool of the agent", "helper.yaml", "tools: [a]\n" + agent + "Use a.\n", updated,
			"Use a. three"},
		{"an unknown tool of the agent", "helper.yaml", "tools: [a, b]\n" + agent + "Use both.\n",
			[]string{"started",
				"error helper.yaml: …agents/helper.yaml:1:12: there is no tool \"b\" (known: a, helper)",
				"completed: 2 tools, 1 faulty"}, "Use a. three"},
		{"which comes", "../tools/b.yaml", specOf("b"), []string{"started", "added b in b.yaml",
			"updated helper 1.0.0 to 1.0.0", "completed: 3 tools, 0 faulty"}, "Use both. three"},
		{"and goes", "../tools/b.yaml", "", []string{"started", "error helper.yaml: …",
			"removed b in b.yaml", "completed: 2 tools, 1 faulty"}, "Use both. three"},
		{"no tool of the agent", "helper.yaml", agent + "Help more.\n", updated, "Help more. three"},
		{"the agent, gone", "helper.yaml", "", []string{"started", "error helper.yaml: …",
			"completed: 2 tools, 1 faulty"}, "Help more. three"},
		{"the agent, back as it was", "helper.yaml", agent + "Help more.\n",
			[]string{"started", "completed: 2 tools, 0 faulty"}, "Help more. three"},
	} {
		if path := filepath.Join("..", "agents", s.file); s.text == "" {
			l.remove(path)
		} else {
			l.write(path, s.text)
		}
		if got := l.reload(); !slices.EqualFunc(got, s.events, alike) {
			t.Errorf("%s:\n got %q\nwant %q", s.name, got, s.events)
		}
		if got := helper(); got != s.helper {
			t.Errorf("%s: the helper is %q, want %q", s.name, got, s.helper)
		}
	}
}

// After any sequence of edits, a valid folder equals a fresh load, an invalid one is reported, no
// tool exists twice, and the events add up to the catalog.
func TestReload_EqualsLoad(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newWatchLab(t, WatchConfig{}, map[string]string{"a.yaml": specOf("a"),
			"b.yaml": specOf("b", "c")})
		reported := map[string]string{"a": "1.0.0", "b": "1.0.0", "c": "1.0.0"}
		file, tool := rapid.SampledFrom([]string{"a.yaml", "b.yaml", "c.yaml", "d.yaml"}),
			rapid.SampledFrom([]string{"a", "b", "c", "d", "a@2.0.0", "b@2.0.0", "c@wrong"})
		actions := map[string]func(*rapid.T){
			"write": func(rt *rapid.T) {
				l.write(file.Draw(rt, "file"),
					specOf(rapid.SliceOfN(tool, 1, 3).Draw(rt, "tools")...))
			},
			"remove": func(rt *rapid.T) { l.remove(file.Draw(rt, "file")) },
			"break":  func(rt *rapid.T) { l.write(file.Draw(rt, "file"), "name: [") },
			"look":   func(*rapid.T) { l.w.reload(time.Now()) },
			"finish": func(rt *rapid.T) {
				for l.w.reload(time.Now()) {
				}
				fresh, err := Load(l.dir, toolspecs.Options{})
				if (err == nil) != (l.w.Status().Err() == nil) || err == nil &&
					fresh.Digest() != l.w.Catalog().Digest() {
					rt.Fatalf("in effect is %s, wrong is %v; just loaded it is %v, wrong is %v",
						l.tools(), l.w.Status().Err(), fresh, err)
				}
				for e, some, _ := l.s.next(); some; e, some, _ = l.s.next() {
					switch e.Type {
					case ToolAdded, ToolUpdated:
						reported[e.Tool] = e.Version
					case ToolRemoved:
						delete(reported, e.Tool)
					}
				}
				var list []string
				for _, name := range slices.Sorted(maps.Keys(reported)) {
					list = append(list, name+"@"+reported[name])
				}
				if got := strings.Join(list, " "); got != l.tools() {
					rt.Fatalf("the events add up to %s, in effect is %s", got, l.tools())
				}
			},
		}
		rt.Repeat(actions)
		actions["finish"](rt)
	})
}
