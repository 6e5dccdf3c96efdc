package host

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// runAs runs a workflow of that name that ends so, with the observer beside it.
func runAs(t *testing.T, o *observer, name string, in switchyard.RunInput, result switchyard.RunResult, failure error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetWorkerOptions(worker.Options{Interceptors: []interceptor.WorkerInterceptor{o}})
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ switchyard.RunInput) (switchyard.RunResult, error) {
		decided := func(_ workflow.Context, d switchyard.Decision) error {
			if d.By == "" {
				return errors.New("of nobody")
			}
			return nil
		}
		replied := func(workflow.Context, switchyard.Reply) error { return nil }
		asked := func(workflow.Context, switchyard.Question) error { return nil }
		for update, handler := range map[string]any{switchyard.DecideUpdate: decided, switchyard.ReplyUpdate: replied, switchyard.AskUpdate: asked} {
			if err := workflow.SetUpdateHandler(ctx, update, handler); err != nil {
				return result, err
			}
		}
		if err := workflow.Sleep(ctx, time.Minute); err != nil {
			return result, err
		}
		return result, failure
	}, workflow.RegisterOptions{Name: name})
	if in.Call != nil {
		env.RegisterDelayedCallback(func() {
			for _, d := range []switchyard.Decision{{Kind: switchyard.DecisionDeny, By: "ada"}, {Kind: switchyard.DecisionApprove}} {
				env.UpdateWorkflowNoRejection(switchyard.DecideUpdate, string(d.Kind), t, d)
			}
			env.UpdateWorkflowNoRejection(switchyard.AskUpdate, "q", t, switchyard.Question{})
			env.UpdateWorkflowNoRejection(switchyard.ReplyUpdate, "r", t, switchyard.Reply{Decline: true})
			env.UpdateWorkflowNoRejection(switchyard.ReplyUpdate, "s", t, switchyard.Reply{})
		}, time.Second)
	}
	env.ExecuteWorkflow(name, in)
}

// TestRunMetrics proves that runs are counted when they begin and end, by kind, agent and outcome, with the limits that they reached and
// the types of their failures, and so is what people say to them; a run that goes on in another history is no other run.
func TestRunMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.DiscardHandler))
	agent := &switchyard.Agent{Name: "clerk"}
	runAs(t, o, switchyard.AgentWorkflow, switchyard.RunInput{Agent: agent}, switchyard.RunResult{Outcome: switchyard.OutcomeAnswered}, nil)
	runAs(t, o, switchyard.AgentWorkflow, switchyard.RunInput{Agent: agent}, switchyard.RunResult{Outcome: switchyard.OutcomeLimit, Limit: "turns"}, nil)
	runAs(t, o, switchyard.AgentWorkflow, switchyard.RunInput{Agent: agent, Parent: &switchyard.Parent{}}, switchyard.RunResult{},
		temporal.NewNonRetryableApplicationError("x", string(switchyard.RunModelFailed), nil))
	runAs(t, o, switchyard.AgentWorkflow, switchyard.RunInput{Agent: agent, Carry: &switchyard.Carry{Started: time.Now().Add(-time.Hour)}},
		switchyard.RunResult{Outcome: switchyard.OutcomeAnswered}, nil)
	runAs(t, o, switchyard.PlanWorkflow, switchyard.RunInput{}, switchyard.RunResult{}, temporal.NewCanceledError())
	runAs(t, o, switchyard.CallWorkflow, switchyard.RunInput{Call: &switchyard.Call{}}, switchyard.RunResult{Outcome: switchyard.OutcomeCompleted}, nil)
	runAs(t, o, switchyard.LaneWorkflow, switchyard.RunInput{}, switchyard.RunResult{}, nil)
	serve(t, registry).has(t,
		`switchyard_runs_started_total{agent="clerk",kind="agent"} 2`,
		`switchyard_runs_started_total{agent="clerk",kind="sub_agent"} 1`,
		`switchyard_runs_ended_total{agent="clerk",kind="agent",outcome="answered"} 2`,
		`switchyard_runs_ended_total{agent="clerk",kind="agent",outcome="limit_reached"} 1`,
		`switchyard_runs_ended_total{agent="clerk",kind="sub_agent",outcome="failed"} 1`,
		`switchyard_run_failures_total{kind="sub_agent",type="model_failed"} 1`,
		`switchyard_runs_ended_total{agent="",kind="plan",outcome="cancelled"} 1`,
		`switchyard_runs_ended_total{agent="",kind="call",outcome="completed"} 1`,
		`switchyard_limits_reached_total{limit="turns",then="ended"} 1`,
		`switchyard_run_duration_seconds_count{kind="agent"} 3`,
		`switchyard_approvals_decided_total{decision="deny"} 1`,
		`switchyard_approvals_decided_total{decision="refused"} 1`,
		`switchyard_questions_asked_total 1`,
		`switchyard_questions_answered_total{outcome="declined"} 1`,
		`switchyard_questions_answered_total{outcome="answered"} 1`,
	)
}

// TestVerdictMetrics proves that what admission says of calls is counted: the rules they met, approvals, batches and refusals; and
// so is how calls end that no activity executes, how model steps fail, and that a call was tried again.
func TestVerdictMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	o := newObserver(registry, slog.New(slog.DiscardHandler)).forLane("general")
	tool := switchyard.Tool{Name: "probe", Lane: "gpu"}
	request := switchyard.AdmitRequest{Tools: []switchyard.Tool{tool}, Calls: []switchyard.Call{{Tool: "probe"}, {Tool: "probe"}, {Tool: "probe"}}}
	observe(t, o, switchyard.AdmitActivity, ended{result: []switchyard.Verdict{
		{Policies: []switchyard.PolicyAction{{Rule: "r", Effect: switchyard.PolicyAsk}}, Approval: &switchyard.ApprovalNeed{}},
		{Batch: "1.1"},
		{Error: switchyard.Errorf(switchyard.ErrPolicyViolation, "x"), Policies: []switchyard.PolicyAction{{Rule: "r", Effect: switchyard.PolicyDeny}}},
	}}, request)
	late := switchyard.Settled{CallOutcome: switchyard.CallOutcome{Error: switchyard.Errorf(switchyard.ErrApprovalTimeout, "x")}}
	observe(t, o, switchyard.SettleActivity, ended{result: late}, switchyard.SettleRequest{Tool: tool})
	helper := switchyard.Tool{Name: "helper", Kind: switchyard.KindAgent}
	observe(t, o, switchyard.SettleActivity, ended{result: switchyard.Settled{}}, switchyard.SettleRequest{Tool: helper, Took: switchyard.Duration(time.Second)})
	observe(t, o, switchyard.SettleActivity, ended{result: "another"}, switchyard.SettleRequest{})
	observe(t, o, switchyard.SettleActivity, ended{result: late}, "another")
	observe(t, o, switchyard.LimitActivity, ended{}, switchyard.LimitRequest{Limit: "cost"})
	observe(t, o, switchyard.LimitActivity, ended{err: errors.New("x")}, switchyard.LimitRequest{Limit: "cost"})
	observe(t, o, switchyard.HookActivity, ended{}, switchyard.HookRequest{Hook: switchyard.Hook{Name: "audit"}})
	for i := range maxLabels { // the last one has no label of its own
		observe(t, o, switchyard.HookActivity, ended{err: errors.New("no such hook")}, switchyard.HookRequest{Hook: switchyard.Hook{Name: fmt.Sprint("hook ", i)}})
	}
	observe(t, o, switchyard.RecallActivity, ended{})
	wait := temporal.NewApplicationErrorWithOptions("x", "", temporal.ApplicationErrorOptions{NextRetryDelay: time.Second})
	for _, err := range []error{wait, temporal.NewCanceledError(), temporal.NewApplicationError("x", switchyard.ModelOverflow)} {
		observe(t, o, switchyard.ModelActivity, ended{err: err})
	}
	observe(t, o, switchyard.ModelActivity, ended{result: switchyard.ModelResponse{Model: "m", Usage: switchyard.Usage{CachedTokens: 3, Cost: .5}}})
	serve(t, registry).has(t,
		`switchyard_policy_verdicts_total{effect="ask",rule="r"} 1`,
		`switchyard_policy_verdicts_total{effect="deny",rule="r"} 1`,
		`switchyard_approvals_requested_total{tool="probe"} 1`,
		`switchyard_calls_batched_total{tool="probe"} 1`,
		`switchyard_call_refusals_total{tool="probe",type="policy_violation"} 1`,
		`switchyard_approvals_decided_total{decision="timeout"} 1`,
		`switchyard_calls_total{lane="gpu",outcome="approval_timeout",tool="probe"} 1`,
		`switchyard_calls_total{lane="",outcome="completed",tool="helper"} 1`,
		`switchyard_call_duration_seconds_count{lane="",tool="helper"} 1`,
		`switchyard_limits_reached_total{limit="cost",then="asked"} 1`,
		`switchyard_hooks_total{hook="audit",outcome="completed"} 1`,
		`switchyard_hooks_total{hook="other",outcome="failed"} 1`,
		`switchyard_model_steps_total{model="",outcome="rate_limited"} 1`,
		`switchyard_model_steps_total{model="",outcome="cancelled"} 1`,
		`switchyard_model_steps_total{model="",outcome="overflow"} 1`,
		`switchyard_tokens_total{kind="cached",model="m"} 3`,
		`switchyard_cost_dollars_total{model="m"} 0.5`,
	)
}
