package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
)

// On a real server, a table of labels applies to tools by name, with conditions over results. An
// approval clears a label, and the records say so.
func TestLabels_OfATableAndClearings(t *testing.T) {
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	l.writeFile(file, `labels:
  - tools: [echo]
    emits: [{label: secret, when: "result.contains('salary')"}, {label: odd, when: result.x == 1}]
policies:
  - name: checked
    when: "'secret' in labels"
    then: ask
    message: look at it first
    tools: [post]
    clears: [secret]
`)
	l.worker("--policies-file", file)
	post := func(text string) api.ScriptStep { return step(call("post", `{"text":"`+text+`"}`)) }
	a := withTools(agent(step(call("echo", `{"text":"weather"}`)), post("a"),
		step(call("echo", `{"text":"salary"}`)), post("b"), post("c"), answer("done")), "echo post")
	run := l.runAgent("labels", a)
	waiting := l.awaitApprovals("labels", 1)
	if text := waiting["4.1"].Text; !strings.Contains(text, "clears labels of the run: secret") {
		t.Errorf("waiting: %+v", waiting)
	}
	l.decide("labels", api.Decision{Call: "4.1", Kind: api.DecisionApprove, By: "ada",
		Digest: waiting["4.1"].Digest})
	if r := l.result(run); !slices.Equal(r.Labels, []string{"odd"}) || r.Usage.Failed != 0 {
		t.Errorf("result: %+v", r)
	}
	var got []string
	for _, r := range l.records(run) {
		line := r.CallID + " " + strings.Join(r.Result.NotEmitted, ",")
		if cleared := policyrules.ClearedLabels(r); len(cleared) > 0 {
			line += "cleared " + policyrules.DescribeClearings(cleared) + " by " + cleared[0].Rule
		}
		got = append(got, line)
	}
	if want := []string{"1.1 secret", "2.1 ", "3.1 ", "4.1 cleared secret by checked",
		"5.1 "}; !slices.Equal(got, want) {
		t.Errorf("records: %q", got)
	}
	if code, out := l.command("policy", "explain", "labels", "4.1"); code != 0 ||
		!strings.Contains(out, "cleared     secret") || !strings.Contains(out, "odd, secret") {
		t.Errorf("explain: exit code %d:\n%s", code, out)
	}
	if code, out := l.command("policy", "replay", "--tools", "testdata/tools", "--exit-code",
		file); code != 0 || !strings.Contains(out, "5 calls of 1 run: 5 decided as before") {
		t.Errorf("replay: exit code %d:\n%s", code, out)
	}
}
