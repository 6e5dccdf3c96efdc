package e2e

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// TestSizes_ScheduleInput proves that a schedule with the largest input starts runs of it, which
// continue a conversation, and can be described.
func TestSizes_ScheduleInput(t *testing.T) {
	l := sizesLab(t)
	input := api.RunInput{Agent: withTools(agent(answer("done")), "swallow"), Conversation: "talk",
		Continue: true, Prompt: strings.Repeat("x", api.MaxPayload-4<<10)}
	handle, err := l.Client.ScheduleClient().Create(l.ctx, client.ScheduleOptions{ID: "nightly",
		TriggerImmediately: true, Action: &client.ScheduleWorkflowAction{ID: "nightly",
			Workflow: api.ScheduledWorkflow, Args: []any{input}, TaskQueue: api.DefaultTaskQueue}})
	if err != nil {
		t.Fatal(err)
	}
	run := l.scheduledRun(handle)
	if r := l.result(run); r.Answer != "done" {
		t.Errorf("result: %+v", r)
	}
	l.sound(run)
	l.sound(l.Client.GetWorkflow(l.ctx, "talk", ""))
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
			if name == "messages" && refusals[""] == 0 {
				// A slow server forgets updates that wait; their senders send them again. Those of
				// which no sender has learned that they were accepted may fill the run.
				if refused := l.update("run", burst.update, value); refused == atClient {
					t.Errorf("none of %d updates was accepted, nor one more: %v", senders, refusals)
				}
			}
			burst.end(l)
			// Only an accepted answer or edit ends its run, whatever its sender learned.
			if r := l.result(run); r.Usage.Failed > 0 {
				t.Errorf("result: %.300v", r)
			}
			t.Logf("%v", refusals)
			l.soundBut(run, fewForgotten)
		})
	}
}

// fewForgotten bounds the workflow tasks that fail because the server has forgotten one of many
// large updates that arrive together. Each of them is repeated without that update.
const fewForgotten = 5

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
	const tools, perFile = 8000, 500
	text := noise(300 * tools)
	for name, test := range map[string]struct {
		description func(i int) string
		refused     bool
	}{
		"short descriptions":         {func(i int) string { return fmt.Sprint("Counts to ", i) }, false},
		"incompressible and lengthy": {func(i int) string { return text[300*i : 300*(i+1)] }, true},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			folder := t.TempDir()
			names := make([]string, tools)
			for i := range tools {
				names[i] = fmt.Sprint("tool_", i)
			}
			for from := 0; from < tools; from += perFile {
				var specs []string
				for i := from; i < from+perFile; i++ {
					specs = append(specs, fmt.Sprintf("name: %s\nversion: 1.0.0\n"+
						"description: %s\nparameters: [{name: value, type: integer}]\n"+
						"entry: {type: function, handler: swallow}\nexecution: {effect: read}\n",
						names[i], test.description(i)))
				}
				l.writeFile(filepath.Join(folder, fmt.Sprint("tools", from, ".yaml")),
					strings.Join(specs, "---\n"))
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
