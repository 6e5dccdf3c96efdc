package workflows

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/api"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// subAgent starts the phase execution of a call of an agent tool: an agent run of its own as a child workflow, with what
// the call may use of this run's budget. The future is ready when that run is over and its answer has been through the
// phase post_execution; it gives a switchyard.Result, or a *switchyard.Error.
func (p *pipeline) subAgent(ctx workflow.Context, c api.Call, v api.AdmissionDecision) workflow.Future {
	future, end := workflow.NewFuture(ctx)
	request := api.FinalizeResultRequest{Call: c.ID, Tool: p.toolFor(c, v), Origin: p.origin, Notes: v.Notes,
		Hooks: api.HooksFor(p.hooks.AfterCall, c.Tool), Arguments: validated(c, v), Parent: p.parent.Call}
	began := workflow.Now(ctx)
	child, stop := workflow.WithCancel(ctx)
	run, err := p.startAgent(child, c, v)
	workflow.Go(ctx, func(ctx workflow.Context) {
		defer stop()
		if err != nil {
			request.Error = err
		} else {
			p.awaitAgent(ctx, run, stop, &request)
		}
		request.Took = api.Duration(workflow.Now(ctx).Sub(began))
		end.Set(p.finalizeResult(ctx, request))
	})
	return future
}

// startAgent starts the sub-agent's run, or says why it cannot be started.
func (p *pipeline) startAgent(ctx workflow.Context, c api.Call, v api.AdmissionDecision) (workflow.ChildWorkflowFuture, *api.Error) {
	agent, err := agentOf(p.tools[c.Tool])
	if err != nil {
		return nil, notStartable(api.ErrExecution, "the pinned toolspec of %s cannot be read: %v", c.Tool, err)
	}
	agent.Limits = v.Plan.Bound(p.lend(ctx, agent.Limits))
	info := workflow.GetInfo(ctx).WorkflowExecution
	id := api.ChildWorkflowID(info.ID, c.ID)
	input := api.RunInput{Agent: agent, Prompt: v.Prompt, Caller: p.origin.Caller, Trace: p.origin.Trace,
		Variables: p.origin.Variables, DryRun: p.origin.DryRun || v.Plan.IsDryRun(), Mode: p.override, Priority: cmp.Or(c.Priority, p.priority.run, p.tools[c.Tool].Priority),
		Policies: p.policies, Labels: p.runFacts.labels, Attributes: p.attributes.known,
		Parent: &api.Parent{WorkflowID: info.ID, Run: p.origin.Run, Call: api.CallPath(p.parent.Call, c.ID),
			Catalog: p.catalog.Digest, Depth: p.parent.Depth + 1, Fairness: p.priority.conversation}}
	data, err := json.Marshal(input)
	if err != nil || len(data) > api.MaxPayload {
		return nil, notStartable(api.ErrPreconditionFailed, "agent, prompt and variables have %d bytes in all; a run's input takes %d", len(data), api.MaxPayload)
	}
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID: id, TaskQueue: p.queue, WaitForCancellation: true, Priority: p.priority.call(c, p.tools[c.Tool], api.Route{}),
		// A run that ends without waiting for its sub-agents was ended by the server; they are to end like cancelled ones.
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         api.RunSummary(string(api.CallerAgent), agent.Name, v.Prompt),
		TypedSearchAttributes: p.childAttributes(ctx, id, agent.Name),
	})
	return workflow.ExecuteChildWorkflow(ctx, api.AgentWorkflow, input), nil
}

func notStartable(kind api.ErrorType, format string, args ...any) *api.Error {
	e := api.Errorf(kind, format, args...)
	e.Phase = api.PhasePreExecution
	return e
}

// agentOf reads the agent out of the pinned toolspec of an agent tool.
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

// childAttributes are the search attributes of a sub-agent's run: those that the server has, which shows in this run's.
// Only an agent's run has AttributeAgent; a server that has all the others has it too, because they are registered
// together.
func (p *pipeline) childAttributes(ctx workflow.Context, id, agent string) temporal.SearchAttributes {
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
	add(api.AttributeCaller, p.origin.Caller.ID)
	add(api.AttributeConversation, id)
	add(api.AttributeAgent, agent)
	return temporal.NewSearchAttributes(updates...)
}

// awaitAgent waits for the end of a sub-agent's run and notes in the request what became of it. A run that takes longer
// than the tool's timeout is cancelled, and waited for until it has ended what it started.
func (p *pipeline) awaitAgent(ctx workflow.Context, run workflow.ChildWorkflowFuture, stop func(), request *api.FinalizeResultRequest) {
	clock, forget := workflow.WithCancel(ctx)
	late := false
	s := workflow.NewSelector(ctx)
	s.AddFuture(run, func(workflow.Future) {})
	options := workflow.TimerOptions{Summary: "timeout of call " + request.Call}
	s.AddFuture(workflow.NewTimerWithOptions(clock, request.Tool.Timeout.Std(), options), func(f workflow.Future) {
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
		p.runFacts.label(p.emittedBy(request.Tool))
		var used api.RunResult
		request.Error, used = agentFailure(err)
		request.Usage = used.Usage
		if p.runFacts.adopt(used.CallStats); used.CallStats == nil {
			p.runFacts.untold()
		}
		if late {
			// What it had done by then stands in its run's records, so that the outcome is known, whatever the tool's effect.
			request.Error = api.Errorf(api.ErrTimeout, "%s did not answer within %s and was cancelled", request.Tool.Name, request.Tool.Timeout)
			request.Error.Phase = api.PhaseExecution
		}
		return
	}
	request.Answer, request.Usage = result.Answer, result.Usage
	p.adopt(request.Call, result.Undo)
	p.runFacts.adopt(result.CallStats)
	p.runFacts.label(result.Labels)
	if result.Limit != "" {
		request.Notes = append(request.Notes, fmt.Sprintf("the agent reached its limit of %s; this is what it knew by then", result.Limit))
	}
	if result.Stop == api.StopLength {
		request.Notes = append(request.Notes, "the model was cut off in this answer")
	}
}

// agentFailure says what the failure of a sub-agent's run means for the call, and as much as is known of that run's result.
func agentFailure(err error) (*api.Error, api.RunResult) {
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
		e.Message = fmt.Sprintf("the agent's run failed (%s): %s", cause.Type(), cutText(cause.Message()))
		result = failedResult(cause)
	case *temporal.TerminatedError:
		e.Message = "the agent's run was terminated"
	default:
		e.Message = "the agent's run failed: " + cutText(cause.Error())
	}
	return e, result
}

// failedResult reads what is known of a failed run's result from the details that its type carries.
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

// settle takes what became of a call through the phase post_execution and records its end, also in a cancelled run.
func (p *pipeline) finalizeResult(ctx workflow.Context, r api.FinalizeResultRequest) (any, error) {
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	p.usage.Add(r.Usage)
	var finalized api.FinalizedResult
	err := workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx, r.Hooks...), "end of call "+r.Call), api.FinalizeResultActivity, r).Get(ctx, &finalized)
	switch {
	case err != nil:
		return nil, err
	case finalized.Error != nil:
		return nil, finalized.Error
	}
	return *finalized.Result, nil
}
