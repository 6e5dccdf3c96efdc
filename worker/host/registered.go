package host

import (
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/switchyard/switchyard/activities"
	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/executor/agent"
	"github.com/switchyard/switchyard/activities/executor/command"
	"github.com/switchyard/switchyard/activities/executor/function"
	"github.com/switchyard/switchyard/activities/executor/human"
	"github.com/switchyard/switchyard/activities/executor/mcp"
	"github.com/switchyard/switchyard/activities/executor/plan"
	"github.com/switchyard/switchyard/activities/executor/rest"
	"github.com/switchyard/switchyard/activities/hooks"
	"github.com/switchyard/switchyard/activities/instances"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/feature"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/models"
	"github.com/switchyard/switchyard/worker/host/deployment"
)

// registered is what toolspecs refer to: the application's handlers, connections to MCP servers,
// lanes, policies and models.
type registered struct {
	functions *function.Executor
	factories *instances.Factories
	hooks     *hooks.Registry
	servers   *mcp.Executor
	// executors has the executor of each kind of tool.
	executors map[string]executor.Executor
	lanes     *laneSource
	rules     *policySource
	labels    *labelledCatalog
	models    *models.Table
}

// close stops the watching of files.
func (r registered) close() {
	r.lanes.close()
	r.rules.close()
}

func (c Config) register() (r registered, err error) {
	if c.ModelsFile != "" {
		if r.models, err = models.Load(c.ModelsFile); err != nil {
			return r, err
		}
	}
	if r.functions, err = function.New(c.Functions...); err != nil {
		return r, err
	}
	if r.hooks, err = hooks.New(c.Hooks...); err != nil {
		return r, err
	}
	r.servers = mcp.New(mcp.Options{Dir: c.Dir, Files: c.Files, Logins: c.Logins, Inside: c.Inside,
		Log: c.Logger})
	if r.factories, err = instances.NewFactories(c.Stateful...); err != nil {
		return r, err
	}
	r.executors = c.executors(r)
	return r, nil
}

// executors returns the executor of each kind of tool.
func (c Config) executors(r registered) map[string]executor.Executor {
	return map[string]executor.Executor{
		toolspecs.KindFunction: r.functions,
		toolspecs.KindStateful: r.factories,
		toolspecs.KindCommand:  &command.Executor{Dir: c.Dir},
		toolspecs.KindREST: rest.Executor{Inside: c.Inside,
			Connections: new(outbound.Connections)},
		toolspecs.KindMCP:   r.servers,
		toolspecs.KindAgent: agent.Executor{},
		toolspecs.KindHuman: human.Executor{},
		toolspecs.KindPlan:  plan.Executor{},
	}
}

// register registers the workflows and the activities that accompany them.
func register(w worker.Worker, actions *activities.Activities) {
	for name, run := range feature.Workflows() {
		w.RegisterWorkflowWithOptions(run, workflow.RegisterOptions{Name: name,
			VersioningBehavior: deployment.Behavior(name)})
	}
	w.RegisterActivityWithOptions(actions.Pin, activity.RegisterOptions{Name: api.PinActivity})
	w.RegisterActivityWithOptions(actions.LoadConversation,
		activity.RegisterOptions{Name: api.LoadConversationActivity})
	w.RegisterActivityWithOptions(actions.Instances.Join,
		activity.RegisterOptions{Name: api.JoinInstanceActivity})
	w.RegisterActivityWithOptions(actions.Instances.FindEndedUsers,
		activity.RegisterOptions{Name: api.FindEndedUsersActivity})
	w.RegisterActivityWithOptions(actions.Admission.Admit,
		activity.RegisterOptions{Name: api.AdmitActivity})
	w.RegisterActivityWithOptions(actions.Admission.Edit,
		activity.RegisterOptions{Name: api.AdmitEditActivity})
	w.RegisterActivityWithOptions(actions.Admission.Limit,
		activity.RegisterOptions{Name: api.DescribeLimitActivity})
	w.RegisterActivityWithOptions(actions.Notify,
		activity.RegisterOptions{Name: api.NotifyApprovalActivity})
	w.RegisterActivityWithOptions(actions.Reply,
		activity.RegisterOptions{Name: api.CheckReplyActivity})
	w.RegisterActivityWithOptions(actions.FinalizeResult,
		activity.RegisterOptions{Name: api.FinalizeResultActivity})
	w.RegisterActivityWithOptions(actions.Ledgers.Close,
		activity.RegisterOptions{Name: api.CloseReservationsActivity})
	w.RegisterActivityWithOptions(actions.RunHook, activity.RegisterOptions{Name: api.HookActivity})
}
