package host

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows"
)

// runAs runs a workflow of that name with the given end and an observer.
func runAs(t *testing.T, o *observer, name string, in api.RunInput, result api.RunResult,
	failure error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{o}})
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context,
		_ *api.RunInput) (*api.RunResult, error) {
		decided := func(_ workflow.Context, d api.Decision) error {
			if d.By == "" {
				return errors.New("without a cause")
			}
			return nil
		}
		replied := func(workflow.Context, api.Reply) error { return nil }
		asked := func(workflow.Context, api.Question) error { return nil }
		for update, handler := range map[string]any{api.DecideApprovalUpdate: decided,
			api.AnswerQuestionUpdate: replied, api.AskQuestionUpdate: asked} {
			if err := workflow.SetUpdateHandler(ctx, update, handler); err != nil {
				return nil, err
			}
		}
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return nil, err
		}
		return &result, failure
	}, workflow.RegisterOptions{Name: name})
	if in.Call != nil {
		env.RegisterDelayedCallback(func() {
			for _, d := range []api.Decision{{Kind: api.DecisionDeny, By: "ada"},
				{Kind: api.DecisionApprove}} {
				env.UpdateWorkflowNoRejection(api.DecideApprovalUpdate, string(d.Kind), t, d)
			}
			env.UpdateWorkflowNoRejection(api.AskQuestionUpdate, "q", t, api.Question{})
			env.UpdateWorkflowNoRejection(api.AnswerQuestionUpdate, "r", t,
				api.Reply{Decline: true})
			env.UpdateWorkflowNoRejection(api.AnswerQuestionUpdate, "s", t, api.Reply{})
		}, time.Second)
	}
	env.ExecuteWorkflow(name, in)
}

func TestRunMetrics_CountStartsEndsLimitsAndDecisions(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.DiscardHandler))
	agent := &api.Agent{Name: "clerk"}
	runAs(t, o, api.AgentWorkflow, api.RunInput{Agent: agent},
		api.RunResult{Outcome: api.OutcomeAnswered}, nil)
	runAs(t, o, api.AgentWorkflow, api.RunInput{Agent: agent},
		api.RunResult{Outcome: api.OutcomeLimit, Limit: "turns"}, nil)
	runAs(t, o, api.AgentWorkflow, api.RunInput{Agent: agent, Parent: &api.Parent{}},
		api.RunResult{},
		temporal.NewNonRetryableApplicationError("x", string(api.RunModelFailed), nil))
	runAs(t, o, api.AgentWorkflow, api.RunInput{Agent: agent,
		State: &api.ContinueState{Started: time.Now().Add(-time.Hour)}},
		api.RunResult{Outcome: api.OutcomeAnswered}, nil)
	runAs(t, o, api.PlanWorkflow, api.RunInput{}, api.RunResult{}, temporal.NewCanceledError())
	runAs(t, o, api.CallWorkflow, api.RunInput{Call: &api.Call{}},
		api.RunResult{Outcome: api.OutcomeCompleted}, nil)
	runAs(t, o, api.LaneSlotsWorkflow, api.RunInput{}, api.RunResult{}, nil)
	serve(t, registry).has(t,
		`switchyard_runs_started_total{agent="clerk",kind="agent"} 2`,
		`switchyard_runs_started_total{agent="clerk",kind="sub_agent"} 1`,
		`switchyard_runs_ended_total{agent="clerk",kind="agent",outcome="answered"} 2`,
		`switchyard_runs_ended_total{agent="clerk",kind="agent",outcome="limit_reached"} 1`,
		`switchyard_runs_ended_total{agent="clerk",kind="sub_agent",outcome="failed"} 1`,
		`switchyard_run_failures_total{kind="sub_agent",type="model_failed"} 1`,
		`switchyard_runs_ended_total{agent="",kind="plan",outcome="cancelled"} 1`,
		`switchyard_runs_ended_total{agent="",kind="direct",outcome="completed"} 1`,
		`switchyard_limits_reached_total{action="ended",limit="turns"} 1`,
		`switchyard_run_duration_seconds_count{kind="agent"} 3`,
		`switchyard_approvals_decided_total{decision="deny"} 1`,
		`switchyard_approvals_decided_total{decision="refused"} 1`,
		`switchyard_questions_asked_total 1`,
		`switchyard_questions_answered_total{outcome="declined"} 1`,
		`switchyard_questions_answered_total{outcome="answered"} 1`,
	)
}

// TestRunMetrics_CountTheWorkflowsOfRuns proves that the observer knows the types of the
// workflows that workers execute, which it calls itself.
func TestRunMetrics_CountTheWorkflowsOfRuns(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.DiscardHandler))
	o.direct = workflows.All()
	for name := range runKinds {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{o}})
		env.RegisterWorkflowWithOptions(func(workflow.Context, *api.RunInput) (*api.RunResult,
			error) {
			return nil, errors.New("the SDK called the workflow")
		}, workflow.RegisterOptions{Name: name})
		env.ExecuteWorkflow(name, api.RunInput{Parent: &api.Parent{}})
	}
	serve(t, registry).has(t,
		fmt.Sprintf(`switchyard_runs_started_total{agent="",kind="sub_agent"} %d`, len(runKinds)),
		fmt.Sprintf(`switchyard_run_failures_total{kind="sub_agent",type="invalid_run"} %d`,
			len(runKinds)))
}

func TestAdmissionMetrics_CountPoliciesApprovalsBatchesAndRejections(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.DiscardHandler)).forLane("general")
	tool := api.Tool{Name: "probe", Lane: "gpu"}
	request := api.AdmissionRequest{Tools: []api.Tool{tool}, Calls: []api.Call{{Tool: "probe"},
		{Tool: "probe"}, {Tool: "probe"}}}
	observe(t, o, api.AdmitActivity, ended{result: []api.AdmissionDecision{
		{Policies: []api.PolicyAction{{Rule: "r", Effect: api.PolicyAsk}},
			Approval: &api.ApprovalNeed{}},
		{Batch: "1.1"},
		{Error: api.Errorf(api.ErrPolicyViolation, "x"),
			Policies: []api.PolicyAction{{Rule: "r", Effect: api.PolicyDeny}}},
	}}, request)
	late := api.FinalizedResult{CallOutcome: api.CallOutcome{
		Error: api.Errorf(api.ErrApprovalTimeout, "x")}}
	observe(t, o, api.FinalizeResultActivity, ended{result: late},
		api.FinalizeResultRequest{Tool: tool})
	helper := api.Tool{Name: "helper", Dispatch: api.DispatchChildWorkflow}
	observe(t, o, api.FinalizeResultActivity, ended{result: api.FinalizedResult{}},
		api.FinalizeResultRequest{Tool: helper, Took: api.Duration(time.Second)})
	observe(t, o, api.FinalizeResultActivity, ended{result: "another"}, api.FinalizeResultRequest{})
	observe(t, o, api.FinalizeResultActivity, ended{result: late}, "another")
	observe(t, o, api.DescribeLimitActivity, ended{}, api.LimitRequest{Limit: "cost"})
	observe(t, o, api.DescribeLimitActivity, ended{err: errors.New("x")},
		api.LimitRequest{Limit: "cost"})
	observe(t, o, api.HookActivity, ended{}, api.HookRequest{Hook: api.Hook{Name: "audit"}})
	for i := range maxLabels { // the last one has no label of its own
		observe(t, o, api.HookActivity, ended{err: errors.New("no such hook")},
			api.HookRequest{Hook: api.Hook{Name: fmt.Sprint("hook ", i)}})
	}
	observe(t, o, api.LoadConversationActivity, ended{})
	wait := temporal.NewApplicationErrorWithOptions("x", "",
		temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	for _, err := range []error{wait, temporal.NewCanceledError(), temporal.NewApplicationError("x",
		api.ModelOverflow)} {
		observe(t, o, api.ModelActivity, ended{err: err})
	}
	observe(t, o, api.ModelActivity,
		ended{result: api.ModelResponse{Model: "m", Usage: api.Usage{CachedTokens: 3, Cost: .5}}})
	serve(t, registry).has(t,
		`switchyard_policy_decisions_total{effect="ask",rule="r"} 1`,
		`switchyard_policy_decisions_total{effect="deny",rule="r"} 1`,
		`switchyard_approvals_requested_total{tool="probe"} 1`,
		`switchyard_calls_batched_total{tool="probe"} 1`,
		`switchyard_call_refusals_total{tool="probe",type="policy_violation"} 1`,
		`switchyard_approvals_decided_total{decision="timeout"} 1`,
		`switchyard_calls_total{lane="gpu",outcome="approval_timeout",tool="probe"} 1`,
		`switchyard_calls_total{lane="",outcome="completed",tool="helper"} 1`,
		`switchyard_call_duration_seconds_count{lane="",tool="helper"} 1`,
		`switchyard_limits_reached_total{action="asked",limit="cost"} 1`,
		`switchyard_hooks_total{hook="audit",outcome="completed"} 1`,
		`switchyard_hooks_total{hook="other",outcome="failed"} 1`,
		`switchyard_model_steps_total{model="",outcome="rate_limited"} 1`,
		`switchyard_model_steps_total{model="",outcome="cancelled"} 1`,
		`switchyard_model_steps_total{model="",outcome="overflow"} 1`,
		`switchyard_tokens_total{kind="cached",model="m"} 3`,
		`switchyard_cost_dollars_total{model="m"} 0.5`,
	)
}
