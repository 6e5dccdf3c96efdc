package host

import (
	"errors"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows"
)

// observedRun counts the events of a run and the decisions of people. It ignores replays. A
// completed workflow task that is lost is executed again and counts twice.
type observedRun struct {
	interceptor.WorkflowInboundInterceptorBase
	*observer
	// workflow is the run's workflow if it is called directly; nil leaves the call to the SDK.
	workflow any
}

// InterceptWorkflow observes every run that this process executes.
func (o *observer) InterceptWorkflow(ctx workflow.Context,
	next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &observedRun{WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{
		Next: next}, observer: o, workflow: o.direct[workflow.GetInfo(ctx).WorkflowType.Name]}
}

// runKinds maps workflows to kinds of runs.
var runKinds = map[string]string{api.AgentWorkflow: "agent", api.PlanWorkflow: "plan",
	api.CallWorkflow: "direct", api.SessionWorkflow: "session"}

// runLabels are the labels of a run, and when it began.
type runLabels struct {
	kind, agent string
	began       time.Time
}

// ExecuteWorkflow counts the start and the end of a run. What it does before and after is apart,
// because its own variables take space on the stack of every open run.
func (r *observedRun) ExecuteWorkflow(ctx workflow.Context,
	in *interceptor.ExecuteWorkflowInput) (any, error) {
	labels := r.countStart(ctx, in)
	result, err := r.execute(ctx, in)
	if labels != nil {
		r.countEnd(ctx, labels, result, err)
	}
	return result, err
}

// execute executes the workflow. It calls the workflows of runs itself: the frames of the SDK's
// call by reflection would double the stack that an open run keeps, to 16 KB. The observer is the
// innermost interceptor that does anything, so no other one is left out.
func (r *observedRun) execute(ctx workflow.Context,
	in *interceptor.ExecuteWorkflowInput) (any, error) {
	var result *api.RunResult
	var err error
	switch run := r.workflow.(type) {
	case workflows.RunWorkflow:
		result, err = run(ctx, argument[*api.RunInput](in, 0))
	case workflows.AgentWorkflow:
		result, err = run(ctx, argument[*api.RunInput](in, 0), argument[[]byte](in, 1))
	default:
		return r.Next.ExecuteWorkflow(ctx, in)
	}
	if result == nil {
		return nil, err
	}
	return result, err
}

// argument returns an argument of a workflow, the zero value for one that was not given.
func argument[T any](in *interceptor.ExecuteWorkflowInput, i int) (value T) {
	if i < len(in.Args) {
		value, _ = in.Args[i].(T)
	}
	return value
}

// countStart counts the start of a run and returns its labels; nil for other workflows.
func (r *observedRun) countStart(ctx workflow.Context,
	in *interceptor.ExecuteWorkflowInput) *runLabels {
	info := workflow.GetInfo(ctx)
	kind, known := runKinds[info.WorkflowType.Name]
	input := argument[*api.RunInput](in, 0)
	if !known || input == nil {
		return nil
	}
	labels := &runLabels{kind: kind, began: info.WorkflowStartTime}
	if input.Parent != nil {
		labels.kind = "sub_agent"
	}
	if input.Agent != nil {
		labels.agent = r.agents.of(input.Agent.Name)
	}
	if input.State != nil {
		labels.began = input.State.Started
	} else if !workflow.IsReplaying(ctx) {
		r.metrics.started.WithLabelValues(labels.kind, labels.agent).Inc()
	}
	return labels
}

// countEnd counts the end of a run, but not the continuation as a new execution.
func (r *observedRun) countEnd(ctx workflow.Context, l *runLabels, result any, err error) {
	if workflow.IsReplaying(ctx) || workflow.IsContinueAsNewError(err) {
		return
	}
	var outcome api.Outcome
	if end, ok := result.(*api.RunResult); ok {
		outcome = end.Outcome
		if end.Limit != "" {
			r.metrics.limits.WithLabelValues(end.Limit, "ended").Inc()
		}
	}
	if app, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		outcome = api.OutcomeFailed
		r.metrics.failures.WithLabelValues(l.kind, r.failed.of(app.Type())).Inc()
	} else if err != nil {
		outcome = api.OutcomeFailed
		if temporal.IsCanceledError(err) {
			outcome = api.OutcomeCancelled
		}
	}
	r.metrics.ended.WithLabelValues(l.kind, l.agent, string(outcome)).Inc()
	r.metrics.runTimes.WithLabelValues(l.kind).Observe(
		max(workflow.Now(ctx).Sub(l.began), 0).Seconds())
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
			r.metrics.decided.WithLabelValues(outcomeLabel(err, string(said.Kind))).Inc()
		case api.Reply:
			how := "answered"
			if said.Decline {
				how = "declined"
			}
			r.metrics.answered.WithLabelValues(outcomeLabel(err, how)).Inc()
		}
	}
	return result, err
}

// outcomeLabel returns the label of a decision or reply.
func outcomeLabel(err error, how string) string {
	if err != nil {
		return "refused"
	}
	return how
}
