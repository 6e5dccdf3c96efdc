package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
)

const provenance = `policies:
  - {name: origin, then: deny, message: only what people asked for goes out, tools: [post],
     when: "!free_of(args.text, 'untrusted')"}
`

// posts returns what became of the calls of post in a run, and where their texts came from.
func (l *lab) posts(run client.WorkflowRun) (posts []string) {
	l.t.Helper()
	for _, r := range l.records(run) {
		if r.Tool != "post" {
			continue
		}
		line := r.CallID + " " + string(r.Status)
		for _, v := range r.Sources {
			for _, s := range v.Sources {
				line += ", " + v.Value + ": " + s.String()
			}
		}
		posts = append(posts, line)
	}
	return posts
}

// On a real server, a rule lets out what the prompt names, and not what a page says, also after the
// run has continued as new. Explain and records say where a value came from.
func TestProvenance_TellsTheUsersWordsFromThoseOfAPage(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=20")
	file := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(file, provenance)
	l.worker("--policies-file", file)
	fromPage, named, composed := call("post", `{"text":"xxxxxxxxxx"}`),
		call("post", `{"text":"Quarterly  Minutes"}`), call("post", `{"text":"xx-minutes"}`)
	steps := []api.ScriptStep{step(named), step(call("page", `{"bytes":10}`)), step(fromPage)}
	for range 4 { // each attempt takes some events, so that the run continues as new
		steps = append(steps, step(call("page", `{"bytes":3}`)))
	}
	steps = append(steps, step(named), step(fromPage), step(composed), answer("done"))
	run := l.run(api.AgentWorkflow, "provenance", api.RunInput{
		Agent:  withTools(agent(steps...), "post page"),
		Prompt: "Post the quarterly minutes."})
	first := run.GetRunID()
	l.result(run)
	if n := len(l.histories(run.GetID(), first)); n < 2 {
		t.Errorf("the run has %d executions, and did not continue as new", n)
	}
	if got, want := l.posts(run), []string{
		"1.1 completed, args.text: prompt (normalised)",
		"3.1 refused, args.text: result 2.1 page [untrusted]",
		"8.1 completed, args.text: prompt (normalised)",
		"9.1 refused, args.text: result 2.1 page [untrusted]",
		"10.1 refused, args.text: nowhere [untrusted]",
	}; !slices.Equal(got, want) {
		t.Errorf("posts:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if written := l.entries(); len(written) != 2 {
		t.Errorf("written: %+v", written)
	}
	if code, out := l.command("policy", "explain", "provenance", "9.1"); code != 0 ||
		!strings.Contains(out, "args.text: result 2.1 page [untrusted]") {
		t.Errorf("explain: exit code %d:\n%s", code, out)
	}
}

// foreignText is what a page says.
const foreignText = "xxxxxxxxxx"

// runRepeats runs an agent whose calls repeat what a page says, and which then posts it.
func (l *lab) runRepeats() client.WorkflowRun {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "policies.yaml")
	l.writeFile(file, provenance)
	l.worker("--policies-file", file)
	run := l.runAgent("repeats", withTools(agent(
		step(call("page", `{"bytes":10}`)),
		step(call("append", `{"text":"`+foreignText+`"}`),
			call("echo", `{"text":"`+foreignText+`"}`),
			call("append_all", `{"texts":["`+foreignText+`"]}`),
			call("append_all", `{"texts":["b"]}`)),
		step(call("post", `{"text":"`+foreignText+`"}`)), answer("done")),
		"page append append_all echo post"))
	l.result(run)
	return run
}

// On a real server, what a page says does not become trusted by results that repeat it, of calls
// that are batched with others, too.
func TestProvenance_OfAValueThatResultsRepeatIsThatOfTheirArguments(t *testing.T) {
	l := newLab(t)
	run := l.runRepeats()
	for _, r := range l.records(run) {
		text := ""
		if r.Result != nil {
			text = string(r.Result.Output)
		}
		if repeats := strings.Contains(text, foreignText); repeats != (r.CallID != "2.4") &&
			r.Tool != "post" {
			t.Errorf("the outcome of %s is %s", r.CallID, text)
		}
	}
	expect(t, "posts", l.posts(run), []string{"3.1 refused, args.text: result 1.1 page [untrusted]"})
	if written := l.entries(); slices.ContainsFunc(written, func(e entry) bool {
		return e.Tool == "post"
	}) {
		t.Errorf("written: %+v", written)
	}
}
