package workflows

import (
	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// check has the agent's checker, if any, say of a run that gives a result whether it did what it was for. Whatever comes of that
// stands in the result; it never fails the run.
func (r *agentRun) check(ctx workflow.Context, result api.RunResult) api.RunResult {
	checker := r.agent.Checker
	if checker == nil {
		return result
	}
	checked := checker.Evaluate(r.askChecker(ctx, *checker, result.Answer))
	result.Checked = &checked
	return r.pipeline.tally(result)
}

// askChecker makes the call that checks the run.
func (r *agentRun) askChecker(ctx workflow.Context, checker api.Checker, answer string) api.CallOutcome {
	p := r.pipeline
	c, err := checker.Call(api.CheckedRun{Prompt: r.hookPrompt(), Answer: answer})
	if err == nil {
		var out api.CallOutcome
		if out, err = p.makeOne(ctx, c); err == nil {
			return out
		}
	}
	return api.CallOutcome{Tool: checker.Tool, Error: api.Errorf(api.ErrExecution, "%s", cutText(err.Error()))}
}

// makeOne admits a call that the run itself makes, executes it and returns its outcome. The error
// says why it could not be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, call api.Call) (api.CallOutcome, error) {
	decisions, err := p.admitBatch(ctx, []api.Call{call}, 0)
	if err != nil {
		return api.CallOutcome{}, err
	}
	c := p.newCall(call, decisions[0])
	c.share = p.divide(p.usage, decisions)
	return c.run(ctx), nil
}
