package workflows_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/test/histories"
	"github.com/switchyard/switchyard/workflows"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

const historiesDir = "testdata/histories"

func readHistory(t *testing.T, name string) *historypb.History {
	t.Helper()
	h, err := histories.Read(filepath.Join(historiesDir, name))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Today's workflows take the decisions of the recorded runs of every behaviour, so open runs
// continue when workers are updated. If a history does not replay, do not just record it again: see
// docs/dev/changing-workflows.md.
func TestReplay_RepeatsTheRecordedDecisions(t *testing.T) {
	names, err := histories.Names(historiesDir)
	if err != nil {
		t.Fatal(err)
	}
	const least = 18
	if len(names) < least {
		t.Fatalf("%d histories in %s, want at least %d", len(names), historiesDir, least)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			h := readHistory(t, name)
			if err := histories.Replay(workflows.All(), h); err != nil {
				t.Error(err)
			}
			golden, err := os.ReadFile(filepath.Join(historiesDir, name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			if lines := strings.Join(histories.Lines(h), "\n") + "\n"; lines != string(golden) {
				t.Errorf("%s.txt does not belong to %s.json.gz, whose lines are:\n%s", name, name,
					lines)
			}
		})
	}
}

// agentWith returns the workflows with an agent run that is changed before it starts, as a careless
// change of the code would do.
func agentWith(change func(*api.RunInput)) map[string]any {
	all := maps.Clone(workflows.All())
	all[api.AgentWorkflow] = func(ctx workflow.Context, in api.RunInput,
		earlier []byte) (api.RunResult, error) {
		agent := *in.Agent
		in.Agent = &agent
		change(&in)
		return workflows.All()[api.AgentWorkflow].(func(workflow.Context, api.RunInput,
			[]byte) (api.RunResult, error))(ctx, in, earlier)
	}
	return all
}

// Each of these workflows decides differently in one place, and the replay of a history with that
// decision reports it.
func TestReplay_FailsForBrokenWorkflows(t *testing.T) {
	for _, test := range []struct {
		name, history string
		workflows     map[string]any
		fault         *fault
	}{
		{"another order", "agent_exclusive",
			agentWith(func(in *api.RunInput) { in.Agent.Order = api.OrderParallelFirst }), nil},
		{"another limit", "agent", agentWith(func(in *api.RunInput) { in.Agent.Limits.Turns = 1 }),
			nil},
		{"a timer more", "agent",
			agentWith(func(in *api.RunInput) {
				in.Agent.Limits.WallTime = api.Duration(
					time.Hour)
			}), nil},
		{"a timer less", "agent_wall_time",
			agentWith(func(in *api.RunInput) { in.Agent.Limits.WallTime = 0 }), nil},
		{"a turn more", "agent_continued.2", agentWith(func(in *api.RunInput) { in.State.Turn++ }),
			nil},
		{"another tool", "agent", workflows.All(),
			&fault{tool: func(string) string { return "another" }}},
		{"another call id", "plan", workflows.All(), &fault{id: func(id string) string {
			return id +
				"x"
		}}},
		{"admit skipped", "call", workflows.All(), &fault{skip: api.AdmitActivity}},
		{"pin skipped", "agent", workflows.All(), &fault{skip: api.PinActivity}},
		{"another id after a requeue", "call_requeued", workflows.All(),
			&fault{id: once("1.1")}},
		{"inline call skipped", "agent_inline", workflows.All(), &fault{skip: "in_append"}},
		{"inline step skipped", "agent_inline_steps", workflows.All(),
			&fault{skip: api.ModelActivity}},
		{"finalize_result skipped", "agent_sub_agents", workflows.All(),
			&fault{skip: api.FinalizeResultActivity}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := readHistory(t, test.history)
			none := &fault{}
			if err := histories.Replay(workflows.All(), h, none); err != nil {
				t.Fatalf("the history does not replay without the fault: %v", err)
			}
			if test.fault == nil {
				test.fault = none
			}
			if err := histories.Replay(test.workflows, h, test.fault); err == nil {
				t.Error("the replay of a broken workflow passed")
			}
		})
	}
}

// once keeps an id unchanged the first time.
func once(id string) func(string) string {
	runFacts := 0
	return func(asked string) string {
		if asked == id {
			runFacts++
		}
		return asked + strings.Repeat("x", max(runFacts-1, 0))
	}
}

// fault changes what workflows pass to the SDK: another type or id of a tool's activity, or another
// name of a local activity, which then is not found in the history.
type fault struct {
	interceptor.WorkerInterceptorBase
	tool, id func(string) string
	skip     string
}

func (f *fault) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	faulty := &faultyInbound{fault: f}
	faulty.Next = next
	return faulty
}

type faultyInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	fault *fault
}

func (i *faultyInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	faulty := &faultyOutbound{fault: i.fault}
	faulty.Next = outbound
	return i.Next.Init(faulty)
}

type faultyOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	fault *fault
}

func (o *faultyOutbound) ExecuteActivity(ctx workflow.Context, activityType string,
	args ...any) workflow.Future {
	if activityType != api.ModelActivity && o.fault.tool != nil {
		activityType = o.fault.tool(activityType)
	}
	if o.fault.id != nil {
		options := workflow.GetActivityOptions(ctx)
		options.ActivityID = o.fault.id(options.ActivityID)
		ctx = workflow.WithActivityOptions(ctx, options)
	}
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}

func (o *faultyOutbound) ExecuteLocalActivity(ctx workflow.Context, activityType string,
	args ...any) workflow.Future {
	if activityType != o.fault.skip {
		return o.Next.ExecuteLocalActivity(ctx, activityType, args...)
	}
	future, settable := workflow.NewFuture(ctx)
	settable.Set(nil, context.Canceled)
	return future
}
