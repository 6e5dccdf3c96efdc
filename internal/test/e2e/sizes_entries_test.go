package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
)

// atClient is the refusal of a value that the server's frontend does not accept.
const atClient = "client"

// serverLimit is where servers reject the inputs of a run.
const serverLimit = 2 << 20

// entryPoint is a place where users, models or tools pass values of any size.
type entryPoint struct {
	// limit is the largest accepted value, in bytes; refused is the error type beyond it, or empty
	// if values are truncated.
	limit   int
	refused string
	// pass passes n bytes. It returns the run, nil if none was started, and the error type of the
	// refusal.
	pass func(l *lab, id string, n int) (run client.WorkflowRun, refused string)
}

// text returns a JSON string of n bytes.
func text(n int) json.RawMessage { return json.RawMessage(`"` + strings.Repeat("x", n-2) + `"`) }

// started is the result of passing a value.
type started = client.WorkflowRun

func entryPoints() map[string]entryPoint {
	return map[string]entryPoint{
		"prompt": {api.MaxInputs, atClient, func(l *lab, id string, n int) (started, string) {
			return l.tryAgent(id, api.RunInput{Agent: agent(answer("done")),
				Prompt: strings.Repeat("x", beyond(n, 4<<10))})
		}},
		"agent": {api.MaxInputs, atClient, func(l *lab, id string, n int) (started, string) {
			a := agent(answer("done"))
			a.Instructions = strings.Repeat("x", beyond(n, 4<<10))
			return l.tryAgent(id, api.RunInput{Agent: a, Prompt: "Go."})
		}},
		"variables": {api.MaxInputs, atClient, func(l *lab, id string, n int) (started, string) {
			return l.tryRun(id, api.CallWorkflow, api.RunInput{
				Call:      &api.Call{Tool: "swallow", Arguments: `{"value":1}`},
				Variables: map[string]any{"v": strings.Repeat("x", beyond(n, 4<<10))}})
		}},
		"plan arguments": {api.MaxArguments, string(api.ErrValidation), passPlanArguments},
		"references":     {api.MaxArguments, string(api.ErrValidation), passReferences},
		"call arguments": {api.MaxArguments, string(api.ErrValidation), passCallArguments},
		"tool result": {1 << 20, "", func(l *lab, id string, n int) (started, string) {
			return l.runCall(id, "large", fmt.Sprintf(`{"bytes":%d}`, n)), ""
		}},
		"escaped result": {1 << 20, "", func(l *lab, id string, n int) (started, string) {
			return l.runCall(id, "large", fmt.Sprintf(`{"bytes":%d,"text":"<"}`, n)), ""
		}},
		"question":      {api.MaxArguments, string(api.ErrValidation), passQuestion},
		"answer":        {api.MaxPayload, string(api.ReplyMalformed), passAnswer},
		"approval edit": {256 << 10, string(api.DecisionUnfit), passEdit},
		"message":       {api.MaxSentText, string(api.ControlMalformed), passMessage},
		"schedule":      {api.MaxPayload, atClient, passSchedule},
	}
}

// beyond returns n minus the rest of the input, or more than servers accept if n is beyond what
// runs accept.
func beyond(n, besides int) int {
	if n > api.MaxInputs {
		return max(n, serverLimit)
	}
	return n - besides
}

func (l *lab) tryRun(id, workflow string, input api.RunInput) (client.WorkflowRun, string) {
	l.t.Helper()
	run, err := l.Client.ExecuteWorkflow(l.ctx, client.StartWorkflowOptions{ID: id,
		TaskQueue: api.DefaultTaskQueue}, workflow, input)
	if err != nil {
		return nil, atClient
	}
	return run, ""
}

// tryAgent starts an agent's run with one tool and waits for its end.
func (l *lab) tryAgent(id string, input api.RunInput) (client.WorkflowRun, string) {
	l.t.Helper()
	input.Agent = withTools(input.Agent, "swallow")
	run, refused := l.tryRun(id, api.AgentWorkflow, input)
	if run != nil {
		refused = l.refusal(run)
	}
	return run, refused
}

// refusal waits for the end of a run and returns the error type of its first failed call.
func (l *lab) refusal(run client.WorkflowRun) string {
	l.t.Helper()
	var r api.RunResult
	err := run.Get(l.ctx, nil)
	app, ok := errors.AsType[*temporal.ApplicationError](err)
	switch {
	case err == nil:
		return ""
	case !ok:
		l.t.Fatalf("run %s ended with %v", run.GetID(), err)
	case app.Type() == string(api.RunCallsFailed) && app.Details(&r) == nil && len(r.Failures) > 0:
		return string(r.Failures[0].Error.Type)
	}
	return app.Type()
}

func passPlanArguments(l *lab, id string, n int) (client.WorkflowRun, string) {
	packed := api.Pack(api.Plan{Name: id, Calls: []api.PlanCall{planCall("a", "swallow",
		fmt.Sprintf(`{"value":%s}`, text(n-len(`{"value":}`))))}})
	run, refused := l.tryRun(id, api.PlanWorkflow, api.RunInput{Plan: &packed})
	if run != nil {
		refused = l.refusal(run)
	}
	// The plan's own check lists the call's error.
	return run, strings.Replace(refused, string(api.RunInvalid), string(api.ErrValidation), 1)
}

func passReferences(l *lab, id string, n int) (client.WorkflowRun, string) {
	besides, parts := len(`{"value":[]}`)-1, n>>20+2
	calls, refs := []api.PlanCall{}, []string{}
	for i := range parts {
		size := (n-besides)/parts - 3
		if i == 0 {
			size = n - besides - 3 - (parts-1)*(size+3)
		}
		name := fmt.Sprint("a", min(i, 1))
		if i < 2 {
			calls = append(calls, planCall(name, "large", fmt.Sprintf(`{"bytes":%d}`, size)))
		}
		refs = append(refs, `"${`+name+`}"`)
	}
	calls = append(calls, planCall("b", "swallow", `{"value":[`+strings.Join(refs, ",")+`]}`))
	run := l.runPlan(id, api.Plan{Name: id, Calls: calls})
	return run, l.refusal(run)
}

func passCallArguments(l *lab, id string, n int) (client.WorkflowRun, string) {
	run, refused := l.tryRun(id, api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "swallow",
		Arguments: fmt.Sprintf(`{"value":%s}`, text(n-len(`{"value":}`)))}})
	if run != nil {
		refused = l.refusal(run)
	}
	return run, refused
}

func passQuestion(l *lab, id string, n int) (client.WorkflowRun, string) {
	run, refused := l.tryRun(id, api.CallWorkflow, api.RunInput{Call: &api.Call{Tool: "ask",
		Arguments: fmt.Sprintf(`{"value":%s}`, text(n-len(`{"value":}`)))}})
	if run == nil {
		return nil, refused
	}
	if n <= api.MaxArguments {
		l.awaitQuestions(id, 1)
		if e := l.reply(id, value("1.1", "ada", `"yes"`)); e != nil {
			l.t.Fatal(e)
		}
	}
	return run, l.refusal(run)
}

func passAnswer(l *lab, id string, n int) (client.WorkflowRun, string) {
	run := l.runCall(id, "ask", `{"value":1}`)
	l.awaitQuestions(id, 1)
	refused := ""
	err := l.sendReply(id, value("1.1", "ada", string(text(n))))
	if err != nil {
		refused = refusedBy(err)
		if e := l.reply(id, value("1.1", "ada", `"yes"`)); e != nil {
			l.t.Fatal(e)
		}
	}
	return run, refused + l.refusal(run)
}

// refusedBy returns the type of the error with which an update was refused.
func refusedBy(err error) string {
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return app.Type()
	}
	return atClient
}

func passEdit(l *lab, id string, n int) (client.WorkflowRun, string) {
	run := l.runCall(id, "guarded_swallow", `{"value":1}`)
	d := api.Decision{Call: "1.1", Kind: api.DecisionEdit, By: "ada",
		Digest:    l.awaitApprovals(id, 1)["1.1"].Digest,
		Arguments: []byte(fmt.Sprintf(`{"value":%s}`, text(n-len(`{"value":}`))))}
	refused := l.update(id, api.DecideApprovalUpdate, d)
	if refused != "" {
		d.Kind, d.Arguments = api.DecisionApprove, nil
		if again := l.update(id, api.DecideApprovalUpdate, d); again != "" {
			l.t.Fatalf("the approval is refused: %s", again)
		}
	}
	return run, refused + l.refusal(run)
}

func passMessage(l *lab, id string, n int) (client.WorkflowRun, string) {
	run := l.runAgent(id, withTools(agent(step(call("ask", `{"value":1}`)), answer("done")), "ask"))
	l.awaitQuestions(id, 1)
	refused := l.update(id, api.SendMessageUpdate, api.Sent{Text: strings.Repeat("x", n), By: "ada"})
	if e := l.reply(id, value("1.1", "ada", `"yes"`)); e != nil {
		l.t.Fatal(e)
	}
	return run, refused + l.refusal(run)
}

// passSchedule creates a schedule whose runs have an input of n bytes, and starts one of them.
func passSchedule(l *lab, id string, n int) (client.WorkflowRun, string) {
	if code, out := l.createSchedule(id+"-small", 0); code != 0 {
		l.t.Fatalf("exit code %d: %s", code, out)
	}
	if code, out := l.createSchedule(id, n-l.scheduledBytes(id+"-small")); code != 0 {
		l.t.Logf("exit code %d: %.300s", code, out)
		return nil, atClient
	}
	if got := l.scheduledBytes(id); got != n {
		l.t.Errorf("the schedule's input has %d bytes, want %d", got, n)
	}
	run := l.triggered(id)
	return run, l.refusal(run)
}

// createSchedule creates a schedule whose input has n bytes more than that of one with n = 0. It
// returns the exit code of starter and its output.
func (l *lab) createSchedule(id string, n int) (code int, out string) {
	l.t.Helper()
	// The file and the arguments of a program are limited. What exceeds both is in the file.
	const inFile, inArguments, variables = 900 << 10, 800 << 10, 8
	rest := 0
	if n <= inFile+inArguments {
		rest = max(n-inFile, 0)
	}
	dir := l.t.TempDir()
	file := filepath.Join(dir, "agent.yaml")
	l.writeFile(filepath.Join(dir, "script.yaml"), "steps: [{answer: done}]\n")
	l.writeFile(file, "name: talker\ntools: [swallow]\n"+
		"model: {provider: scripted, script: script.yaml}\n"+
		"instructions: x"+strings.Repeat("x", n-rest)+"\n")
	args := []string{"schedule", "create", id, "--agent", file, "--prompt", "Go.", "--interval", "24h"}
	for i := range variables {
		part := rest / (variables - i)
		rest -= part
		args = append(args, "--var", fmt.Sprintf("v%d=x%s", i, strings.Repeat("x", part)))
	}
	return l.command(args...)
}

// scheduledBytes returns the size of the input that a schedule was checked with, before starter
// adds the search attributes of the namespace.
func (l *lab) scheduledBytes(id string) int {
	l.t.Helper()
	about, err := l.Client.ScheduleClient().GetHandle(l.ctx, id).Describe(l.ctx)
	if err != nil {
		l.t.Fatal(err)
	}
	var input api.RunInput
	argument := about.Schedule.Action.(*client.ScheduleWorkflowAction).Args[0].(*commonpb.Payload)
	if err := converter.GetDefaultDataConverter().FromPayload(argument, &input); err != nil {
		l.t.Fatal(err)
	}
	input.Attributes = nil
	data, err := json.Marshal(input)
	if err != nil {
		l.t.Fatal(err)
	}
	return len(data)
}

// triggered starts a run of a schedule now and returns it.
func (l *lab) triggered(id string) client.WorkflowRun {
	l.t.Helper()
	handle := l.Client.ScheduleClient().GetHandle(l.ctx, id)
	if err := handle.Trigger(l.ctx, client.ScheduleTriggerOptions{}); err != nil {
		l.t.Fatal(err)
	}
	return l.scheduledRun(handle)
}

// scheduledRun waits for the first run of a schedule.
func (l *lab) scheduledRun(handle client.ScheduleHandle) client.WorkflowRun {
	l.t.Helper()
	started := ""
	l.await("the scheduled run", func() bool {
		about, err := handle.Describe(l.ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		for _, action := range about.Info.RecentActions {
			started = action.StartWorkflowResult.WorkflowID
		}
		return started != ""
	})
	return l.Client.GetWorkflow(l.ctx, started, "")
}

// update sends an update and returns the type of its refusal.
func (l *lab) update(id, name string, argument any) string {
	l.t.Helper()
	handle, err := l.Client.UpdateWorkflow(l.ctx, client.UpdateWorkflowOptions{WorkflowID: id,
		UpdateName: name, Args: []any{argument},
		WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(l.ctx, nil)
	}
	if err == nil {
		return ""
	}
	return refusedBy(err)
}

// For every entry point, values up to the limit are accepted and the run completes. Larger ones are
// refused with a type, and the run ends.
func TestSizes_EveryEntryPoint(t *testing.T) {
	for name, e := range entryPoints() {
		t.Run(name, func(t *testing.T) {
			l := sizesLab(t)
			sizes := []int{e.limit, e.limit + 1}
			if !testing.Short() {
				sizes = append(sizes, 100<<20)
			}
			for _, n := range sizes {
				run, refused := e.pass(l, fmt.Sprint("run-", n), n)
				switch {
				case n == e.limit && refused != "":
					t.Errorf("%d bytes: refused as %s", n, refused)
				case n == e.limit+1 && refused != e.refused:
					t.Errorf("%d bytes: refused as %q, want %q", n, refused, e.refused)
				case n > e.limit+1 && (refused == "") != (e.refused == ""):
					t.Errorf("%d bytes: refused as %q", n, refused)
				}
				if run != nil {
					_ = l.refusal(run)
					l.sound(run)
				}
			}
		})
	}
}
