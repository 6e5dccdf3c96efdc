package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

const provenance = `policies:
  - {name: origin, then: deny, message: only what people asked for goes out, tools: [post],
     when: "!free_of(args.text, 'untrusted')"}
`

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
	var got []string
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
		got = append(got, line)
	}
	if want := []string{
		"1.1 completed, args.text: prompt (normalised)",
		"3.1 refused, args.text: result 2.1 page [untrusted]",
		"8.1 completed, args.text: prompt (normalised), args.text: result 1.1 post",
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
