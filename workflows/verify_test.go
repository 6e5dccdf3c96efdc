package workflows_test

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/api"
)

// TestVerify proves what becomes of a call whose outcome is unknown where its tool says how to find
// out: what has taken effect has the result that the tool which verifies knows; what has not is
// made once more under the same id, and so with the same key; whatever else that tool says leaves
// the outcome unknown. Its calls are ones of their own, on behalf of the verified call.
func TestVerify(t *testing.T) {
	const there, absent = `{"there":true,"order":{"name":"it"}}`, `{"there":false}`
	const first, again = "1.1 order", "1.1/verify-1.1 found"
	for _, test := range []struct {
		name     string
		founds   []string
		told     string
		executed []string
		failed   int
	}{
		{"there", []string{there}, "it\n[note: verified by verify-1.1 of found",
			[]string{first, again}, 0},
		{"then there", []string{absent, there}, "it\n[note: verified by verify-1.1-2 of found",
			[]string{first, again, first, "1.1/verify-1.1-2 found"}, 0},
		{"never there", []string{absent, absent},
			"ERROR outcome_unknown: order did not answer within 1s; it had not taken effect when it was verified",
			[]string{first, again, first, "1.1/verify-1.1-2 found"}, 1},
		{"unreachable", []string{""},
			"ERROR outcome_unknown: order did not answer within 1s; verifying it failed: execution_error: it cannot be reached",
			[]string{first, again}, 2},
		{"neither", []string{`{"there":"yes"}`},
			`verifying it failed: the answer of found has neither true nor false at "there"`,
			[]string{first, again}, 1},
		{"without result", []string{`{"there":true}`}, `and has nothing at "order.name"`,
			[]string{first, again}, 1},
		{"another form", []string{`{"there":true,"order":{"name":7}}`}, "ERROR invalid_output",
			[]string{first, again}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newBookings(t)
			l.founds = test.founds
			l.runAgent(booker("", step(call("order", `{}`)), answer("done")), "Go.")
			r := l.result()
			if len(l.founds) != 0 || r.Usage.Failed != test.failed || r.Usage.Calls != 1+
				len(test.founds) {
				t.Errorf("%d answers left, usage %+v", len(l.founds), r.Usage)
			}
			expect(t, "executed", l.executed, test.executed)
			if got := l.conversation()[3].Text; !strings.Contains(got, test.told) {
				t.Errorf("the model was told %q, want %q", got, test.told)
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

// TestVerifyInRuns proves that direct calls and plans verify too, that the model cannot call the
// tool that verifies, and that a call whose outcome stays unknown is undone by its key.
func TestVerifyInRuns(t *testing.T) {
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
	if got := l.toldOf()[1]; !strings.Contains(got, "tool_not_found") {
		t.Errorf("the model was told %q", got)
	}
	_, undone := l.undone()
	expect(t, "told", toldUndone(undone), []string{"1.1 order by undo-1.1 unbook"})
	expect(t, "stored", l.stored, []string{l.scheduled[1].call.Origin.Run + "/1.1"})
}

// TestVerifyCancelled proves that a run that is cancelled while it finds out does not make the call
// again.
func TestVerifyCancelled(t *testing.T) {
	l := newBookings(t)
	l.founds = []string{`{"there":false}`}
	l.cancelAt("verify-1.1")
	l.runAgent(booker("never", step(call("order", `{}`))), "Go.")
	l.cancelled()
	for _, e := range l.executed[1:] {
		if e == "1.1 order" {
			t.Errorf("executed: %v", l.executed)
		}
	}
}

// TestVerifyAnswered proves that a hook's answer in place of the tool that verifies is taken for
// it, and that the tool is not called.
func TestVerifyAnswered(t *testing.T) {
	l := newBookings(t)
	l.hooks.before = func(c switchyard.HookCall) (switchyard.HookDecision, error) {
		if c.Tool == "found" {
			return switchyard.HookDecision{Override: []byte(
				`{"there":true,"order":{"name":"known"}}`)}, nil
		}
		return switchyard.HookDecision{}, nil
	}
	l.founds = []string{`{"there":false}`, `{"there":false}`}
	l.runAgent(hooked(booker("", step(call("order", `{}`)), answer("done")), api.HookBeforeCall),
		"Go.")
	l.result()
	expect(t, "executed", l.executed, []string{"1.1 order"})
	if got := l.conversation()[3].Text; !strings.HasPrefix(got, "known") {
		t.Errorf("the model was told %q", got)
	}
}
