package host

import (
	"errors"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/api"
)

// observedRun counts the events of a run and the decisions of people. It ignores replays. A
// completed workflow task that is lost is executed again and counts twice.
type observedRun struct {
	interceptor.WorkflowInboundInterceptorBase
	*observer
}

// InterceptWorkflow observes every run that this process executes.
func (o *observer) InterceptWorkflow(_ workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &observedRun{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{
		Next: next}, observer: o}
}

// runKinds maps workflows to kinds of runs.
var runKinds = map[string]string{api.AgentWorkflow: "agent", api.PlanWorkflow: "plan",
	api.CallWorkflow: "call"}

// ExecuteWorkflow counts the start and the end of a run.
func (r *observedRun) ExecuteWorkflow(ctx workflow.Context,
	in *interceptor.ExecuteWorkflowInput) (any, error) {
	info := workflow.GetInfo(ctx)
	kind, known := runKinds[info.WorkflowType.Name]
	if !known || len(in.Args) == 0 {
		return r.Next.ExecuteWorkflow(ctx, in)
	}
	input, _ := in.Args[0].(api.RunInput)
	if input.Parent != nil {
		kind = "sub_agent"
	}
	agent, began := "", info.WorkflowStartTime
	if input.Agent != nil {
		agent = r.agents.of(input.Agent.Name)
	}
	if input.State != nil {
		began = input.State.Started
	} else if !workflow.IsReplaying(ctx) {
		r.metrics.started.WithLabelValues(kind, agent).Inc()
	}
	result, err := r.Next.ExecuteWorkflow(ctx, in)
	if !workflow.IsReplaying(ctx) && !workflow.IsContinueAsNewError(err) {
		r.ended(kind, agent, result, err, workflow.Now(ctx).Sub(began))
	}
	return result, err
}

func (r *observedRun) ended(kind, agent string, result any, err error, took time.Duration) {
	end, _ := result.(api.RunResult)
	outcome := end.Outcome
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		outcome = api.OutcomeFailed
		r.metrics.failures.WithLabelValues(kind, r.failed.of(app.Type())).Inc()
	} else if err != nil {
		outcome = api.OutcomeFailed
		if temporal.IsCanceledError(err) {
			outcome = api.OutcomeCancelled
		}
	}
	if end.Limit != "" {
		r.metrics.limits.WithLabelValues(end.Limit, "ended").Inc()
	}
	r.metrics.ended.WithLabelValues(kind, agent, string(outcome)).Inc()
	r.metrics.runTimes.WithLabelValues(kind).Observe(max(took, 0).Seconds())
}

// ExecuteUpdate counts questions, decisions and replies.
func (r *observedRun) ExecuteUpdate(ctx workflow.Context, in *interceptor.UpdateInput) (any,
	error) {
	if in.Name == api.AskQuestionUpdate && !workflow.IsReplaying(ctx) {
		r.metrics.asked.Inc()
	}
	result, err := r.Next.ExecuteUpdate(ctx, in)
	if len(in.Args) == 1 && !workflow.IsReplaying(ctx) {
		switch said := in.Args[0].(type) {
		case api.Decision:
			r.metrics.decided.WithLabelValues(counted(err, string(said.Kind))).Inc()
		case api.Reply:
			how := "answered"
			if said.Decline {
				how = "declined"
			}
			r.metrics.answered.WithLabelValues(counted(err, how)).Inc()
		}
	}
	return result, err
}

// counted returns the label of a decision or reply.
func counted(err error, how string) string {
	if err != nil {
		return "refused"
	}
	return how
}
