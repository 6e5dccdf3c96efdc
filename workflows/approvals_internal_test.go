package workflows

import (
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/budget"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// A decision after the timeout is refused also if the run has not processed the timer yet, for
// example because it had no worker: then the SDK delivers the update before the timer.
func TestApproval_RefusesLateDecisions(t *testing.T) {
	refusals := map[string]string{}
	run := func(ctx workflow.Context) error {
		a, err := newApprovals(ctx, &budget.Sizes{})
		if err != nil {
			return err
		}
		a.caller = func(string) api.Caller { return api.Caller{} }
		a.edit = func(workflow.Context, *approval, api.Decision) (v api.AdmissionDecision,
			err error) {
			return v, nil
		}
		past := workflow.Now(ctx).Add(-time.Minute)
		for _, o := range []*approval{
			{Approval: api.Approval{Call: "over", Until: past}},
			{Approval: api.Approval{Call: "open", Until: past.Add(time.Hour)}},
		} {
			o.Digest, o.stop = o.Call, func() {}
			a.known.Set(o.Call, o)
			a.open = append(a.open, o)
			for _, kind := range []api.DecisionKind{api.DecisionEdit, api.DecisionApprove} {
				o.closed, o.close = workflow.NewFuture(ctx)
				if err := a.decide(ctx, api.Decision{Call: o.Call, Digest: o.Digest, Kind: kind,
					By: "ada"}); err != nil {
					refusals[o.Call+" "+string(kind)] = err.Error()
				}
				if kind == api.DecisionEdit && o.over {
					o.over, a.open = false, append(a.open, o)
				}
			}
		}
		return nil
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflow(run)
	env.ExecuteWorkflow(run)
	if err := env.GetWorkflowError(); err != nil {
		t.Fatal(err)
	}
	if len(refusals) != 2 {
		t.Errorf("refused: %q", refusals)
	}
	for _, decision := range []string{"over edit", "over approve"} {
		if !strings.Contains(refusals[decision], "no decision came in time") {
			t.Errorf("%s: %q", decision, refusals[decision])
		}
	}
}
