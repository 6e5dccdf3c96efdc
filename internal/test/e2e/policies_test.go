package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

// sealed returns steps of an agent that posts, reads a page, and posts again, which its rule
// denies.
func sealed(more ...api.ScriptStep) *api.Agent {
	steps := []api.ScriptStep{step(call("post", `{"text":"before"}`)),
		step(call("page", `{"bytes":10}`)), step(named("late", call("post", `{"text":"after"}`)))}
	a := withTools(agent(append(append(steps, more...), answer("${late}"))...), "post page")
	a.Policies = []api.PolicyRule{{Name: "sealed",
		When: "'untrusted' in labels && 'external_write' in tool.effects", Then: api.PolicyDeny,
		Message: "nothing goes out any more"}}
	return a
}

// On a real server, rules of agent and worker decide about a run's calls. An invalid edit of the
// file changes nothing. Records, starter policy explain and the conversation contain the reason.
func TestPolicies_DecideAboutCalls(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	rules := func(when string) string {
		return fmt.Sprintf("policies: [{name: house, when: %q, then: warn, message: it is written down, tools: [post]}]\n",
			when)
	}
	l.writeFile(file, rules("args.text == 'before'"))
	w := l.worker("--policies-file", file, "--reload-interval", "20ms")
	run := l.runAgent("policies", sealed())
	if r := l.result(run); !strings.Contains(r.Answer,
		`the policy "sealed" says: nothing goes out any more`) || !slices.Equal(r.Labels,
		[]string{"untrusted"}) {
		t.Errorf("result: %+v", r)
	}
	var got []string
	for _, r := range l.records(run) {
		line := r.CallID + " " + string(r.Status) + " " + strings.Join(r.Labels, ",")
		for _, p := range r.Policies {
			line += " " + p.Rule + ":" + string(p.Effect)
		}
		got = append(got, line)
	}
	if want := []string{"1.1 completed  house:warn", "2.1 completed ",
		"3.1 refused untrusted sealed:deny"}; !slices.Equal(got, want) {
		t.Errorf("records: %q", got)
	}
	if written := l.entries(); len(written) != 1 || written[0].Text != "before" {
		t.Errorf("written: %+v", written)
	}
	for call, wants := range map[string][]string{
		"1.1": {"completed", "warn house: it is written down", "labels      none"},
		"2.1": {"no rule matched"},
		"3.1": {"refused (policy_violation)", `{"text":"after"}`, "labels      untrusted",
			"deny sealed: nothing goes out any more"},
	} {
		code, out := l.command("policy", "explain", "policies", call)
		if code != 0 || slices.ContainsFunc(wants,
			func(want string) bool { return !strings.Contains(out, want) }) {
			t.Errorf("explain %s: exit code %d:\n%s", call, code, out)
		}
	}
	if code, out := l.command("policy", "explain", "policies", "9.9"); code != 2 ||
		!strings.Contains(out, "starter audit policies") {
		t.Errorf("explain of a call that is not there: exit code %d:\n%s", code, out)
	}
	if _, out := l.command("policy", "explain", "policies", "3.1", "--output",
		"json"); !strings.Contains(out, `"rule": "sealed"`) {
		t.Errorf("explain as JSON:\n%s", out)
	}
	agents := filepath.Join(t.TempDir(), "agents.yaml")
	l.writeFile(agents, `policies: [{name: sealed, then: deny, message: nothing goes out any more,
  when: "'untrusted' in labels && 'external_write' in tool.effects"}]`)
	replay := []string{"policy", "replay", "--tools", "testdata/tools", "--exit-code", agents}
	if code, out := l.command(append(replay, file)...); code != 0 ||
		!strings.Contains(out, "3 calls of 1 run: 3 decided as before") {
		t.Errorf("a replay of the rules that were in force: exit code %d:\n%s", code, out)
	}
	if code, out := l.command(replay...); code != 1 ||
		!strings.Contains(out, "warn  allow  post  house") {
		t.Errorf("a replay without the worker's rules: exit code %d:\n%s", code, out)
	}
	l.writeFile(file, rules("nothing"))
	l.says("invalid policies file; the previous rules stay in effect", w)
	l.writeFile(file, strings.Replace(rules("true"), "warn", "deny", 1))
	l.says("policies reloaded", w)
	if r := l.result(l.runAgent("policies-2", sealed())); r.Usage.Failed != 2 ||
		len(l.entries()) != 1 {
		t.Errorf("after the edit: %+v, written %+v", r, l.entries())
	}
}

// A run keeps the rules of the worker on which it started when a worker without a policies file
// continues it.
func TestPolicies_ApplyOnAWorkerWithoutTheFile(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(file, "policies: [{name: sealed, when: \"args.text == 'after'\", then: deny, "+
		"message: nothing goes out any more, tools: [post]}]\n")
	first := l.worker("--policies-file", file)
	a := withTools(agent(step(call("ask", `{"question":"Continue?"}`)),
		step(named("late", call("post", `{"text":"after"}`))), answer("${late}")), "ask post")
	run := l.runAgent("pinned-policies", a)
	questions := l.awaitQuestions("pinned-policies", 1)
	first.Kill()
	l.worker()
	for id := range questions {
		if e := l.reply("pinned-policies", value(id, "ada", `"yes"`)); e != nil {
			t.Fatalf("the reply: %+v", e)
		}
	}
	if r := l.result(run); !strings.Contains(r.Answer,
		`the policy "sealed" says: nothing goes out any more`) || len(l.entries()) != 0 {
		t.Errorf("result: %+v, written %+v", r, l.entries())
	}
}

// The test runs the commands of the README.
func TestPoliciesExample_DoesWhatItsREADMESays(t *testing.T) {
	t.Parallel()
	if withoutCache() {
		t.Skip("the example starts its worker itself, with the cache that it has by default")
	}
	dir := exampleFolder(t)
	if out := runExample(t, dir,
		"bin/starter policy test examples/policies/labels.cases.yaml"); !strings.Contains(out,
		"all passed") || strings.Contains(out, "note:") {
		t.Errorf("the cases give\n%s", out)
	}
	out := runExample(t, dir, commandIn(t, "../../../examples/policies/README.md"))
	if !strings.Contains(out, "\nthe report is sent (report.txt to office@example.com") ||
		!strings.Contains(out,
			`the salaries are not: ERROR policy_violation: the policy "untrusted-then-external" says`) {
		t.Errorf("the example prints\n%s", out)
	}
}
