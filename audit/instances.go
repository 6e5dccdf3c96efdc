package audit

import (
	"context"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"go.temporal.io/sdk/client"
)

// Instance is an instance of a stateful tool, or a session with an MCP server, that a worker hosts
// for a run or that the run has requested.
type Instance struct {
	Name   string `json:"name"`
	Lane   string `json:"lane"`
	Worker string `json:"worker,omitempty"`
	// State is that of the activity that hosts the instance: running while a worker does.
	State State `json:"state"`
	// Since is when the state began.
	Since time.Time `json:"since,omitzero"`
	// Calls are the IDs of the calls that run on the instance or wait for it.
	Calls []string `json:"calls,omitempty"`
}

// Instances returns the instances that a run has now; nothing for a closed run. runID and errors
// are as for Pending.
func Instances(ctx context.Context, c client.Client, workflowID, runID string) ([]Instance, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	info := r.GetWorkflowExecutionInfo()
	if err != nil || info.GetCloseTime() != nil {
		return nil, err
	}
	var list []Instance
	calls := map[string][]string{}
	for _, a := range r.GetPendingActivities() {
		queue := a.GetActivityOptions().GetTaskQueue().GetName()
		switch name := a.GetActivityType().GetName(); {
		case name == api.HostInstanceActivity:
			i := Instance{Name: api.HostedInstance(a.GetActivityId()),
				Lane:   api.LaneOfHostQueue(info.GetTaskQueue(), queue),
				Worker: a.GetLastWorkerIdentity()}
			i.State, i.Since = activityState(a)
			list = append(list, i)
		case history.IsTool(name) && api.IsInstanceQueue(queue):
			instance := queue[strings.LastIndex(queue, "/")+1:]
			calls[instance] = append(calls[instance], a.GetActivityId())
		}
	}
	for n, i := range list {
		list[n].Calls = calls[i.Name]
	}
	return list, nil
}
