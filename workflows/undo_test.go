package workflows_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// bookings are tools that book, each undone by unbook: one whose result the undo needs, one that
// hangs and whose undo does not need the result, one that hangs and whose undo does, and one whose
// answer never has the declared form.
const bookings = `
name: book
version: 1.0.0
description: Books.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: store}
execution: {lane: serial, access: exclusive, effect: once}
undo: {tool: unbook, arguments: {text: "{{result}} {{args.text}}"}}
---
name: unbook
version: 1.0.0
description: Takes a booking back.
parameters: [{name: text, type: string, required: true}]
entry: {type: function, handler: store}
execution: {lane: serial, access: exclusive, effect: idempotent}
---
name: hang_known
version: 1.0.0
description: Hangs.
entry: {type: function, handler: hang}
execution: {effect: once, timeout: 1s}
undo: {tool: unbook, arguments: {text: "{{call.key}}"}}
---
name: hang_unknown
version: 1.0.0
description: Hangs.
entry: {type: function, handler: hang}
execution: {effect: idempotent, timeout: 1s}
undo: {tool: unbook, arguments: {text: "{{result.id}}"}}
---
name: malformed
version: 1.0.0
description: Books, and answers with another form than is declared.
parameters: [{name: text, type: string, required: true}]
output: {type: string}
entry: {type: function, handler: store}
execution: {effect: once}
undo: {tool: unbook, arguments: {text: "{{args.text}} of {{call.key}}"}}
---
name: found
version: 1.0.0
description: Returns what exists for a key.
parameters: [{name: key, type: string, required: true}]
entry: {type: function}
execution: {effect: read}
---
name: order
version: 1.0.0
description: Orders.
output: {type: string}
entry: {type: function, handler: hang}
execution: {effect: once, timeout: 1s}
verify: {tool: found, arguments: {key: "{{call.key}}"}, done: there, result: order.name}
undo: {tool: unbook, arguments: {text: "{{call.key}}"}}
---
name: reorder
version: 1.0.0
description: Orders, and once more if it had no effect.
output: {type: string}
entry: {type: function, handler: hang}
execution: {effect: once, timeout: 1s}
verify:
  tool: found
  arguments: {key: "{{call.key}}"}
  done: there
  result: order.name
  settle_after: 1m
  on_absent: repeat
`

func newBookings(t *testing.T, more ...toolspecs.Spec) *lab {
	t.Helper()
	specs, err := toolspecs.Decode("bookings.yaml", []byte(bookings), toolspecs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newLabOf(t, 1, append(specs, more...)...)
}

// booker returns an agent that may book, but not undo.
func booker(when api.UndoWhen, steps ...api.ScriptStep) *api.Agent {
	a := agent(steps...)
	a.Tools = strings.Fields("book hang hang_known hang_unknown malformed broken greet order reorder")
	a.Undo = when
	return a
}

func book(text string) api.ScriptCall { return call("book", fmt.Sprintf(`{"text":%q}`, text)) }

// undoingFails makes the calls of these ids fail.
func (l *lab) undoingFails(ids ...string) {
	l.returns = func(info activity.Info) error {
		if slices.Contains(ids, info.ActivityID) {
			return executor.Failure(api.Errorf(api.ErrExecution, "the desk is closed"))
		}
		return nil
	}
}

// undoneLines returns one line for each undone call of a run.
func undoneLines(undone []api.Undone) []string {
	var lines []string
	for _, u := range undone {
		line := u.TargetCallID + " " + u.TargetTool + " by " + u.CallID + " " + u.Tool
		if u.Error != nil {
			line += ": " + string(u.Error.Type)
		}
		lines = append(lines, line)
	}
	return lines
}

// undone returns what the end of a run contains: its usage, and its undone calls.
func (l *lab) undone() (usage api.Usage, undone []api.Undone) {
	l.t.Helper()
	err := l.GetWorkflowError()
	details := func(...any) error { return errors.New("it has no details") }
	if cancelled, ok := errors.AsType[*temporal.CanceledError](err); ok {
		details = cancelled.Details
	} else if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		details = app.Details
	}
	if err := details(&usage, &undone); err != nil {
		l.t.Fatalf("the run ended with %v: %v", l.GetWorkflowError(), err)
	}
	return usage, undone
}

// The last call is undone first, each by a separate call for its target, with the arguments and the
// result of the target. A failed call, and one without undo, are skipped.
func TestUndo_RunsAtFailedEnds(t *testing.T) {
	calls := []api.ScriptStep{step(book("a"), book("b"), call("broken", `{}`),
		call("greet", `{"name":"x"}`)), step(book("c"))}
	reverse := []string{"2.1/undo-2.1 unbook", "1.2/undo-1.2 unbook", "1.1/undo-1.1 unbook"}
	for _, test := range []struct {
		when     api.UndoWhen
		end      string
		wantUndo bool
	}{
		{"", "fails", true}, {"", "cancelled", true}, {"", "answers", false}, {"", "limit", false},
		{api.UndoBoth, "fails", true},
		{api.UndoOnFailure, "fails", true}, {api.UndoOnFailure, "cancelled", false},
		{api.UndoOnCancel, "fails", false}, {api.UndoOnCancel, "cancelled", true},
		{api.UndoNever, "fails", false}, {api.UndoNever, "cancelled", false},
	} {
		t.Run(string(test.when)+" "+test.end, func(t *testing.T) {
			l := newBookings(t)
			a := booker(test.when, calls...)
			switch steps := &a.Model.Script.Value.Steps; test.end {
			case "cancelled":
				*steps = append(*steps, step(call("hang", `{}`)))
				l.cancelAt("hang")
			case "answers":
				*steps = append(*steps, answer("done"))
			case "limit":
				a.Limits.Turns = 2
			}
			l.runAgent(a, "Go.")
			want := []string{"1.1 book", "1.2 book", "1.3 broken", "1.4 greet", "2.1 book"}
			if test.end == "cancelled" {
				want = append(want, "3.1 hang")
			}
			if test.wantUndo {
				want = append(want, reverse...)
				expect(t, "stored", l.stored, []string{"a", "b", "c", "3 c", "2 b", "1 a"})
				usage, undone := l.undone()
				if usage.Calls != len(want) {
					t.Errorf("the run counts %d calls, and made %d", usage.Calls, len(want))
				}
				expect(t, "undone calls", undoneLines(undone), []string{"2.1 book by undo-2.1 unbook",
					"1.2 book by undo-1.2 unbook", "1.1 book by undo-1.1 unbook"})
			}
			slices.Sort(l.executed[:4])
			expect(t, "executed", l.executed, want)
		})
	}
}

// The end of the run names the call that was not undone, and another cancellation stops nothing.
func TestUndo_ContinuesAfterAFailure(t *testing.T) {
	l := newBookings(t)
	l.undoingFails("undo-1.2")
	l.cancelAt("undo-1.3")
	l.runAgent(booker("", step(book("a"), book("b"), book("c"))), "Go.")
	app := l.failure(api.RunModelFailed, nil)
	if app.Message() != "the model step of turn 2 failed: the script has 1 steps and the run is at turn 2; end the script with an answer\n(calls undone: 2, not undone: 1)" {
		t.Errorf("message: %s", app.Message())
	}
	_, undone := l.undone()
	expect(t, "undone calls", undoneLines(undone), []string{"1.3 book by undo-1.3 unbook",
		"1.2 book by undo-1.2 unbook: execution_error", "1.1 book by undo-1.1 unbook"})
	expect(t, "stored", l.stored, []string{"a", "b", "c", "3 c", "1 a"})
}

// A call that timed out or was cancelled while it ran is undone by its key. If the undo needs its
// result, it is reported as not undone. A call whose answer has another form has taken effect.
func TestUndo_OfCallsThatMayHaveActed(t *testing.T) {
	l := newBookings(t)
	l.runAgent(booker("", step(call("malformed", `{"text":"m"}`)), step(call("hang_known", `{}`)),
		step(call("hang_unknown", `{}`)),
		step(call("book", `{"wrong":1}`), call("nosuch", `{}`))), "Go.")
	l.failure(api.RunModelFailed, nil)
	_, undone := l.undone()
	expect(t, "undone calls", undoneLines(undone),
		[]string{"3.1 hang_unknown by undo-3.1 unbook: precondition_failed",
			"2.1 hang_known by undo-2.1 unbook", "1.1 malformed by undo-1.1 unbook"})
	if message := undone[0].Error.Message; message != "call 3.1 of hang_unknown cannot be undone: {{result.id}}: the result of the call is unknown; it may have taken effect" {
		t.Errorf("message: %s", message)
	}
	run := l.scheduled[1].call.Origin.Run
	expect(t, "stored", l.stored, []string{"m", run + "/2.1", "m of " + run + "/1.1"})
}

// A plan with a failed call undoes the completed ones. The undo of a plan precedes that of the
// tool, and the run's result lists it.
func TestUndo_InPlans(t *testing.T) {
	const calls = `
calls:
  - {id: a, tool: book, arguments: {text: room}}
  - {id: b, tool: book, arguments: {text: "${a} flight"}}
  - {id: c, tool: broken, depends_on: [b]}
`
	l := newBookings(t)
	l.runPlan(calls)
	var r api.RunResult
	l.failure(api.RunCallsFailed, &r)
	expect(t, "stored", l.stored, []string{"room", "1 flight", "2 1 flight", "1 room"})
	expect(t, "undone calls", undoneLines(r.Undone), []string{"b book by undo-b unbook",
		"a book by undo-a unbook"})
	if r.Usage.Calls != 5 || len(r.Failures) != 1 {
		t.Errorf("result: %+v", r)
	}

	l = newBookings(t)
	l.runPlan("undo: on_cancel" + calls)
	l.failure(api.RunCallsFailed, &r)
	expect(t, "stored", l.stored, []string{"room", "1 flight"})

	l = newBookings(t)
	l.cancelAt("hang")
	l.runPlan(`{calls: [{id: a, tool: book, arguments: {text: room}}, {id: b, tool: hang, depends_on: [a]}]}`)
	l.cancelled()
	_, undone := l.undone()
	expect(t, "undone calls", undoneLines(undone), []string{"a book by undo-a unbook"})
}

// The caller gets the outcome and can decide.
func TestUndo_SkipsDirectCalls(t *testing.T) {
	l := newBookings(t)
	l.runCall(&api.Call{Tool: "hang_known", Arguments: "{}"})
	l.failure(api.RunCallsFailed, nil)
	expect(t, "executed", l.executed, []string{"1.1 hang_known"})
}

// A failing sub-agent undoes its own calls. Those of a completed one are undone by the run that
// called it, in their place among that run's calls.
func TestUndo_OfSubAgents(t *testing.T) {
	completes := agentTool("completes", booker("", step(book("a")), answer("booked")))
	fails := agentTool("fails", booker("", step(book("b"))))
	l := newBookings(t, completes, fails)
	a := booker("", step(book("c")), step(call("completes", `{}`)), step(call("fails", `{}`)),
		step(book("d")))
	a.Tools = append(a.Tools, "completes", "fails")
	l.runAgent(a, "Go.")
	l.failure(api.RunModelFailed, nil)
	_, undone := l.undone()
	expect(t, "undone calls", undoneLines(undone), []string{"4.1 book by undo-4.1 unbook",
		"2.1/1.1 book by undo-2.1/1.1 unbook", "1.1 book by undo-1.1 unbook"})
	expect(t, "stored", l.stored, []string{"c", "a", "b", "3 b", "d", "5 d", "2 a", "1 c"})
}

// A continued run also undoes calls of its earlier parts.
func TestUndo_SurvivesContinueAsNew(t *testing.T) {
	first := newBookings(t)
	first.SetContinueAsNewSuggested(true)
	first.runAgent(booker("", step(book("a"), book("b")), step(book("c"))), "Go.")
	next, earlier := first.continued()

	second := newBookings(t)
	second.ExecuteWorkflow(api.AgentWorkflow, next, earlier)
	second.failure(api.RunModelFailed, nil)
	expect(t, "stored", second.stored, []string{"c", "1 c", "2 b", "1 a"})
}

// The model cannot call the tool that undoes. A run with an unknown one does not start.
func TestUndo_IsPinnedWithTheRun(t *testing.T) {
	l := newBookings(t)
	l.runAgent(booker("", step(call("unbook", `{"text":"x"}`)), answer("done")), "Go.")
	l.result()
	if got := l.conversation()[3].Text; !strings.Contains(got, "tool_not_found") {
		t.Errorf("the model reads %q", got)
	}
	l = newLabOf(t, 1, toolspecs.Spec{Name: "lonely", Version: "1.0.0", Description: "Lonely.",
		Entry: toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "store"}},
		Undo:  &api.Undo{Tool: "unbok"}})
	l.runAgent(above("lonely", answer("done")), "Go.")
	if app := l.failure(api.RunInvalid, nil); app.Message() != `nothing was run: $.tools[0]: tool "lonely" is undone by "unbok": no worker's catalog has a tool "unbok"` {
		t.Errorf("message: %s", app.Message())
	}
}

// Calls beyond the stored ones are reported as not undone.
func TestUndo_IsBounded(t *testing.T) {
	l := newBookings(t)
	long := strings.Repeat("x", 30<<10)
	var calls []api.ScriptCall
	for range 19 {
		calls = append(calls, book(long))
	}
	l.runAgent(booker("", step(calls...), step(book(strings.Repeat("x", 33<<10)))), "Go.")
	l.failure(api.RunModelFailed, nil)
	_, undone := l.undone()
	failed := 0
	for _, u := range undone {
		if u.Error != nil {
			failed++
		}
	}
	if len(undone) != 20 || failed != 3 || undone[0].Error.Message != "call 2.1 of book cannot be undone: the arguments would have 33806 bytes; the maximum is 32768" ||
		undone[1].Error.Message != "call 1.19 of book cannot be undone: the run keeps 522469 bytes of arguments of such calls already; at most 524288 are kept" {
		t.Errorf("%d of %d calls were not undone: %v", failed, len(undone), undone[0].Error)
	}
}
