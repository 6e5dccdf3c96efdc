package workflows

import (
	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/workflow"
)

// check has the agent's checker, if any, say of a run that gives a result whether it did what it was for. Whatever comes of that
// stands in the result; it never fails the run.
func (r *agentRun) check(ctx workflow.Context, result switchyard.RunResult) switchyard.RunResult {
	checker := r.agent.Checker
	if checker == nil {
		return result
	}
	checked := checker.Judge(r.askChecker(ctx, *checker, result.Answer))
	result.Checked = &checked
	return r.pipeline.tally(result)
}

// askChecker makes the call that checks the run.
func (r *agentRun) askChecker(ctx workflow.Context, checker switchyard.Checker, answer string) switchyard.CallOutcome {
	p := r.pipeline
	c, err := checker.Call(switchyard.CheckedRun{Prompt: r.hookPrompt(), Answer: answer})
	if err == nil {
		var out switchyard.CallOutcome
		if out, err = p.makeOne(ctx, c); err == nil {
			return out
		}
	}
	return switchyard.CallOutcome{Tool: checker.Tool, Error: switchyard.Errorf(switchyard.ErrExecution, "%s", cutText(err.Error()))}
}

// makeOne admits and makes a call, and waits for its outcome. The error says that it could not be admitted.
func (p *pipeline) makeOne(ctx workflow.Context, c switchyard.Call) (switchyard.CallOutcome, error) {
	verdicts, err := p.admitTogether(ctx, []switchyard.Call{c}, 0)
	if err != nil {
		return switchyard.CallOutcome{}, err
	}
	v := verdicts[0]
	switch {
	case v.Error != nil:
		return p.refused(c, v), nil
	case v.Result != nil:
		return p.overridden(c, v), nil
	}
	p.divide(p.usage, verdicts)
	p.control.approvals.ask(ctx, c, v)
	out, again := p.outcome(ctx, c, v, p.execute(ctx, c, v))
	for again != nil {
		out, again = p.outcome(ctx, c, v, again)
	}
	return out, nil
}
