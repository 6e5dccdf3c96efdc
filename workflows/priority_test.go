package workflows_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/lanes"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// ownID is the workflow's id in the test environment, ownRun the beginning of its run id: the
// fairness key of a run without a conversation.
const (
	ownID  = "default-test-workflow-id"
	ownRun = "default-"
)

// prioritizedTool is the tool echo under another name, on a separate lane.
func prioritizedTool(name string, priority api.Priority) toolspecs.Spec {
	return toolspecs.Spec{Name: name, Version: "1.0.0", Description: "Echoes.",
		Parameters: []toolspecs.Parameter{{Name: "value", Type: "string"}},
		Entry:      toolspecs.Entry{Kind: toolspecs.FunctionEntry{Handler: "echo"}},
		Execution:  toolspecs.ExecutionSpec{Effect: api.EffectRead, Lane: name, Priority: priority}}
}

// watchOptions records the options with which the run schedules activities, by id. The test
// environment ignores most of them.
func (l *lab) watchOptions() map[string]workflow.ActivityOptions { return l.watch().runFacts }

// watch records what the run passes to the SDK.
func (l *lab) watch() *optionsWatch {
	w := &optionsWatch{runFacts: map[string]workflow.ActivityOptions{}}
	l.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{w},
		DeadlockDetectionTimeout: busy})
	return w
}

type optionsWatch struct {
	interceptor.WorkerInterceptorBase
	runFacts map[string]workflow.ActivityOptions
	// upserts are the search attributes that were set, in order.
	upserts []string
}

func (w *optionsWatch) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	watched := &watchedInbound{watch: w}
	watched.Next = next
	return watched
}

type watchedInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	watch *optionsWatch
}

func (i *watchedInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	watched := &watchedOutbound{watch: i.watch}
	watched.Next = outbound
	return i.Next.Init(watched)
}

type watchedOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	watch *optionsWatch
}

func (o *watchedOutbound) ExecuteActivity(ctx workflow.Context, activityType string,
	args ...any) workflow.Future {
	options := workflow.GetActivityOptions(ctx)
	o.watch.runFacts[workflow.GetInfo(ctx).WorkflowExecution.ID+" "+options.ActivityID] = options
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}

// expectPriorities compares the priorities of the top run's activities.
func expectPriorities(t *testing.T, got map[string]workflow.ActivityOptions,
	want map[string]temporal.Priority) {
	t.Helper()
	for id, priority := range want {
		if o, ok := got[ownID+" "+id]; !ok || o.Priority != priority {
			t.Errorf("%s has the priority %+v (%t), want %+v", id, o.Priority, ok, priority)
		}
	}
	if len(got) != len(want) {
		t.Errorf("there are %d activities, want %d", len(got), len(want))
	}
}

// The priority of the plan precedes that of the run, which precedes that of the tool. The fairness
// key follows the rules of the lane. Defaults of the server are omitted.
func TestPriority_IsThatOfPlanRunOrTool(t *testing.T) {
	configured := lanes.NewSet(api.Lane{Name: "fifo", Limit: 1, Strategy: api.StrategyFIFO},
		api.Lane{Name: "unfair", Limit: 1, Fairness: api.FairnessNone},
		api.Lane{Name: "callers", Limit: 1, Fairness: api.FairnessCaller})
	const calls = `
name: steps
calls:
  - {id: plain, tool: echo, arguments: {value: 1}}
  - {id: urgent, tool: echo, arguments: {value: 1}, priority: urgent}
  - {id: tool, tool: lowly}
  - {id: fifo, tool: fifo, priority: urgent}
  - {id: unfair, tool: unfair, priority: low}
  - {id: caller, tool: callers}
`
	for _, test := range []struct {
		name string
		in   api.RunInput
		want map[string]temporal.Priority
	}{
		{"of a run that says nothing", api.RunInput{}, map[string]temporal.Priority{
			"plain": {FairnessKey: ownRun}, "urgent": {PriorityKey: 1, FairnessKey: ownRun},
			"tool": {PriorityKey: 4, FairnessKey: ownRun},
			"fifo": {FairnessKey: "all"}, "unfair": {PriorityKey: 4, FairnessKey: "all"},
			"caller": {FairnessKey: "plan/steps"}}},
		{"of an important run of a conversation", api.RunInput{Priority: api.PriorityHigh,
			Conversation: "talk"}, map[string]temporal.Priority{
			"plain": {PriorityKey: 2, FairnessKey: "talk"}, "urgent": {PriorityKey: 1,
				FairnessKey: "talk"}, "tool": {PriorityKey: 2, FairnessKey: "talk"},
			"fifo": {FairnessKey: "all"}, "unfair": {PriorityKey: 4, FairnessKey: "all"},
			"caller": {PriorityKey: 2, FairnessKey: "plan/steps"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newLabOf(t, 1, prioritizedTool("lowly", api.PriorityLow), prioritizedTool("fifo",
				""), prioritizedTool("unfair", ""), prioritizedTool("callers", ""))
			l.lanes = configured
			runFacts := l.watchOptions()
			test.in.Plan = plan(t, calls)
			l.ExecuteWorkflow(api.PlanWorkflow, test.in)
			l.result()
			expectPriorities(t, runFacts, test.want)
		})
	}
}

// A fairness key is never too long for the server.
func TestPriority_OfModelStepsIsThatOfTheRun(t *testing.T) {
	l := newLab(t)
	runFacts := l.watchOptions()
	l.ExecuteWorkflow(api.AgentWorkflow,
		api.RunInput{Agent: agent(step(call("echo", `{"value":1}`)), answer("done")), Prompt: "Go.",
			Priority: api.PriorityUrgent, Conversation: strings.Repeat("long ", 20)})
	l.result()
	key := lanerules.FairnessKey(strings.Repeat("long ", 20))
	urgent := temporal.Priority{PriorityKey: 1, FairnessKey: key}
	expectPriorities(t, runFacts, map[string]temporal.Priority{"turn-1": urgent, "1.1": urgent,
		"turn-2": urgent})
	if len(key) > 64 {
		t.Errorf("the fairness key has %d bytes", len(key))
	}
}

// A tree of runs of any depth has one fairness key. The priority of the call that starts a
// sub-agent precedes that of the run.
func TestPriority_ReachesSubAgents(t *testing.T) {
	deep := agentTool("deep", above("needy", step(call("needy", `{}`)), answer("deep down")))
	wide := agentTool("wide", above("deep", step(call("deep", `{"topic":"x"}`)), answer("wide")))
	for _, test := range []struct {
		run, call, want api.Priority
		level           int
	}{
		{"", "", "", 0}, {api.PriorityHigh, "", api.PriorityHigh, 2},
		{api.PriorityHigh, api.PriorityLow, api.PriorityLow, 4},
	} {
		l, inputs := newTree(t, deep, wide)
		runFacts := l.watchOptions()
		packed := api.Pack(api.Plan{Calls: []api.PlanCall{{ID: "a", Tool: "wide",
			Arguments: []byte(`{"topic":"x"}`), Priority: test.call}}})
		l.ExecuteWorkflow(api.PlanWorkflow, api.RunInput{Plan: &packed, Priority: test.run,
			Conversation: "talk", Variables: map[string]any{"project": "p"}})
		l.result()
		for path, in := range inputs {
			if in.Priority != test.want || in.Parent.Fairness != "talk" || in.Conversation != "" {
				t.Errorf("%s of a run of priority %q: %+v", path, test.run, in)
			}
		}
		if p := runFacts[ownID+
			"/a/1.1 1.1"].Priority; p != (temporal.Priority{PriorityKey: test.level,
			FairnessKey: "talk"}) {
			t.Errorf("the call of the sub-agent's sub-agent has the priority %+v of %v", p,
				slices.Collect(maps.Keys(runFacts)))
		}
		if len(inputs) != 2 {
			t.Errorf("%d runs below", len(inputs))
		}
	}
}
