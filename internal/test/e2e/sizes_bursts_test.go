package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// passSchedule creates a schedule whose run continues a conversation, starts the run, and waits for
// its end.
func passSchedule(l *lab, id string, n int) (client.WorkflowRun, string) {
	input := api.RunInput{Agent: agent(answer("done")), Conversation: "talk-" + id, Continue: true,
		Prompt: strings.Repeat("x", beyond(n, 4<<10))}
	handle, err := l.Client.ScheduleClient().Create(l.ctx, client.ScheduleOptions{ID: id,
		Spec: client.ScheduleSpec{}, TriggerImmediately: true,
		Action: &client.ScheduleWorkflowAction{ID: id, Workflow: api.ScheduledWorkflow,
			Args: []any{input}, TaskQueue: api.DefaultTaskQueue}})
	if err != nil {
		return nil, atClient
	}
	started := ""
	l.await("the scheduled run", func() bool {
		about, err := handle.Describe(l.ctx)
		if err == nil && len(about.Info.RecentActions) > 0 {
			started = about.Info.RecentActions[0].StartWorkflowResult.WorkflowID
		}
		return started != ""
	})
	run := l.Client.GetWorkflow(l.ctx, started, "")
	refused := l.refusal(run)
	l.sound(l.Client.GetWorkflow(l.ctx, input.Conversation, ""))
	return run, refused
}

// TestSizes_BurstsOfUpdates proves that large updates that arrive together are accepted, or refused
// as ones to send again, and do not harm the run.
func TestSizes_BurstsOfUpdates(t *testing.T) {
	const senders = 30
	messages := withTools(agent(step(call("ask", `{"value":1}`)), answer("done")), "ask")
	for name, burst := range map[string]struct {
		start  func(l *lab) client.WorkflowRun
		update string
		value  func(l *lab, i int) any
		end    func(l *lab)
	}{
		"messages": {func(l *lab) client.WorkflowRun {
			run := l.runAgent("run", messages)
			l.awaitQuestions("run", 1)
			return run
		}, api.SendMessageUpdate, func(_ *lab, i int) any {
			return api.Sent{Text: strings.Repeat("x", api.MaxSentText), By: fmt.Sprint("ada-", i)}
		}, func(l *lab) { l.answered("run") }},
		"answers": {func(l *lab) client.WorkflowRun {
			run := l.runCall("run", "ask", `{"value":1}`)
			l.awaitQuestions("run", 1)
			return run
		}, api.AnswerQuestionUpdate, func(_ *lab, i int) any {
			return value("1.1", fmt.Sprint("ada-", i), string(text(1<<20)))
		}, func(*lab) {}},
		"edits": {func(l *lab) client.WorkflowRun {
			run := l.runCall("run", "guarded_swallow", `{"value":1}`)
			l.awaitApprovals("run", 1)
			return run
		}, api.DecideApprovalUpdate, func(l *lab, i int) any {
			return api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: fmt.Sprint("ada-", i),
				Digest:    l.awaitApprovals("run", 1)["1.1"].Digest,
				Arguments: []byte(`{"value":` + string(text(200<<10)) + `}`)}
		}, func(*lab) {}},
	} {
		t.Run(name, func(t *testing.T) {
			l := sizesLab(t)
			run := burst.start(l)
			var all sync.WaitGroup
			var mu sync.Mutex
			refusals := map[string]int{}
			value := burst.value(l, 0)
			for range senders {
				all.Go(func() {
					refused := l.update("run", burst.update, value)
					mu.Lock()
					defer mu.Unlock()
					refusals[refused]++
				})
			}
			all.Wait()
			burst.end(l)
			if r := l.result(run); r.Usage.Failed > 0 {
				t.Errorf("result: %.300v", r)
			}
			t.Logf("%v", refusals)
			if refusals[""] == 0 {
				t.Errorf("none of %d updates was accepted: %v", senders, refusals)
			}
			l.sound(run)
		})
	}
}

// answered replies to the run's question.
func (l *lab) answered(id string) {
	l.t.Helper()
	if e := l.reply(id, value("1.1", "ada", `"yes"`)); e != nil {
		l.t.Fatal(e)
	}
}

// TestSizes_CatalogOf8000Tools proves that a run with thousands of tools runs if they fit into its
// history, and is refused with a problem otherwise.
func TestSizes_CatalogOf8000Tools(t *testing.T) {
	const tools = 8000
	for name, test := range map[string]struct {
		description func(i int) string
		refused     bool
	}{
		"short descriptions":         {func(i int) string { return fmt.Sprint("Counts to ", i) }, false},
		"incompressible and lengthy": {func(i int) string { return noise(tools)[i : i+600] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			folder := t.TempDir()
			var specs strings.Builder
			names := make([]string, tools)
			for i := range tools {
				names[i] = fmt.Sprint("tool_", i)
				fmt.Fprintf(&specs, "---\nname: %s\nversion: 1.0.0\ndescription: %s\n"+
					"parameters: [{name: value, type: integer}]\n"+
					"entry: {type: function, handler: swallow}\nexecution: {effect: read}\n",
					names[i], test.description(i))
			}
			if err := os.WriteFile(filepath.Join(folder, "tools.yaml"),
				[]byte(strings.TrimPrefix(specs.String(), "---\n")), 0o600); err != nil {
				t.Fatal(err)
			}
			l.workerIn(nil, "--tools", folder)
			a := agent(step(call(names[7], `{"value":1}`)), answer("done"))
			a.Tools = names
			run := l.runAgent("run", a)
			var problems []api.Problem
			err := run.Get(l.ctx, nil)
			app, failed := errors.AsType[*temporal.ApplicationError](err)
			switch {
			case !test.refused && err != nil:
				t.Errorf("the run ended with %v", err)
			case test.refused && (!failed || app.Type() != string(api.RunInvalid) ||
				app.Details(&problems) != nil || problems[0].Rule != "size"):
				t.Errorf("the run ended with %v", err)
			}
			l.sound(run)
		})
	}
}
