package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
	"go.temporal.io/sdk/activity"
)

// there and absent are the answers of the tool found in the tests of verify.
const there, absent = `{"there":true,"order":{"name":"it"}}`, `{"there":false}`

// A call that took effect has the result that the verifying tool returns. One that had no effect,
// by two answers, fails and says so, or is made once more with the same id and key. With any other
// answer the outcome stays unknown. Each verification is a call with its own record.
func TestVerify_DecidesUnknownOutcomes(t *testing.T) {
	executed := func(tool string, verified ...int) (all []string) {
		names := []string{"1.1 " + tool, "1.1/verify-1.1 found", "1.1/verify-1.1-2 found",
			"1.1/verify-1.1-3 found", "1.1/verify-1.1-4 found"}
		for _, n := range verified {
			all = append(all, names[n])
		}
		return all
	}
	for _, test := range []struct {
		name     string
		tool     string
		founds   []string
		text     string
		executed []int
		failed   int
	}{
		{"there", "order", []string{there}, "it\n[note: verified by verify-1.1 of found",
			[]int{0, 1}, 0},
		{"there at the second answer", "order", []string{absent, there},
			"it\n[note: verified by verify-1.1-2 of found", []int{0, 1, 2}, 0},
		{"absent", "order", []string{absent, absent},
			"ERROR execution_error: order did not answer within 1s; verify-1.1-2 of found found that it had no effect",
			[]int{0, 1, 2}, 1},
		{"unreachable at the second answer", "order", []string{absent, ""},
			"ERROR outcome_unknown: order did not answer within 1s; verifying it failed",
			[]int{0, 1, 2}, 2},
		{"unreachable", "order", []string{""},
			"ERROR outcome_unknown: order did not answer within 1s; verifying it failed: execution_error: it cannot be reached",
			[]int{0, 1}, 2},
		{"neither", "order", []string{`{"there":"yes"}`},
			`verifying it failed: the answer of found has neither true nor false at "there"`,
			[]int{0, 1}, 1},
		{"without result", "order", []string{`{"there":true}`}, `but has no "order.name"`,
			[]int{0, 1}, 1},
		{"another form", "order", []string{`{"there":true,"order":{"name":7}}`},
			"ERROR invalid_output", []int{0, 1}, 1},
		{"repeatable and there", "reorder", []string{absent, there},
			"it\n[note: verified by verify-1.1-2 of found", []int{0, 1, 2}, 0},
		{"repeated, then there", "reorder", []string{absent, absent, there},
			"it\n[note: verified by verify-1.1-3 of found", []int{0, 1, 2, 0, 3}, 0},
		{"repeated, then absent", "reorder", []string{absent, absent, absent, absent},
			"ERROR execution_error: reorder did not answer within 1s; verify-1.1-4 of found found",
			[]int{0, 1, 2, 0, 3, 4}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newBookings(t)
			l.founds = test.founds
			l.runAgent(booker("", step(call(test.tool, `{}`)), answer("done")), "Go.")
			r := l.result()
			if len(l.founds) != 0 || r.Usage.Failed != test.failed || r.Usage.Calls != 1+
				len(test.founds) {
				t.Errorf("%d answers left, usage %+v", len(l.founds), r.Usage)
			}
			expect(t, "executed", l.executed, executed(test.tool, test.executed...))
			if got := l.conversation()[3].Text; !strings.Contains(got, test.text) {
				t.Errorf("the model reads %q, want %q", got, test.text)
			}
			for _, s := range l.scheduled {
				if s.tool == "found" && !strings.Contains(string(s.call.Arguments),
					s.call.Origin.Run+"/1.1") {
					t.Errorf("found was asked %s", s.call.Arguments)
				}
			}
		})
	}
}

// Only the second answer means that a call had no effect: it is requested after settle_after, or
// after the longest time that an attempt can run.
func TestVerify_WaitsUntilTheAttemptHasEnded(t *testing.T) {
	for tool, want := range map[string]time.Duration{"order": 6 * time.Second,
		"reorder": time.Minute} {
		l := newBookings(t)
		l.founds = []string{absent, there}
		asked := map[string]time.Time{}
		l.returns = func(info activity.Info) error {
			asked[info.ActivityID] = l.Now()
			return nil
		}
		l.runAgent(booker("", step(call(tool, `{}`)), answer("done")), "Go.")
		l.result()
		if waited := asked["verify-1.1-2"].Sub(asked["verify-1.1"]); waited < want ||
			waited > want+time.Second {
			t.Errorf("%s: the second answer was asked for after %s, want %s", tool, waited, want)
		}
	}
}

// A failing run undoes a call whose outcome stays unknown, and not one that had no effect.
func TestVerify_CompensatesWhatStaysUnknown(t *testing.T) {
	for name, test := range map[string]struct {
		founds []string
		undone int
	}{"unknown": {[]string{absent, ""}, 1}, "absent": {[]string{absent, absent}, 0}} {
		l := newBookings(t)
		l.founds = test.founds
		l.runAgent(booker("", step(call("order", `{}`))), "Go.")
		l.failure(api.RunModelFailed, nil)
		if len(l.stored) != test.undone {
			t.Errorf("%s: stored %q", name, l.stored)
		}
	}
}

// The model cannot call the verifying tool, and a call whose outcome stays unknown is undone by its
// key.
func TestVerify_InDirectCallsAndPlans(t *testing.T) {
	l := newBookings(t)
	l.founds = []string{`{"there":true,"order":{"name":"it"}}`}
	l.runCall(&api.Call{Tool: "order", Arguments: "{}"})
	if r := l.result(); string(r.Output) != `"it"` {
		t.Errorf("a direct call gives %s", r.Output)
	}

	l = newBookings(t)
	l.founds = []string{`{"there":true,"order":{"name":"it"}}`}
	l.runPlan(`{calls: [{id: a, tool: order}, {id: b, tool: book, arguments: {text: "${a}"}}]}`)
	l.result()
	expect(t, "stored", l.stored, []string{"it"})

	l = newBookings(t)
	l.founds = []string{""}
	l.runAgent(booker("", step(call("order", `{}`)), step(call("found", `{"key":"x"}`))), "Go.")
	l.failure(api.RunModelFailed, nil)
	if got := l.callResults()[1]; !strings.Contains(got, "tool_not_found") {
		t.Errorf("the model reads %q", got)
	}
	_, undone := l.undone()
	expect(t, "undone calls", undoneLines(undone), []string{"1.1 order by undo-1.1 unbook"})
	expect(t, "stored", l.stored, []string{l.scheduled[1].call.Origin.Run + "/1.1"})
}

// A run that is cancelled while it verifies a call, or waits to verify it again, does not repeat
// the call.
func TestVerify_EndsWithCancellation(t *testing.T) {
	for name, cancel := range map[string]func(*lab){
		"asked":   func(l *lab) { l.cancelAt("verify-1.1") },
		"waiting": func(l *lab) { l.after(30*time.Second, l.CancelWorkflow) },
	} {
		l := newBookings(t)
		l.founds = []string{absent}
		cancel(l)
		l.runAgent(booker("never", step(call("reorder", `{}`))), "Go.")
		l.cancelled()
		expect(t, name, l.executed[:min(len(l.executed), 2)], []string{"1.1 reorder",
			"1.1/verify-1.1 found"}[:len(l.executed)])
	}
}

// A hook's answer in place of the verifying tool counts, and the tool is not called.
func TestVerify_AcceptsAnswersOfHooks(t *testing.T) {
	l := newBookings(t)
	l.hooks.before = func(c tool.HookCall) (tool.HookDecision, error) {
		if c.Tool == "found" {
			return tool.HookDecision{Override: []byte(
				`{"there":true,"order":{"name":"known"}}`)}, nil
		}
		return tool.HookDecision{}, nil
	}
	l.founds = []string{`{"there":false}`, `{"there":false}`}
	l.runAgent(hooked(booker("", step(call("order", `{}`)), answer("done")), api.HookBeforeCall),
		"Go.")
	l.result()
	expect(t, "executed", l.executed, []string{"1.1 order"})
	if got := l.conversation()[3].Text; !strings.HasPrefix(got, "known") {
		t.Errorf("the model reads %q", got)
	}
}
