package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/testserver"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// goOn starts a run that continues the conversation talk.
func (l *lab) continueTalk(prompt string, a *api.Agent) client.WorkflowRun {
	l.t.Helper()
	return l.run(api.AgentWorkflow, "talk", api.RunInput{Agent: a, Prompt: prompt,
		Conversation: "talk", Continue: true})
}

// transcript returns the conversation of a run in short: a letter for each role, with calls and
// texts.
func (l *lab) transcript(run client.WorkflowRun) []string {
	l.t.Helper()
	value, err := l.Client.QueryWorkflow(l.ctx, run.GetID(), run.GetRunID(), api.ConversationQuery,
		0)
	if err != nil {
		l.t.Fatal(err)
	}
	var page api.Page
	if err := value.Get(&page); err != nil {
		l.t.Fatal(err)
	}
	var texts []string
	for _, m := range page.Messages.Value {
		text := string(m.Role) + " " + m.Text
		if m.Role == api.RoleTool {
			text = "tool " + m.CallID
		}
		if m.Failed {
			text += " " + strings.TrimSuffix(strings.Fields(m.Text)[1], ":")
		}
		for _, c := range m.Calls {
			text += c.ID
		}
		texts = append(texts, text)
	}
	return texts
}

// A run continues where the last one of its conversation ended: after one with calls, one that was
// terminated in a call, one whose model failed, one that could not start, and one that no worker
// took. The conversation has the instructions once, an answer to every call, and unique ids of
// calls.
func TestConversation_ContinuesOverRuns(t *testing.T) {
	l := newLab(t)
	worker := l.worker()
	first := l.run(api.AgentWorkflow, "talk",
		api.RunInput{Agent: agent(step(named("a", call("append", `{"text":"a"}`))),
			answer("first: ${a.text}")), Prompt: "One."})
	l.result(first)
	terminated := l.continueTalk("Two.", agent(step(call("hold_read", `{}`))))
	l.await("for the call", func() bool { return len(l.entries()) == 2 })
	if err := l.Client.TerminateWorkflow(l.ctx, "talk", terminated.GetRunID(),
		"enough"); err != nil {
		t.Fatal(err)
	}
	l.failure(l.continueTalk("Three.", agent(step(call("append", `{"text":"b"}`)))), api.RunModelFailed)
	unknown := agent(answer("never"))
	unknown.Tools = []string{"nosuch"}
	l.failure(l.continueTalk("Four.", unknown), api.RunInvalid)
	worker.Stop()
	untouched := l.continueTalk("Five.", agent(answer("never")))
	if err := l.Client.TerminateWorkflow(l.ctx, "talk", untouched.GetRunID(),
		"too late"); err != nil {
		t.Fatal(err)
	}
	l.worker()
	last := l.continueTalk("Six.", agent(step(named("a", call("append", `{"text":"c"}`))),
		answer("last: ${a.text}")))
	if r := l.result(last); r.Answer != "last: c" || r.Usage.Turns != 2 || r.Usage.Calls != 1 {
		t.Errorf("result: %+v", r)
	}
	expect(t, "conversation", l.transcript(last), []string{"system Test.",
		"user One.", "assistant 1.1", "tool 1.1", "assistant first: a",
		"user Two.", "assistant 3.1", "tool 3.1 outcome_unknown",
		"user Three.", "assistant 4.1", "tool 4.1",
		"user Four.",
		"user Six.", "assistant 6.1", "tool 6.1", "assistant last: c"})
	expect(t, "records", l.statuses(last), []string{"6.1 append completed"})
}

// A run of a conversation that continues as new reads the earlier messages once, counts only its
// own turns for its limit, and is continued as a whole.
func TestConversation_ContinuesAsNew(t *testing.T) {
	l := newLab(t, "--dynamic-config-value", "limit.historyCount.suggestContinueAsNew=25")
	l.worker()
	l.result(l.continueTalk("One.", appendTurns(5)))
	long := appendTurns(5)
	long.Limits.Turns = 6
	second := l.continueTalk("Two.", long)
	from := second.GetRunID()
	if r := l.result(second); r.Outcome != api.OutcomeAnswered || r.Usage.Turns != 6 {
		t.Errorf("result: %+v", r)
	}
	if parts := len(l.histories("talk", from)); parts < 2 {
		t.Errorf("the run has %d parts: it did not continue as new", parts)
	}
	last := l.continueTalk("Three.", agent(answer("done")))
	l.result(last)
	texts := l.transcript(last)
	if got := len(texts); got != 1+2*(1+5*2+1)+2 || texts[13] != "user Two." ||
		texts[14] != "assistant 7.1" || texts[got-1] != "assistant done" {
		t.Errorf("%d messages: %q", got, texts)
	}
}

// A run continues a conversation only under its id.
func TestConversation_ContinuesOnlyUnderItsID(t *testing.T) {
	l := newLab(t)
	l.worker()
	other := l.run(api.AgentWorkflow, "other", api.RunInput{Agent: agent(answer("never")),
		Prompt: "Go.", Conversation: "talk", Continue: true})
	if app := l.failure(other, api.RunInvalid); app.Message() != "nothing was run: $.continue: the workflow id of a run that continues the conversation talk must be talk, so that no two runs continue it at once; it is other" {
		t.Errorf("message: %s", app.Message())
	}
}

// startAgent is run for an agent's run that is found by its conversation.
func (l *lab) startAgent(id string, in api.RunInput) client.WorkflowRun {
	l.t.Helper()
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: api.DefaultTaskQueue,
		TypedSearchAttributes: temporal.NewSearchAttributes(temporal.NewSearchAttributeKeyKeyword(
			api.AttributeConversation).ValueSet(in.Conversation))}, api.AgentWorkflow, in)
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// command runs starter and returns its exit code and all its output.
func (l *lab) command(args ...string) (code int, out string) {
	var text bytes.Buffer
	cmd := l.starter(args...)
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode(), text.String()
	}
	if err != nil {
		return -1, err.Error()
	}
	return 0, text.String()
}

func (l *lab) starter(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(l.ctx, testserver.Bin(l.t, "starter"), append(args, "--address",
		l.Address)...)
	cmd.Env = append(os.Environ(), "TEMPORAL_CONFIG_FILE="+l.gate)
	return cmd
}

// inLine starts starter and returns when it prints that it waits.
func (l *lab) inLine(args ...string) *exec.Cmd {
	l.t.Helper()
	cmd := l.starter(args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		l.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		l.t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil || !strings.Contains(line,
		`waiting for the conversation "talk": the run talk of talker`) {
		l.t.Fatalf("%q, %v", line, err)
	}
	return cmd
}

// agentFile writes an agent file that plays steps in YAML.
func (l *lab) agentFile(steps string) string {
	l.t.Helper()
	dir := l.t.TempDir()
	for name, text := range map[string]string{
		"agent.yaml":  "name: talker\nmodel: {provider: scripted, script: script.yaml}\ntools: [hold_read]\n",
		"script.yaml": "steps:\n" + steps,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	return filepath.Join(dir, "agent.yaml")
}

// Of twenty runs of one conversation that are started at once, exactly one runs, and the others
// name it. With waiting, all of them run, one after the other, roughly in the order of their start.
func TestConversation_RunsOneAtATime(t *testing.T) {
	l := newLab(t)
	l.worker()
	holds := l.agentFile("  - calls: [{tool: hold_read, arguments: {}}]\n  - answer: waited\n")
	codes := make([]int, 20)
	texts := make([]string, len(codes))
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			codes[i], texts[i] = l.command("run", holds, fmt.Sprint("burst ", i), "--conversation",
				"talk", "--caller", "ada", "--detach")
		})
	}
	all.Wait()
	started := 0
	for i, code := range codes {
		if code == 0 {
			started++
		} else if code != 2 || !strings.Contains(texts[i],
			`the conversation "talk" is busy: the run talk of talker, started by ada, has been running for`) ||
			!strings.Contains(texts[i], "starter cancel talk") {
			t.Errorf("start %d ended with %d: %s", i, code, texts[i])
		}
	}
	if started != 1 {
		t.Errorf("%d runs were started, want 1", started)
	}
	answers := l.agentFile("  - answer: done\n")
	var waiting []*exec.Cmd
	for i := range 3 {
		waiting = append(waiting, l.inLine("run", answers, fmt.Sprint("wait ", i), "--conversation",
			"talk", "--if-busy", "wait"))
	}
	l.openGate()
	for i, cmd := range waiting {
		if err := cmd.Wait(); err != nil {
			t.Errorf("run %d: %v", i, err)
		}
	}
	last := l.continueTalk("last", agent(answer("done")))
	l.result(last)
	var prompts []string
	for _, text := range l.transcript(last) {
		if strings.HasPrefix(text, "user wait") {
			prompts = append(prompts, text)
		}
	}
	slices.Sort(prompts)
	expect(t, "those that waited", prompts, []string{"user wait 0", "user wait 1", "user wait 2"})
}

// A scheduled run of a conversation runs under the conversation's id, is refused while another one
// runs, and stops it when it is cancelled.
func TestConversation_CanBeScheduled(t *testing.T) {
	l := newLab(t)
	l.worker()
	holds := api.RunInput{Agent: agent(step(call("hold_read", `{}`)), answer("waited")),
		Prompt: "Hold.", Conversation: "talk", Continue: true}
	answers := api.RunInput{Agent: agent(answer("done")), Prompt: "Go.", Conversation: "talk",
		Continue: true}
	first := l.run(api.ScheduledWorkflow, "first", holds)
	l.awaitEntries(1)
	busy := l.run(api.ScheduledWorkflow, "busy", answers)
	if app := l.failure(busy, api.RunInvalid); app.Message() != "nothing was run: $.conversation: another run of the conversation talk is open" {
		t.Errorf("message: %s", app.Message())
	}
	if err := l.Client.CancelWorkflow(l.ctx, "first", ""); err != nil {
		t.Fatal(err)
	}
	l.cancelled(first)
	l.cancelled(l.Client.GetWorkflow(l.ctx, "talk", ""))
	second := l.run(api.ScheduledWorkflow, "second", answers)
	if r := l.result(second); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	transcript := l.transcript(l.Client.GetWorkflow(l.ctx, "talk", ""))
	// Heartbeats are a second apart: a busy machine may miss one before the cancellation.
	transcript[3] = strings.Replace(transcript[3], "worker_lost", "cancelled", 1)
	expect(t, "conversation", transcript, []string{"system Test.",
		"user Hold.", "assistant 1.1", "tool 1.1 cancelled", "user Go.", "assistant done"})
	answers.Conversation = ""
	l.failure(l.run(api.ScheduledWorkflow, "none", answers), api.RunInvalid)
}
