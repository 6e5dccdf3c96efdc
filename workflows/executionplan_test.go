package workflows_test

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

// A tool that hangs is stopped at the plan's timeout, one that fails has as many attempts as the
// plan says, and a refused plan does not affect other calls. No tool gets the plan.
func TestExecutionPlan_BoundsItsCall(t *testing.T) {
	l := newLab(t)
	l.modelAnswers(api.Message{Calls: []api.Call{
		{Tool: "hang", Arguments: `{"execution_plan":{"intent":"see whether it hangs","limits":{"timeout":"50ms","max_attempts":1}}}`},
		{Tool: "flaky", Arguments: `{"execution_plan":{"intent":"try once","limits":{"max_attempts":1}}}`},
		{Tool: "greet", Arguments: `{"name":"Ann","execution_plan":{"intent":"greet","limits":{"speed":"high"}}}`},
		{Tool: "greet", Arguments: `{"name":"Bob","execution_plan":{"intent":"greet","limits":{"timeout":"1h"}}}`},
	}}, api.Message{Text: "done"})
	l.runAgent(listedAgent(), "Go.")
	if r := l.result(); r.Answer != "done" || r.Usage.Failed != 3 {
		t.Errorf("result: %+v", r)
	}
	for n, want := range []string{"ERROR timeout: hang did not answer within 50ms",
		"ERROR execution_error: not yet",
		"ERROR invalid_execution_plan: the execution plan of the call to greet is not one\n  $.execution_plan.limits.speed",
		"hello Bob"} {
		if text := l.conversation()[3+n].Text; !strings.Contains(text, want) {
			t.Errorf("call %d: %s", n+1, text)
		}
	}
	for _, s := range l.scheduled {
		if strings.Contains(string(s.call.Arguments), "execution_plan") {
			t.Errorf("%s got the plan: %s", s.id, s.call.Arguments)
		}
		if s.tool == "hang" && s.call.Timeout.Std() != 50*time.Millisecond {
			t.Errorf("%s has %s", s.id, s.call.Timeout)
		}
	}
}
