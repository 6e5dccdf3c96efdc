package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callview"
	"github.com/switchyard/switchyard/internal/core/failures"
	"github.com/switchyard/switchyard/internal/core/planrules"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/core/traceparent"
	"github.com/switchyard/switchyard/workflows/turn"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// childRun executes the call of an agent tool or a plan tool as a child workflow, with the call's
// share of this run's limits. The future resolves to an api.Result when the child has ended and its
// answer has passed the phase post_execution.
func (c *Call) childRun(ctx workflow.Context) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	request := c.finalizeRequest()
	began := workflow.Now(ctx)
	child, stop := workflow.WithCancel(ctx)
	run, err := c.startChild(child)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer stop()
		if err != nil {
			request.Error = err
		} else {
			c.awaitChild(ctx, run, stop, &request)
		}
		request.Took = api.Duration(workflow.Now(ctx).Sub(began))
		result, err := c.finalize(ctx, request)
		if err != nil {
			end.SetError(err)
			return
		}
		end.SetValue(*result)
	})
	return future
}

// startChild starts the run of the sub-agent or of the plan tool, or returns why it cannot start.
func (c *Call) startChild(ctx workflow.Context) (workflow.ChildWorkflowFuture, *api.Error) {
	p, v, tool := c.pipeline, c.decision, c.pipeline.tools.Of(c.call.Tool)
	info := workflow.GetInfo(ctx).WorkflowExecution
	id := api.ChildWorkflowID(info.ID, c.call.ID)
	caller := c.origin().Caller
	input := api.RunInput{Caller: caller,
		Trace:     traceBelow(c),
		Variables: p.origin.Variables, DryRun: p.origin.DryRun || v.Plan.IsDryRun(),
		Mode:     p.override,
		Priority: cmp.Or(c.call.Priority, p.priority.Run, tool.Priority),
		Policies: p.policies, Labels: p.runFacts.Labels, Attributes: p.attributes.known,
		Statements: p.statements.Select(api.SourcePrompt, api.SourceMessage),
		Parent: &api.Parent{WorkflowID: info.ID, Run: p.origin.Run,
			Call:    api.CallPath(p.parent.Call, c.call.ID),
			Catalog: p.pinned.Catalog.Digest, Policies: p.pinned.Policies.Digest,
			Depth: p.parent.Depth + 1, Fairness: p.priority.Conversation}}
	run, err := c.takeEntry(ctx, tool, &input)
	if err != nil {
		return nil, notStartable(api.ErrExecution, "the pinned toolspec of %s cannot be read: %v",
			c.call.Tool, err)
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: p.queue, WaitForCancellation: true,
		WorkflowTaskTimeout: api.WorkflowTaskTimeout,
		Priority:            p.priority.Call(c.call, tool, api.Route{}),
		// A run waits for its sub-agents unless the server ends it; then they are cancelled.
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         callview.RunLine(string(run.kind), run.name, v.Prompt),
		TypedSearchAttributes: childAttributes(ctx, caller.ID, id, run),
	})
	return workflow.ExecuteChildWorkflow(ctx, run.workflow, input), nil
}

// childKind is the kind of a run below a call, with its workflow type and the name of its agent or
// plan.
type childKind struct {
	kind           api.CallerType
	workflow, name string
}

// takeEntry puts the agent or the plan of a pinned tool into the input of its run, with the part of
// this run's limits that the call may use.
func (c *Call) takeEntry(ctx workflow.Context, tool api.Tool,
	input *api.RunInput) (childKind, error) {
	p, bounds := c.pipeline, c.decision.Plan
	entry, err := decodeEntry(tool)
	if err != nil {
		return childKind{}, err
	}
	if agent := entry.Agent; agent != nil {
		agent.Limits = policyrules.LimitRun(bounds,
			p.Lend(ctx, agent.Limits, limitsFromShare(c.share)))
		input.Agent, input.Prompt = agent, c.decision.Prompt
		return childKind{api.CallerAgent, api.AgentWorkflow, agent.Name}, nil
	}
	plan, err := planrules.Fill(*entry.Plan, c.Arguments())
	if err != nil {
		return childKind{}, err
	}
	plan.Name = cmp.Or(plan.Name, c.call.Tool)
	packed := api.Pack(plan)
	input.Plan = &packed
	share := limitsFromShare(c.share)
	share.Calls *= c.decision.Claim // the share of one claimed call
	limits := policyrules.LimitRun(bounds, p.Lend(ctx, api.Limits{}, share))
	if limits.Turns = 0; limits != (api.Limits{}) {
		input.Limits = &limits
	}
	return childKind{api.CallerPlan, api.PlanWorkflow, plan.Name}, nil
}

// limitsFromShare returns the limits of a share, none for nil.
func limitsFromShare(share *api.Limits) api.Limits {
	if share == nil {
		return api.Limits{}
	}
	return *share
}

func notStartable(kind api.ErrorType, format string, args ...any) *api.Error {
	e := api.Errorf(kind, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// childEntry is the entry of a tool whose calls are runs: either is set.
type childEntry struct {
	Agent *api.Agent `json:"agent"`
	Plan  *api.Plan  `json:"plan"`
}

// decodeEntry decodes the agent or the plan from the pinned toolspec of a tool.
func decodeEntry(t api.Tool) (childEntry, error) {
	var spec struct {
		Entry childEntry `json:"entry"`
	}
	err := json.Unmarshal(t.Spec, &spec)
	if err == nil && spec.Entry.Agent == nil && spec.Entry.Plan == nil {
		err = errors.New("it has neither an agent nor a plan")
	}
	return spec.Entry, err
}

// run names the run of a call in messages.
func (e childEntry) run() string {
	if e.Plan != nil {
		return "the plan's run"
	}
	return "the agent's run"
}

// childAttributes returns the search attributes of a sub-agent's run, limited to those that this
// run shows the namespace to have. Only agent runs have AttributeAgent, but a namespace that has
// all the others has it too, because they are registered together.
func childAttributes(ctx workflow.Context, caller, id string,
	run childKind) temporal.SearchAttributes {
	known := workflow.GetTypedSearchAttributes(ctx)
	all := true
	var updates []temporal.SearchAttributeUpdate
	add := func(name, value string) {
		key := temporal.NewSearchAttributeKeyKeyword(name)
		if !known.ContainsKey(key) && (name != api.AttributeAgent || !all) {
			all = false
			return
		}
		if len(value) <= api.MaxAttribute {
			updates = append(updates, key.ValueSet(value))
		}
	}
	add(api.AttributeKind, string(run.kind))
	add(api.AttributeCaller, caller)
	add(api.AttributeConversation, id)
	if run.kind == api.CallerAgent {
		add(api.AttributeAgent, run.name)
	}
	return temporal.NewSearchAttributes(updates...)
}

// awaitChild waits for the end of a run below a call and records its outcome in the request. It
// cancels a run that exceeds the tool's timeout and waits until that run has ended its calls.
func (c *Call) awaitChild(ctx workflow.Context, run workflow.ChildWorkflowFuture, stop func(),
	request *api.FinalizeResultRequest) {
	p := c.pipeline
	clock, forget := workflow.WithCancel(ctx)
	late := false
	s := workflow.NewSelector(ctx)
	s.AddFuture(run, func(workflow.Future) {})
	options := workflow.TimerOptions{Summary: "timeout of call " + request.Call}
	s.AddFuture(workflow.NewTimerWithOptions(clock, request.Tool.Timeout.Std(), options),
		func(f workflow.Future) {
			if f.Get(ctx, nil) == nil {
				late = true
				stop()
			}
		})
	for !run.IsReady() {
		s.Select(ctx)
	}
	forget()
	var result api.RunResult
	if err := run.Get(ctx, &result); err != nil {
		started := run.GetChildWorkflowExecution().Get(ctx, nil) == nil
		c.failChild(err, started, request)
		if late {
			// The records of the child run have its calls, so that the outcome is known for every
			// effect of the tool.
			request.Error = api.Errorf(api.ErrTimeout,
				"%s did not answer within %s and was cancelled", request.Tool.Name,
				request.Tool.Timeout)
			request.Error.Phase = api.PhaseExecution
		}
		return
	}
	request.Answer, request.Output, request.Usage = result.Answer, result.Output, result.Usage
	p.followers.Adopt(c, &result)
	if result.Limit != "" {
		request.Notes = append(request.Notes,
			fmt.Sprintf("the agent reached its limit of %s; this is what it knew by then",
				result.Limit))
	}
	if result.Stop == api.StopLength {
		request.Notes = append(request.Notes, "the model was cut off in this answer")
	}
}

// failChild records in the request that the run below the call ended with err, and what is known
// of the calls that it made.
func (c *Call) failChild(err error, started bool, request *api.FinalizeResultRequest) {
	facts := &c.pipeline.runFacts
	facts.LabelCall(request.Call, c.pipeline.emittedBy(request.Tool))
	entry, _ := decodeEntry(request.Tool) // was decoded to start the run
	ended := childFailure(err, entry.run())
	if !started {
		ended.fault.NotStarted = true
	} else if ended.unclear {
		failures.SetUnclear(ended.fault, request.Tool.Effect)
	}
	request.Error, request.Usage = ended.fault, ended.used.Usage
	c.finalized = ended.finalized
	if facts.Adopt(ended.used.CallStats); ended.used.CallStats == nil {
		facts.Untold()
	}
}

// childEnd is the end of a run below a call that gave no result.
type childEnd struct {
	fault *api.Error
	// used is what is known of the run's result.
	used api.RunResult
	// unclear is set if the fault does not say whether calls of the run took effect, finalized if
	// the run ended by itself, after it had undone its calls as its agent or plan declares.
	unclear, finalized bool
}

// childFailure maps the failure of a run below a call that started to the end of that run. what
// names the run. A run that the server ended may have left calls that nothing undoes.
func childFailure(err error, what string) childEnd {
	cause := err
	if child, ok := errors.AsType[*temporal.ChildWorkflowExecutionError](err); ok {
		cause = child.Unwrap()
	}
	end := childEnd{fault: &api.Error{Type: api.ErrExecution, Phase: api.PhaseExecution},
		unclear: true}
	e := end.fault
	switch cause := cause.(type) {
	case *temporal.CanceledError:
		e.Type, e.Message = api.ErrCancelled, what+" was cancelled"
		end.used.Usage, end.finalized = usageIn(cause.Details), true
	case *temporal.ApplicationError:
		e.Message = fmt.Sprintf("%s failed (%s): %s", what, cause.Type(),
			cutText(cause.Message()))
		end.used = failedResult(cause)
		end.unclear, end.finalized = false, true
	case *temporal.TerminatedError:
		e.Message = what + " was terminated"
	default:
		e.Message = what + " failed: " + cutText(cause.Error())
	}
	return end
}

// failedResult reads a failed run's result from the error details that its type has.
func failedResult(err *temporal.ApplicationError) (result api.RunResult) {
	switch api.RunErrorType(err.Type()) {
	case api.RunModelFailed:
		result.Usage = usageIn(err.Details)
	case api.RunRefused, api.RunBlocked, api.RunCallsFailed:
		if err.Details(&result) != nil {
			return api.RunResult{}
		}
	}
	return result
}

func usageIn(details func(...any) error) api.Usage {
	var usage api.Usage
	if details(&usage) != nil {
		return api.Usage{}
	}
	return usage
}

// emittedBy returns the labels that the run of an agent tool may have seen, through all tools it
// could call at any depth. It is used where the run failed and its labels are unknown.
func (p *pipeline) emittedBy(t api.Tool) []string {
	var labels []string
	visited := map[string]bool{}
	for next := []api.Tool{t}; len(next) > 0; next = next[1:] {
		labels = append(labels, next[0].Emits...)
		entry, err := decodeEntry(next[0])
		if next[0].Dispatch != api.DispatchChildWorkflow || err != nil {
			continue
		}
		for _, name := range namedBy(&p.tools, entry) {
			if !visited[name] {
				visited[name] = true
				next = append(next, *p.tools.Get(name))
			}
		}
	}
	return labels
}

// namedBy returns the pinned tools that an agent names or may select, or that a plan calls, in a
// fixed order.
func namedBy(tools *turn.Tools, of childEntry) []string {
	var names, entries []string
	if of.Agent != nil {
		entries = of.Agent.Tools
	} else {
		entries = listPlanTools(*of.Plan)
	}
	for _, entry := range entries {
		if !toolfacts.SelectsTools(entry) {
			if tools.Get(entry) != nil {
				names = append(names, entry)
			}
			continue
		}
		for _, name := range tools.Keys() {
			if toolfacts.MaySelect(entry, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// traceBelow returns the traceparent of the run below the call, which belongs to the trace of the
// call.
func traceBelow(c *Call) string {
	o := c.origin()
	return cmp.Or(o.Trace, traceparent.Format(o, c.call.ID))
}

func listPlanTools(plan api.Plan) []string {
	var names []string
	runFacts := map[string]bool{}
	for _, c := range plan.Calls {
		if !runFacts[c.Tool] {
			runFacts[c.Tool] = true
			names = append(names, c.Tool)
		}
	}
	return names
}
