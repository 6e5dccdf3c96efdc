package workflows

import (
	"cmp"
	"strings"

	"github.com/switchyard/switchyard/api"
	"go.temporal.io/sdk/workflow"
)

// pin fixes the run's tools: one recorded step, after which no reload and no deploy changes what the run works with.
func pin(ctx workflow.Context, request api.PinRequest) (api.Pinned, error) {
	var pinned api.Packed[api.Pinned]
	err := workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx), "tools and rules of the run"), api.PinActivity, request).Get(ctx, &pinned)
	if err != nil {
		return api.Pinned{}, err
	}
	if problems := pinned.Value.Problems; len(problems) > 0 {
		return api.Pinned{}, invalid(problems)
	}
	return pinned.Value, nil
}

// invalid is the failure of a run that cannot start.
func invalid(problems []api.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return runError(api.RunInvalid, "nothing was run: "+strings.Join(lines, "; "), nil, problems)
}

// answerSetup lets workers ask what the run is pinned to, and people control it. pinned is read when the query comes, not
// now.
func answerSetup(ctx workflow.Context, agent *api.Agent, pinned *api.Pinned) (*control, error) {
	err := workflow.SetQueryHandler(ctx, api.SetupQuery, func() (api.Setup, error) {
		return api.Setup{Agent: agent, Pinned: api.Pack(*pinned)}, nil
	})
	if err != nil {
		return nil, err
	}
	return newControl(ctx, agent != nil)
}

func originOf(ctx workflow.Context, in api.RunInput, caller api.Caller) api.Origin {
	info := workflow.GetInfo(ctx)
	o := api.Origin{Run: cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID), Caller: caller, Conversation: in.Conversation, Trace: in.Trace, Variables: in.Variables, DryRun: in.DryRun}
	if in.State != nil {
		o.Run = in.State.Run
	}
	return o
}
