package workflows

import (
	"cmp"
	"strings"

	"github.com/switchyard/switchyard"
	"go.temporal.io/sdk/workflow"
)

// pin fixes the run's tools: one recorded step, after which no reload and no deploy changes what the run works with.
func pin(ctx workflow.Context, request switchyard.PinRequest) (switchyard.Pinned, error) {
	var pinned switchyard.Packed[switchyard.Pinned]
	err := workflow.ExecuteLocalActivity(saying(withLocalOptions(ctx), "tools and rules of the run"), switchyard.PinActivity, request).Get(ctx, &pinned)
	if err != nil {
		return switchyard.Pinned{}, err
	}
	if problems := pinned.Value.Problems; len(problems) > 0 {
		return switchyard.Pinned{}, invalid(problems)
	}
	return pinned.Value, nil
}

// invalid is the failure of a run that cannot start.
func invalid(problems []switchyard.Problem) error {
	lines := make([]string, len(problems))
	for i, p := range problems {
		lines[i] = p.String()
	}
	return runError(switchyard.RunInvalid, "nothing was run: "+strings.Join(lines, "; "), nil, problems)
}

// answerSetup lets workers ask what the run is pinned to, and people control it. pinned is read when the query comes, not
// now.
func answerSetup(ctx workflow.Context, agent *switchyard.Agent, pinned *switchyard.Pinned) (*control, error) {
	err := workflow.SetQueryHandler(ctx, switchyard.SetupQuery, func() (switchyard.Setup, error) {
		return switchyard.Setup{Agent: agent, Pinned: switchyard.Pack(*pinned)}, nil
	})
	if err != nil {
		return nil, err
	}
	return newControl(ctx, agent != nil)
}

func originOf(ctx workflow.Context, in switchyard.RunInput, caller switchyard.Caller) switchyard.Origin {
	info := workflow.GetInfo(ctx)
	o := switchyard.Origin{Run: cmp.Or(info.FirstRunID, info.WorkflowExecution.RunID), Caller: caller, Conversation: in.Conversation, Trace: in.Trace, Variables: in.Variables, DryRun: in.DryRun}
	if in.Carry != nil {
		o.Run = in.Carry.Run
	}
	return o
}
