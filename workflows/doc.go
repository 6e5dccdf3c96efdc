// Package workflows decides what a run does: which call runs when, on which lane, whether it may,
// and what follows. It only decides: everything that may change between two deployments (schemas,
// policies, models) is evaluated in an activity, and the result is recorded in the history.
//
// run.go takes a run from its start to its end. Its calls come from a source: agent.go, plan.go,
// direct.go or session.go. pipeline.go admits the calls of a turn, dispatcher.go starts them in
// order, and steps.go takes one call from its decision to its outcome. The features of a run follow
// its calls, see features.go and followers.go. journal.go records what the ends of activities do
// not say.
//
// A change to this package keeps the histories in testdata/histories replaying; see
// docs/dev/changing-workflows.md.
package workflows

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/workflows/keeper"
	"github.com/switchyard/switchyard/workflows/lanes"
	"github.com/switchyard/switchyard/workflows/ledger"
	"go.temporal.io/sdk/workflow"
)

// All returns the workflows by the name they are registered under. features are those of runs of
// agents that other packages have, in the order in which they take part.
func All(features ...Feature) map[string]any {
	return map[string]any{
		api.AgentWorkflow:      showingAgent(features),
		api.PlanWorkflow:       showDetails(planWorkflow),
		api.CallWorkflow:       showDetails(directCallWorkflow),
		api.SessionWorkflow:    showDetails(sessionWorkflow),
		api.ScheduledWorkflow:  scheduledRun,
		api.EvaluationWorkflow: evaluationWorkflow,
		api.LaneSlotsWorkflow:  lanes.LaneKeeper,
		api.InstanceWorkflow:   keeper.Instance,
		api.LedgerWorkflow:     ledger.Ledger,
	}
}

// evaluationWorkflow does nothing. The evaluation of a run by a person is in the memo with which
// this workflow starts, and counts even if no worker is running.
func evaluationWorkflow(workflow.Context) error { return nil }

// showDetails wraps a workflow of calls so that it keeps its current details.
func showDetails(run RunWorkflow) RunWorkflow {
	return func(ctx workflow.Context, in *api.RunInput) (*api.RunResult, error) {
		ctx, d := withDetails(ctx)
		result, err := run(ctx, given(in))
		d.end(ctx, result, err)
		return result, err
	}
}

// showingAgent is showing for an agent run, which takes a conversation as second input.
func showingAgent(features []Feature) AgentWorkflow {
	return func(ctx workflow.Context, in *api.RunInput, earlier []byte) (*api.RunResult, error) {
		ctx, d := withDetails(ctx)
		result, err := agentWorkflow(ctx, given(in), earlier, features)
		d.end(ctx, result, err)
		return result, err
	}
}
