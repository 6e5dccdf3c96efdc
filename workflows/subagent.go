package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/turn"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// subAgent executes the call of an agent tool as a child workflow, with the call's share of this
// run's limits. The future resolves to an api.Result when the child has ended and its answer has
// passed the phase post_execution.
func (c *callRun) subAgent(ctx workflow.Context) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	request := c.finalizeRequest()
	began := workflow.Now(ctx)
	child, stop := workflow.WithCancel(ctx)
	run, err := c.startAgent(child)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer stop()
		if err != nil {
			request.Error = err
		} else {
			c.pipeline.awaitAgent(ctx, run, stop, &request)
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

// startAgent starts the run of the sub-agent, or returns why it cannot start.
func (c *callRun) startAgent(ctx workflow.Context) (workflow.ChildWorkflowFuture, *api.Error) {
	p, v, tool := c.pipeline, c.decision, c.pipeline.tools.Of(c.call.Tool)
	agent, err := agentOf(tool)
	if err != nil {
		return nil, notStartable(api.ErrExecution, "the pinned toolspec of %s cannot be read: %v",
			c.call.Tool, err)
	}
	agent.Limits = v.Plan.Bound(p.Lend(ctx, agent.Limits, c.share))
	info := workflow.GetInfo(ctx).WorkflowExecution
	id := api.ChildWorkflowID(info.ID, c.call.ID)
	input := api.RunInput{Agent: agent, Prompt: v.Prompt, Caller: p.origin.Caller,
		Trace:     p.origin.Trace,
		Variables: p.origin.Variables, DryRun: p.origin.DryRun || v.Plan.IsDryRun(),
		Mode:     p.override,
		Priority: cmp.Or(c.call.Priority, p.priority.Run, tool.Priority),
		Policies: p.policies, Labels: p.runFacts.Labels, Attributes: p.attributes.known,
		Parent: &api.Parent{WorkflowID: info.ID, Run: p.origin.Run,
			Call:    api.CallPath(p.parent.Call, c.call.ID),
			Catalog: p.catalog.Digest, Policies: p.pinned.Policies.Digest,
			Depth: p.parent.Depth + 1, Fairness: p.priority.Conversation}}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: p.queue, WaitForCancellation: true,
		WorkflowTaskTimeout: api.WorkflowTaskTimeout,
		Priority:            p.priority.Call(c.call, tool, api.Route{}),
		// A run waits for its sub-agents unless the server ends it; then they are cancelled.
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         api.RunSummary(string(api.CallerAgent), agent.Name, v.Prompt),
		TypedSearchAttributes: childAttributes(ctx, p.origin.Caller.ID, id, agent.Name),
	})
	return workflow.ExecuteChildWorkflow(ctx, api.AgentWorkflow, input), nil
}

func notStartable(kind api.ErrorType, format string, args ...any) *api.Error {
	e := api.Errorf(kind, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// agentOf decodes the agent from the pinned toolspec of an agent tool.
func agentOf(t api.Tool) (*api.Agent, error) {
	var spec struct {
		Entry struct {
			Agent *api.Agent `json:"agent"`
		} `json:"entry"`
	}
	err := json.Unmarshal(t.Spec, &spec)
	if err == nil && spec.Entry.Agent == nil {
		err = errors.New("it has no agent")
	}
	return spec.Entry.Agent, err
}

// childAttributes returns the search attributes of a sub-agent's run, limited to those that this
// run shows the namespace to have. Only agent runs have AttributeAgent, but a namespace that has
// all the others has it too, because they are registered together.
func childAttributes(ctx workflow.Context, caller, id, agent string) temporal.SearchAttributes {
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
	add(api.AttributeKind, string(api.CallerAgent))
	add(api.AttributeCaller, caller)
	add(api.AttributeConversation, id)
	add(api.AttributeAgent, agent)
	return temporal.NewSearchAttributes(updates...)
}

// awaitAgent waits for the end of a sub-agent's run and records its outcome in the request. It
// cancels a run that exceeds the tool's timeout and waits until that run has ended its calls.
func (p *pipeline) awaitAgent(ctx workflow.Context, run workflow.ChildWorkflowFuture, stop func(),
	request *api.FinalizeResultRequest) {
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
		p.runFacts.Label(p.emittedBy(request.Tool))
		var used api.RunResult
		request.Error, used = agentFailure(err, request.Tool.Effect)
		if run.GetChildWorkflowExecution().Get(ctx, nil) != nil {
			request.Error = neverStarted(request.Error)
		}
		request.Usage = used.Usage
		if p.runFacts.Adopt(used.CallStats); used.CallStats == nil {
			p.runFacts.Untold()
		}
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
	request.Answer, request.Usage = result.Answer, result.Usage
	p.undo.adopt(request.Call, result.Undo)
	p.runFacts.Adopt(result.CallStats)
	p.runFacts.Label(result.Labels)
	if result.Limit != "" {
		request.Notes = append(request.Notes,
			fmt.Sprintf("the agent reached its limit of %s; this is what it knew by then",
				result.Limit))
	}
	if result.Stop == api.StopLength {
		request.Notes = append(request.Notes, "the model was cut off in this answer")
	}
}

// neverStarted returns the error of a call whose sub-agent's run did not start.
func neverStarted(e *api.Error) *api.Error {
	if e.Type == api.ErrOutcomeUnknown {
		e.Type = api.ErrExecution
	}
	e.NotStarted, e.Unclear = true, false
	return e
}

// agentFailure maps the failure of a sub-agent's run to an error of the call, and returns what is
// known of that run's result. A run that the server ended may have left calls that nothing undoes.
func agentFailure(err error, effect api.Effect) (*api.Error, api.RunResult) {
	var result api.RunResult
	cause := err
	if child, ok := errors.AsType[*temporal.ChildWorkflowExecutionError](err); ok {
		cause = child.Unwrap()
	}
	e := &api.Error{Type: api.ErrExecution, Phase: api.PhaseExecution}
	switch cause := cause.(type) {
	case *temporal.CanceledError:
		e.Type, e.Message = api.ErrCancelled, "the agent's run was cancelled"
		result.Usage = usageIn(cause.Details)
	case *temporal.ApplicationError:
		e.Message = fmt.Sprintf("the agent's run failed (%s): %s", cause.Type(),
			cutText(cause.Message()))
		result = failedResult(cause)
	case *temporal.TerminatedError:
		e.Message = "the agent's run was terminated"
		e.SetUnclear(effect)
	default:
		e.Message = "the agent's run failed: " + cutText(cause.Error())
		e.SetUnclear(effect)
	}
	return e, result
}

// failedResult reads a failed run's result from the error details that its type has.
func failedResult(err *temporal.ApplicationError) (result api.RunResult) {
	switch api.RunErrorType(err.Type()) {
	case api.RunModelFailed:
		result.Usage = usageIn(err.Details)
	case api.RunRefused, api.RunBlocked:
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
		agent, err := agentOf(next[0])
		if next[0].Dispatch != api.DispatchChildWorkflow || err != nil {
			continue
		}
		for _, name := range namedBy(p.tools, agent) {
			if !visited[name] {
				visited[name] = true
				next = append(next, *p.tools[name])
			}
		}
	}
	return labels
}

// namedBy returns the pinned tools that an agent names or may select, in a fixed order.
func namedBy(tools turn.Tools, agent *api.Agent) []string {
	var names []string
	for _, entry := range agent.Tools {
		if !api.SelectsTools(entry) {
			if _, ok := tools[entry]; ok {
				names = append(names, entry)
			}
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(tools)) {
			if api.MaySelect(entry, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
