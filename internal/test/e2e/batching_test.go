package e2e

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/client"
)

// appendAll writes every text with the call that it runs as.
var appendAll = tool.NewFunction("append_all", func(ctx context.Context, in struct {
	Texts []string `json:"texts"`
	Pin   string   `json:"pin,omitzero"`
}) ([]string, error) {
	for _, text := range in.Texts {
		if err := write(ctx, entry{Text: text}); err != nil {
			return nil, err
		}
	}
	return in.Texts, nil
})

// runDry starts a dry run of an agent.
func (l *lab) runDry(id string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: api.DefaultTaskQueue}, api.AgentWorkflow,
		api.RunInput{Agent: a, Prompt: "Go.", DryRun: true})
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// planned returns a call with an execution plan that does not change the call.
func planned(tool, arguments string) api.ScriptCall {
	return call(tool, strings.TrimSuffix(arguments, "}")+
		`,"execution_plan":{"intent":"write with pin 471147","limits":{"timeout":"20s"}}}`)
}

// withheldAgent requests calls of every kind that a dry run distinguishes.
func withheldAgent() *api.Agent {
	return withTools(agent(step(call("produce", `{"bytes":3}`),
		call("append", `{"text":"$${not} a reference"}`),
		planned("append_all", `{"texts":["b"],"pin":"471147"}`), call("append", `{"txet":"c"}`)),
		answer("done")), "produce append append_all")
}

func batchedAgent() *api.Agent {
	return withTools(agent(step(call("append_all", `{"texts":["a","b"]}`),
		call("append", `{"text":"c"}`), call("append_all", `{"texts":["d"]}`),
		call("append_all", `{"texts":["e"]}`), planned("append_all", `{"texts":["f"]}`)),
		answer("done")), "append append_all")
}

// accountable are the behaviours of planned, withheld and batched calls.
var accountable = []behaviour{
	{name: "agent_batched", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runAgent("agent_batched", batchedAgent())
	}},
	{name: "agent_dry_run", run: func(l *lab) client.WorkflowRun {
		l.worker()
		return l.runDry("agent_dry_run", withheldAgent())
	}},
}

// recordsOf returns a run's records by call.
func (l *lab) recordsOf(id string) map[string]api.Record {
	l.t.Helper()
	records := map[string]api.Record{}
	for r, err := range audit.Records(l.ctx, l.Client, id, "") {
		if err != nil {
			l.t.Fatal(err)
		}
		if _, twice := records[r.CallID]; twice {
			l.t.Errorf("call %s has two records", r.CallID)
		}
		records[r.CallID] = r
	}
	return records
}

// On a real server, batched calls are one activity. Each call has a record with its own arguments
// and its own part of the answer.
func TestBatching_RecordsEachCall(t *testing.T) {
	l := newLab(t)
	l.worker()
	if err := l.runAgent("batched", batchedAgent()).Get(l.ctx, nil); err != nil {
		t.Fatal(err)
	}
	records := l.recordsOf("batched")
	for id, want := range map[string]string{"1.1": `1.1 {"texts":["a","b"]} ["a","b"]`,
		"1.2": ` {"text":"c"} {"text":"c"}`, "1.3": `1.1 {"texts":["d"]} ["d"]`,
		"1.4": ` {"texts":["e"]} ["e"]`, "1.5": ` {"texts":["f"]} ["f"]`} {
		r := records[id]
		if r.Result == nil || r.Activity+" "+string(r.Arguments)+" "+
			string(r.Result.Output) != want || r.Batched != (r.Activity != "") ||
			r.Status != api.CallCompleted || r.Attempts != 1 || r.Started.IsZero() || r.Turn != 1 {
			t.Errorf("%s: %+v", id, r)
		}
	}
	if plan := records["1.5"].Plan; plan == nil || plan.Intent != "write with pin 471147" ||
		plan.Limits.Timeout == 0 {
		t.Errorf("the plan of 1.5 is %+v", plan)
	}
	var wrote []string
	for _, e := range l.entries() {
		wrote = append(wrote, e.Call+" "+e.Text)
	}
	slices.Sort(wrote)
	if want := []string{"1.1 a", "1.1 b", "1.1 d", "1.2 c", "1.4 e", "1.5 f"}; !slices.Equal(wrote,
		want) {
		t.Errorf("the journal has %q, want %q", wrote, want)
	}
}

// On a real server and at the command line, a dry run records what it withheld, without sensitive
// values, and does nothing.
func TestDryRun_ChangesNothing(t *testing.T) {
	l := newLab(t)
	l.worker()
	if err := l.runDry("dry", withheldAgent()).Get(l.ctx, nil); err != nil {
		t.Fatal(err)
	}
	records := l.recordsOf("dry")
	if r := records["1.3"]; !r.DryRun || r.Status != api.CallCompleted ||
		r.Phase != api.PhasePreExecution || strings.Contains(string(r.Arguments), "471147") ||
		strings.Contains(string(r.Result.Output), "471147") || r.Plan == nil ||
		r.Plan.Intent != "write with pin ***" {
		t.Errorf("a withheld call: %+v", r)
	}
	if r := records["1.1"]; r.DryRun || r.Result == nil {
		t.Errorf("a call that reads: %+v", r)
	}
	if r := records["1.4"]; r.DryRun || r.Status != api.CallRefused {
		t.Errorf("a wrong call: %+v", r)
	}
	if len(l.entries()) != 0 {
		t.Fatalf("something was done: %+v", l.entries())
	}
	l.dryAtCommandLine()
}

// dryAtCommandLine makes a dry run with starter run, which lists what was withheld.
func (l *lab) dryAtCommandLine() {
	dir := l.t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml":  "name: talker\nmodel: {provider: scripted, script: script.yaml}\ntools: [append]\npolicies: [rules.yaml]\n",
		"rules.yaml":  "policies:\n  - {name: review-first, when: 'true', then: ask, message: a person reviews it}\n",
		"script.yaml": "steps:\n  - {calls: [{tool: append, arguments: {text: later}}]}\n  - {answer: I would.}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	code, out := l.command("run", filepath.Join(dir, "agent.yaml"), "Go.", "--dry-run", "--id",
		"typed")
	for _, want := range []string{"I would.", "withheld calls:", "text=later"} {
		if code != 0 || !strings.Contains(out, want) {
			l.t.Errorf("%d, no %q in: %s", code, want, out)
		}
	}
	if code, out := l.command("show", "typed"); code != 0 || !strings.Contains(out,
		"calls with side effects are withheld") {
		l.t.Errorf("%d: %s", code, out)
	}
}
