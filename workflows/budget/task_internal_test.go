package budget

import (
	"log/slog"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// taskTest is a workflow in which workflow tasks begin only where the test says so.
type taskTest struct {
	*testing.T
	env    *testsuite.TestWorkflowEnvironment
	task   Task
	length int
	// timers counts the timers that end workflow tasks.
	timers int
}

func inTask(t *testing.T, run func(workflow.Context, *taskTest)) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	tt := &taskTest{T: t, env: environment(&suite)}
	tt.env.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		if d == time.Millisecond {
			tt.timers++
		}
	})
	tt.begin()
	tt.env.ExecuteWorkflow(func(ctx workflow.Context) error { run(ctx, tt); return nil })
	if err := tt.env.GetWorkflowError(); err != nil || !tt.env.IsWorkflowCompleted() {
		t.Errorf("the workflow ended with %v", err)
	}
}

// environment returns a test environment that logs nothing.
func environment(suite *testsuite.WorkflowTestSuite) *testsuite.TestWorkflowEnvironment {
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	return suite.NewTestWorkflowEnvironment()
}

// begin begins the next workflow task.
func (t *taskTest) begin() {
	t.length += 3
	t.env.SetCurrentHistoryLength(t.length)
}

// spend lets time pass within the workflow task, as local activities do.
func (t *taskTest) spend(ctx workflow.Context, d time.Duration) { _ = workflow.Sleep(ctx, d) }

func TestTask_TakesPayloadsUpToItsSize(t *testing.T) {
	type payload = struct {
		used, reserved, n int
		fits, inline      bool
	}
	for name, p := range map[string]payload{
		"first, of any size":           {0, 0, 3 * maxTask, true, true},
		"at the limit":                 {maxTask/2 - overhead, 0, maxTask / 2, true, true},
		"one byte beyond":              {maxTask/2 - overhead, 0, maxTask/2 + 1, false, false},
		"beside reservations":          {maxTask/2 - overhead, maxTask / 4, maxTask / 4, true, true},
		"one byte beyond those":        {maxTask/2 - overhead, maxTask / 4, maxTask/4 + 1, false, false},
		"small, beside reservations":   {maxTask/2 - overhead, maxTask / 2, small, true, false},
		"small, beyond its own bound":  {maxTask/2 - overhead, maxTask/2 + moreForSmall, 1, false, false},
		"larger, beside reservations":  {maxTask/2 - overhead, maxTask / 2, small + 1, false, false},
		"small, at the limit in all":   {maxTask - overhead, moreForSmall - small, small, true, false},
		"small, one byte beyond it":    {maxTask - overhead, moreForSmall - small + 1, small, false, false},
		"small, in a task without any": {0, 0, 1, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			inTask(t, func(ctx workflow.Context, t *taskTest) {
				if p.used > 0 {
					t.task.Add(ctx, p.used)
				}
				if p.reserved > 0 {
					t.task.Enter(ctx, "a", p.reserved)
				}
				if got := t.task.Fits(ctx, p.n); got != p.fits {
					t.Errorf("fits: %t", got)
				}
				if got := t.task.FitsInline(ctx, p.n); got != p.inline {
					t.Errorf("fits inline: %t", got)
				}
			})
		})
	}
}

func TestTask_CountsPerWorkflowTask(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Add(ctx, maxTask)
		t.task.Enter(ctx, "a", 100)
		t.task.Leave(ctx, "a", 60)
		t.task.Leave(ctx, "unknown", maxTask)
		if events, bytes := t.task.Pending(ctx); events != 2 || bytes != maxTask+60+2*overhead {
			t.Errorf("%d events with %d bytes", events, bytes)
		}
		t.begin()
		if events, bytes := t.task.Pending(ctx); events != 0 || bytes != 0 {
			t.Errorf("the next task has %d events with %d bytes", events, bytes)
		}
		if !t.task.Fits(ctx, maxTask) {
			t.Error("the next task has no space")
		}
	})
}

func TestTask_AwaitEndsAFullTask(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Add(ctx, maxTask)
		ended := 0
		for range 3 { // several calls need one timer
			workflow.Go(ctx, func(ctx workflow.Context) {
				if err := t.task.Await(ctx, maxTask/4); err != nil {
					t.Error(err)
				}
				t.task.Add(ctx, maxTask/4)
				ended++
			})
		}
		if err := workflow.Await(ctx, func() bool { return ended == 3 }); err != nil {
			t.Error(err)
		}
		if t.timers != 1 {
			t.Errorf("%d timers", t.timers)
		}
	})
}

func TestTask_AwaitWaitsForLocalActivities(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Enter(ctx, "a", maxTask)
		workflow.Go(ctx, func(ctx workflow.Context) {
			t.spend(ctx, time.Minute)
			t.task.Leave(ctx, "a", 1000)
		})
		if err := t.task.Await(ctx, small); err != nil || t.timers > 0 {
			t.Errorf("a small payload: %v, %d timers", err, t.timers)
		}
		began := workflow.Now(ctx)
		if err := t.task.Await(ctx, small+1); err != nil || t.timers > 0 ||
			workflow.Now(ctx).Sub(began) != time.Minute {
			t.Errorf("a larger payload: %v, %d timers, after %v", err, t.timers,
				workflow.Now(ctx).Sub(began))
		}
	})
}

func TestTask_AwaitEndsWithItsContext(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Enter(ctx, "a", maxTask)
		cancelled, cancel := workflow.WithCancel(ctx)
		cancel()
		if err := t.task.Await(cancelled, maxTask); err == nil {
			t.Error("a cancelled call got its space")
		}
		t.task.Leave(ctx, "a", maxTask)
		if err := t.task.Await(cancelled, maxTask); err == nil {
			t.Error("a cancelled call got its space")
		}
		if err := t.task.Record(cancelled, maxTask, func() int {
			t.Error("the activity runs")
			return 0
		}); err == nil {
			t.Error("a cancelled activity is recorded")
		}
	})
}

func TestTask_RecordReservesWhileTheActivityRuns(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		if err := t.task.Record(ctx, maxTask, func() int {
			if t.task.Fits(ctx, small+1) {
				t.Error("the marker is not reserved")
			}
			return 1000
		}); err != nil {
			t.Error(err)
		}
		if events, bytes := t.task.Pending(ctx); events != 1 || bytes != 1000+overhead {
			t.Errorf("%d events with %d bytes", events, bytes)
		}
		// A marker that does not fit goes into the next task, also while an activity runs.
		t.task.Enter(ctx, "a", maxTask)
		if err := t.task.Record(ctx, 1, func() int { return 1 }); err != nil || t.timers != 1 {
			t.Errorf("%v, %d timers", err, t.timers)
		}
	})
}

// What local activities returned is lost with its worker until the server has it.
func TestTask_EndsWhenLocalActivitiesHaveTakenLong(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		if t.spend(ctx, 2*maxUnsaved); !t.task.FitsInline(ctx, 1) {
			t.Error("a task without results ends")
		}
		t.begin()
		t.task.Enter(ctx, "a", 1)
		t.spend(ctx, maxUnsaved-1)
		if t.task.Leave(ctx, "a", 1); !t.task.FitsInline(ctx, 1) {
			t.Error("the task ends early")
		}
		t.spend(ctx, 1)
		if t.task.FitsInline(ctx, 1) || !t.task.Fits(ctx, 1) {
			t.Error("the task takes a further local activity, or no other command")
		}
		if err := t.task.AwaitInline(ctx, 1); err != nil || t.timers != 1 ||
			!t.task.FitsInline(ctx, 1) {
			t.Errorf("%v, %d timers", err, t.timers)
		}
		// Running local activities end first.
		t.task.Enter(ctx, "b", 1)
		t.task.Enter(ctx, "c", 1)
		t.spend(ctx, maxUnsaved)
		t.task.Leave(ctx, "b", 1)
		workflow.Go(ctx, func(ctx workflow.Context) {
			t.spend(ctx, maxUnsaved)
			t.task.Leave(ctx, "c", 1)
		})
		began := workflow.Now(ctx)
		if err := t.task.AwaitInline(ctx, 1); err != nil || t.timers != 2 ||
			workflow.Now(ctx).Sub(began) < maxUnsaved {
			t.Errorf("%v, %d timers after %v", err, t.timers, workflow.Now(ctx).Sub(began))
		}
	})
}

func TestDecisionsSize_CountsEveryPartOfADecision(t *testing.T) {
	large := make([]byte, 10_000)
	for i := range large {
		large[i] = 'x'
	}
	text := string(large)
	pinned := api.Pack(api.PinnedPolicies{Digest: text})
	for name, v := range map[string]api.AdmissionDecision{
		"arguments": {Arguments: large}, "prompt": {Prompt: text}, "question": {Question: text},
		"notes": {Notes: []string{text}}, "error": {Error: api.Errorf(api.ErrExecution, "%s", text)},
		"approval": {Approval: &api.ApprovalNeed{Text: text}},
		"result":   {Result: &api.Result{Output: large}}, "labels": {Labels: []string{text}},
		"policies": {Policies: []api.PolicyAction{{Failure: text}}}, "pinned": {Pinned: &pinned},
		"hooks": {Hooks: []api.HookAction{{Hook: text}}}, "plan": {Plan: &api.ExecutionPlan{
			Intent: text}},
	} {
		if n := DecisionsSize([]api.AdmissionDecision{v, v}); n < 20_000 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
}

// A task that is being ended accepts updates that fit, starts no commands, and is ended once.
func TestTask_AcceptsUpdatesWhileItEnds(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Add(ctx, maxTask/2)
		var over bool
		workflow.Go(ctx, func(ctx workflow.Context) {
			if err := t.task.Await(ctx, maxTask/2); err != nil {
				t.Error(err)
			}
			over = true
		})
		if err := workflow.Await(ctx, func() bool { return t.task.ending }); err != nil {
			t.Error(err)
		}
		if !t.task.Accepts(ctx, maxTask/4) || t.task.Accepts(ctx, maxTask/2) ||
			t.task.Fits(ctx, 1) {
			t.Error("the ending task accepts no update, a large one, or a command")
		}
		// The next task may begin before the run learns that its timer has fired.
		t.begin()
		t.task.Add(ctx, 1000)
		if err := workflow.Await(ctx, func() bool { return over }); err != nil {
			t.Error(err)
		}
		if events, bytes := t.task.Pending(ctx); events != 1 || bytes != 1000+overhead {
			t.Errorf("the next task has %d events with %d bytes", events, bytes)
		}
	})
}

// The validator of a refused update asks in a task that the server forgets, and whose number it
// gives to a later one. A replay calls no validators, so the later task is as if none had asked.
func TestTask_ForgetsWhatValidatorsAsk(t *testing.T) {
	inTask(t, func(ctx workflow.Context, t *taskTest) {
		t.task.Add(ctx, maxTask)
		t.begin()
		t.task.Accepts(ctx, 1)
		t.task.FitsInline(ctx, 1)
		t.task.Pending(ctx)
		t.spend(ctx, 2*maxUnsaved)
		t.task.Enter(ctx, "a", 1)
		if t.task.Leave(ctx, "a", 1); !t.task.FitsInline(ctx, 1) {
			t.Error("the task began when a validator asked")
		}
	})
}
