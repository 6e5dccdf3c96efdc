package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit"
	"github.com/switchyard/switchyard/feature/forks"
	"github.com/switchyard/switchyard/feature/forks/read"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
)

// forkOf forks a run with starter. The new run's history is replayed at the end of the test.
func (l *lab) forkOf(run string, args ...string) client.WorkflowRun {
	l.t.Helper()
	out, err := l.starter(slices.Concat([]string{"fork", run}, args,
		[]string{"--detach", "--output", "json"})...).Output()
	var forked struct {
		WorkflowID string `json:"workflow_id"`
		RunID      string `json:"run_id"`
	}
	if err == nil {
		err = json.Unmarshal(out, &forked)
	}
	if err != nil {
		l.t.Fatalf("fork %s %q: %v, %s%s", run, args, err, out, failureText(err))
	}
	l.t.Cleanup(func() { l.replay(forked.WorkflowID, forked.RunID) })
	return l.Client.GetWorkflow(l.ctx, forked.WorkflowID, forked.RunID)
}

// failureText returns what a failed program wrote to standard error.
func failureText(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}

// notForked returns why starter does not fork a run.
func (l *lab) notForked(run string, args ...string) string {
	l.t.Helper()
	out, err := l.starter(append([]string{"fork", run, "--detach"}, args...)...).CombinedOutput()
	if err == nil {
		l.t.Fatalf("fork %s %q succeeded with %s", run, args, out)
	}
	return string(out)
}

// madeBy returns the calls that the tools of a run executed, by the journal.
func (l *lab) madeBy(run client.WorkflowRun) (calls []string) {
	for _, e := range l.entries() {
		if e.Run == run.GetRunID() {
			calls = append(calls, e.Call+" "+e.Tool)
		}
	}
	return calls
}

// sourceOf returns what the record of a forked run says about its source.
func (l *lab) sourceOf(run client.WorkflowRun) forks.Fork {
	l.t.Helper()
	s, err := audit.Describe(l.ctx, l.Client, run.GetID(), "")
	l.must(err)
	from, err := forks.Source(s.Features)
	l.must(err)
	if from == nil {
		l.t.Fatalf("the record of %s names no source", run.GetID())
	}
	return *from
}

// textsOf returns "role call: text" for the messages of a conversation.
func textsOf(messages []api.Message) (texts []string) {
	for _, m := range messages {
		texts = append(texts, string(m.Role)+" "+m.CallID+": "+m.Text)
	}
	return texts
}

// A forked run has the results of the calls before its point and executes none of them. Both runs
// name each other.
func TestFork_TakesOverResultsAndGoesOnLive(t *testing.T) {
	l := newLab(t)
	l.worker()
	source := l.runAgent("source", agent(step(call("append", `{"text":"a"}`)),
		step(call("number", `{}`), call("append", `{"text":"b"}`)),
		step(call("append", `{"text":"c"}`)), answer("done")))
	l.result(source)
	whole := textsOf(l.conversation(source))
	for at, want := range map[string][]string{
		"3":   {"3.1 append"},
		"2.2": {"2.2 append", "3.1 append"},
		"4":   nil,
	} {
		fork := l.forkOf("source", "--at", at)
		if r := l.result(fork); r.Answer != "done" {
			t.Errorf("at %s: the answer is %q", at, r.Answer)
		}
		expect(t, "executed from "+at, l.madeBy(fork), want)
		expect(t, "conversation from "+at, textsOf(l.conversation(fork)), whole)
	}
	edited := l.forkOf("source", "--at", "3", "--edit", `2.1=77`, "--edit", "prompt=Other.",
		"--message", "And now?")
	l.result(edited)
	texts := textsOf(l.conversation(edited))
	want := slices.Clone(whole)
	want[1], want[5] = "user : Other.", "tool 2.1: 77"
	expect(t, "edited", texts, slices.Insert(want, 7, "user : And now?"))

	var listed []read.ForkedRun
	l.await("for the server to list the forks", func() bool {
		var err error
		listed, err = read.Forks(l.ctx, l.Client, "default", "source", source.GetRunID())
		return err == nil && len(listed) == 4
	})
	from, last := l.sourceOf(edited), listed[3]
	if last.WorkflowID != edited.GetID() || !slices.Equal(last.Edited, []string{"2.1", "prompt",
		"message"}) || from.WorkflowID != "source" || from.RunID != source.GetRunID() ||
		from.At != "3" || from.Calls != 3 {
		t.Errorf("the source's record names %+v, that of the fork %+v", last, from)
	}
	expect(t, "the source", slices.Sorted(slices.Values(l.madeBy(source))), []string{"1.1 append", "2.1 number", "2.2 append",
		"3.1 append"})
}

// A run with an approved payment that is forked twice before the payment, and whose fork is forked
// again, pays once. Each fork asks for the approval again.
func TestFork_NeverRepeatsOnceCalls(t *testing.T) {
	l := newLab(t)
	l.worker()
	decide := func(id string, kind api.DecisionKind) {
		t.Helper()
		open := l.awaitApprovals(id, 1)
		if refused := l.decide(id, api.Decision{Call: "2.1", Kind: kind, By: "ada",
			Digest: open["2.1"].Digest}); refused != "" {
			t.Fatalf("%s: the decision is refused as %s", id, refused)
		}
	}
	source := l.runAgent("source", guarded(step(call("append", `{"text":"look"}`)),
		step(call("publish", `{"text":"pay"}`)), answer("done")))
	decide("source", api.DecisionApprove)
	l.result(source)
	var forks []client.WorkflowRun
	for _, from := range []struct{ run, at string }{{"source", "1"}, {"source", "2.1"}} {
		fork := l.forkOf(from.run, "--at", from.at)
		forks = append(forks, fork)
		decide(fork.GetID(), api.DecisionApprove)
		l.result(fork)
	}
	again := l.forkOf(forks[0].GetID(), "--at", "2")
	decide(again.GetID(), api.DecisionApprove)
	denied := l.forkOf("source", "--at", "2")
	decide(denied.GetID(), api.DecisionDeny)
	l.result(denied)
	for _, fork := range append(forks, again) {
		l.result(fork)
		records := l.records(fork)
		paid := records[len(records)-1]
		if paid.CallID != "2.1" || paid.Status != api.CallCompleted || paid.Approval == nil ||
			paid.Approval.Decision != api.DecisionApprove ||
			!slices.Contains(paid.Notes, "not executed: the outcome is that of call 2.1 of run source") ||
			string(paid.Result.Output) != `{"text":"pay"}` {
			t.Errorf("the payment in %s is %+v", fork.GetID(), paid)
		}
	}
	expect(t, "denied", l.statuses(denied), []string{"2.1 publish refused approval_denied"})
	var payments []string
	for _, e := range l.entries() {
		if e.Tool == "publish" {
			payments = append(payments, e.Run+" "+e.Call)
		}
	}
	expect(t, "payments", payments, []string{source.GetRunID() + " 2.1"})
}

// Open, cancelled and failed runs are forked, also where a call was running. The source goes on.
func TestFork_StartsFromOpenAndFailedRuns(t *testing.T) {
	l := newLab(t)
	l.worker()
	source := l.runAgent("source", agent(step(call("append", `{"text":"a"}`)),
		step(call("hold_once", `{}`), call("hold_read", `{}`)), answer("done")))
	l.awaitEntries(3)
	open := l.forkOf("source", "--at", "2")
	l.awaitEntries(4)
	expect(t, "calls of the fork of an open run", l.madeBy(open), []string{"2.2 hold_read"})
	l.cancel("source")
	l.cancelled(source)
	cancelled := l.forkOf("source", "--at", "2.2")
	l.awaitEntries(5)
	l.openGate()
	l.result(open)
	l.result(cancelled)
	expect(t, "fork of an open run", l.statuses(open), []string{"2.1 hold_once refused outcome_unknown",
		"2.2 hold_read completed"})
	expect(t, "fork of a cancelled run", l.statuses(cancelled), []string{"2.2 hold_read completed"})

	failed := l.runAgent("failed", agent(step(call("append", `{"text":"a"}`))))
	l.failure(failed, api.RunModelFailed)
	dir := t.TempDir()
	file := filepath.Join(dir, "agent.yaml")
	l.must(os.WriteFile(file, []byte("name: tester\n"+
		"model: {provider: scripted, script: script.yaml}\ntools: [append]\n"), 0o600))
	l.must(os.WriteFile(filepath.Join(dir, "script.yaml"), []byte("steps:\n"+
		"  - calls: [{tool: append, arguments: {text: a}}]\n  - answer: mended\n"), 0o600))
	mended := l.forkOf("failed", "--at", "2", "--edit", "agent="+file)
	if r := l.result(mended); r.Answer != "mended" || len(l.madeBy(mended)) > 0 {
		t.Errorf("the fork of a failed run answers %q and made %q", r.Answer, l.madeBy(mended))
	}
}

// A conversation that no input could carry is taken over in parts.
func TestFork_TakesOverLongConversations(t *testing.T) {
	inFull(t)
	// With the server's default of 4 MiB the source continues as new, with a shorter conversation.
	l := newLab(t, "--dynamic-config-value", "limit.historySize.suggestContinueAsNew=41943040")
	l.workerIn(nil, "--tools", noisyTools(t))
	noise := call("noise", `{"bytes":600000}`)
	source := l.runAgent("source", withTools(agent(step(noise, noise, noise, noise, noise, noise,
		noise, noise, noise), step(call("noise", `{"bytes":10}`)), answer("done")), "noise"))
	l.result(source)
	fork := l.forkOf("source", "--at", "2")
	l.result(fork)
	expect(t, "executed", l.madeBy(fork), []string{"2.1 noise"})
	if from := l.sourceOf(fork); from.Parts < 3 || from.Calls != 9 {
		t.Errorf("%d results are taken over in %d parts", from.Calls, from.Parts)
	}
	want, got := l.wholeConversation(source), l.wholeConversation(fork)
	if len(want) != 15 || !slices.Equal(textsOf(want[:12]), textsOf(got[:12])) {
		t.Errorf("the source has %d messages, the fork %d, or others", len(want), len(got))
	}
}

// wholeConversation queries all pages of a run's conversation.
func (l *lab) wholeConversation(run client.WorkflowRun) (messages []api.Message) {
	l.t.Helper()
	for {
		value, err := l.Client.QueryWorkflow(l.ctx, run.GetID(), "", api.ConversationQuery,
			len(messages))
		l.must(err)
		var page api.Page
		l.must(value.Get(&page))
		if messages = append(messages, page.Messages.Value...); len(messages) >= page.Total {
			return messages
		}
	}
}

// A run that continued as new is forked at turns of each of its executions, also if the fork itself
// continues as new.
func TestFork_StartsFromAnyExecution(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=40")
	l.worker()
	var steps []api.ScriptStep
	for n := range 12 {
		steps = append(steps, step(call("append", fmt.Sprintf(`{"text":"%d"}`, n))))
	}
	source := l.runAgent("source", agent(append(steps, answer("done"))...))
	first := source.GetRunID()
	l.result(source)
	if n := len(l.histories("source", first)); n < 3 {
		t.Fatalf("the source has %d executions", n)
	}
	whole := textsOf(l.conversation(source))
	for at, calls := range map[string]int{"2": 11, "7": 6, "12.1": 1} {
		fork := l.forkOf("source", "--at", at)
		first := l.Client.GetWorkflow(l.ctx, fork.GetID(), fork.GetRunID())
		l.result(fork)
		if made := l.madeBy(first); len(made) != calls {
			t.Errorf("the fork at %s made %q", at, made)
		}
		expect(t, "conversation from "+at, textsOf(l.conversation(fork)), whole)
	}
}

// noisyTools returns a folder with a tool whose results cannot be compressed.
func noisyTools(t *testing.T) string {
	dir := t.TempDir()
	text := "name: noise\nversion: 1.0.0\ndescription: Answers with noise.\n" +
		"parameters: [{name: bytes, type: integer, required: true}]\n" +
		"entry: {type: function}\nexecution: {effect: read, max_result: 1MiB}\n"
	if err := os.WriteFile(filepath.Join(dir, "noise.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A run whose payloads are encrypted and in a payload store is forked by whoever can read them.
func TestFork_ReadsOffloadedPayloads(t *testing.T) {
	l := newLab(t)
	v := newVault(l)
	config := v.config("k1")
	l.workerIn(nil, append(config.Arguments(), "--tools", v.flooding())...)
	l.Client = v.dial(config)
	source := l.runAgent("source", withTools(agent(step(call("flood", `{"bytes":300000}`)),
		step(call("append", `{"text":"a"}`)), answer("done")), "flood append"))
	l.result(source)
	if code, printed := v.starter(v.config("k3"), "fork", "source", "--at", "2"); code == 0 {
		t.Errorf("with another key, the fork starts: %s", printed)
	}
	code, printed := v.starter(config, "fork", "source", "--at", "2", "--output", "json", "--detach")
	if code != 0 {
		t.Fatalf("fork ends with %d and says %s", code, printed)
	}
	var forked struct {
		ID string `json:"workflow_id"`
	}
	l.must(json.Unmarshal([]byte(printed[strings.Index(printed, "{"):]), &forked))
	fork := l.Client.GetWorkflow(l.ctx, forked.ID, "")
	l.result(fork)
	expect(t, "records", l.statuses(fork), []string{"2.1 append completed"})
	expect(t, "conversation", textsOf(l.conversation(fork)), textsOf(l.conversation(source)))
	v.expectNothingPlain(forked.ID, "xxxxxxxx")
}

// expectNothingPlain fails if the server has a text of a run.
func (v *vault) expectNothingPlain(id, text string) {
	v.lab.t.Helper()
	if data := v.raw(id).String(); strings.Contains(data, text) {
		v.lab.t.Errorf("the history of %s contains %q", id, text)
	}
}

// awaitNoHost waits until the history of a run has the ends of its instances, which follow their
// closing.
func (l *lab) awaitNoHost(run client.WorkflowRun) {
	l.t.Helper()
	l.await("for the end of the instance in the history", func() bool {
		described, err := l.Client.DescribeWorkflowExecution(l.ctx, run.GetID(), run.GetRunID())
		return err == nil && !slices.ContainsFunc(described.GetPendingActivities(),
			func(a *workflowpb.PendingActivityInfo) bool {
				return a.GetActivityType().GetName() == api.HostInstanceActivity
			})
	})
}

// Instances are restored from the snapshot in the history. Where a worker had one, the run is not
// forked, unless with a new instance.
func TestFork_RestoresInstancesOrSaysWhyNot(t *testing.T) {
	l := newLab(t)
	l.worker()
	const rebuilt = "idle_counter"
	limited := counting("hold_read idle_counter", step(call(rebuilt, `{"by":1}`)),
		step(call("hold_read", `{}`)), step(call(rebuilt, `{"by":10}`)), answer("done"))
	limited.Limits.Turns = 2
	source := l.runAgent("source", limited)
	l.awaitText(source.GetRunID(), rebuilt, wroteClosed, 1)
	l.awaitNoHost(source)
	l.openGate()
	l.result(source)
	restored := l.forkOf("source", "--at", "3", "--edit", "turns=9")
	l.result(restored)
	expect(t, "restored", l.outcomes(restored, rebuilt), []string{"3.1 completed 11"})
	if got, want := l.notForked("source", "--at", "2"), "starter: source cannot be forked at 2: a "+
		"worker had the instance of idle_counter at that point, and the history has no snapshot of "+
		"it from then; pass --fresh-instances to start with a new one\n"; got != want {
		t.Errorf("the refusal is %q, want %q", got, want)
	}
	fresh := l.forkOf("source", "--at", "2", "--fresh-instances", "--edit", "turns=9")
	l.result(fresh)
	expect(t, "fresh", l.outcomes(fresh, rebuilt), []string{"3.1 completed 10"})
}

// What cannot be forked is refused with the reason, and nothing starts.
func TestFork_RefusesWhatItCannotFork(t *testing.T) {
	l := newLab(t)
	l.worker()
	l.result(l.runAgent("source", agent(step(call("append", `{"text":"a"}`)), answer("done"))))
	l.result(l.runCall("direct", "append", `{"text":"a"}`))
	for _, c := range []struct {
		run, want string
		args      []string
	}{
		{"source", "source cannot be forked at 7: the run has no turn 7; it has the turns 1 to 2",
			[]string{"--at", "7"}},
		{"source", "source cannot be forked at 1.2: turn 1 has no call 1.2; it has 1 call",
			[]string{"--at", "1.2"}},
		{"source", "source cannot be forked at 1: the result of call 1.1 is not taken over at this point",
			[]string{"--at", "1", "--edit", "1.1=2"}},
		{"direct", "direct is not the run of an agent (its kind is direct); only agents' runs can be forked",
			[]string{"--at", "1"}},
	} {
		if got := l.notForked(c.run, c.args...); got != "starter: "+c.want+"\n" {
			t.Errorf("%s %q: %q, want %q", c.run, c.args, got, c.want)
		}
	}
}

// once are tools with effect once of every kind that executes calls.
const onceTools = `name: append_all
version: 1.0.0
description: Writes each text to the journal and answers with all of them.
parameters: [{name: texts, type: array, required: true, validation: {items: {type: string}}}]
output: {type: array, validation: {items: {type: string}}}
entry: {type: function}
execution: {effect: once, heartbeat: 1s}
batch: {argument: texts, max: 3}
---
name: publish
version: 1.0.0
description: Writes a line that everybody reads.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: append}
execution: {effect: once, heartbeat: 1s}
approval: {when: always, ask: "Publish {{args.text}}?"}
---
name: add
version: 1.0.0
description: Adds to the run's number and answers with it.
parameters: [{name: by, type: integer, default: 1}]
entry: {type: stateful, handler: counter}
execution: {effect: once, heartbeat: 10s}
---
name: append
version: 1.0.0
description: Writes a line to the journal.
parameters: [{name: text, type: string, required: true}]
entry: {type: function}
execution: {effect: once, heartbeat: 1s}
---
name: delegate
version: 1.0.0
description: Writes two lines.
entry: {type: agent, agent: AGENTS/writer.yaml}
execution: {effect: once}
`

// A fork at any point executes no call with effect once of its source again, of whatever kind the
// tool is and whatever was made of the call: calls that were batched or not, edited by their
// approver, or that got defaults, calls of a sub-agent, of an MCP server and of an instance.
func TestFork_NeverRepeatsOnceCallsOfAnyKind(t *testing.T) {
	l := newLab(t)
	dir := l.mcpTools(map[string]string{"remember": isExclusive})
	agents, err := filepath.Abs("testdata/agents")
	l.must(err)
	l.writeFile(filepath.Join(dir, "once.yaml"), strings.ReplaceAll(onceTools, "AGENTS", agents))
	l.workerIn(nil, "--tools", dir)
	decide := func(id string, d api.Decision) {
		t.Helper()
		d.Call, d.By, d.Digest = "2.1", "ada", l.awaitApprovals(id, 1)["2.1"].Digest
		if refused := l.decide(id, d); refused != "" {
			t.Fatalf("%s: the decision is refused as %s", id, refused)
		}
	}
	source := l.runAgent("source", withTools(agent(
		step(call("append_all", `{"texts":["a"]}`), call("append_all", `{"texts":["b"]}`),
			planned("append_all", `{"texts":["c"]}`)),
		step(call("publish", `{"text":"draft"}`)),
		step(call("add", `{}`), call("delegate", `{}`), call("remember", `{"text":"it"}`)),
		answer("done")), "append_all publish add delegate remember"))
	decide("source", api.Decision{Kind: api.DecisionEdit, Reason: "better",
		Arguments: []byte(`{"text":"edited"}`)})
	l.result(source)
	effects := func() (list []string) {
		for _, e := range l.entries() {
			if e.Call != "" { // else an instance was made or closed
				list = append(list, e.Call+" "+e.Tool+" "+e.Text)
			}
		}
		return list
	}
	want := effects()
	if len(want) != 7 {
		t.Fatalf("the source made %q", want)
	}
	for _, at := range strings.Fields("1 1.1 1.2 1.3 2 2.1 3 3.1 3.2 3.3") {
		fork := l.forkOf("source", "--at", at, "--fresh-instances")
		if at[0] < '3' {
			decide(fork.GetID(), api.Decision{Kind: api.DecisionApprove})
		}
		l.result(fork)
		expect(t, "effects after the fork at "+at, effects(), want)
	}
	var remembered string
	r := l.result(l.runCall("remembered", "remember", `{"text":"last"}`))
	l.must(json.Unmarshal(r.Output, &remembered))
	if n := strings.Count(remembered, "it"); n != 1 {
		t.Errorf("the MCP server was called %d times: %q", n, remembered)
	}
}

// What a page says does not become trusted in a fork, which takes over the outcomes of calls that
// repeat it.
func TestFork_KeepsLabelsOfRepeatedValues(t *testing.T) {
	l := newLab(t)
	l.runRepeats()
	forked := l.forkOf("repeats", "--at", "2")
	l.result(forked)
	expect(t, "posts of the fork", l.posts(forked), []string{
		"3.1 refused, args.text: nowhere [untrusted]"})
}
