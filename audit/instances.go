package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/audit/history"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/internal/value/visibility"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
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
	// Keeper is the ID of the workflow that keeps an instance of the run's conversation; empty for
	// an instance of the run.
	Keeper string `json:"keeper,omitempty"`
}

// Instances returns the instances that a run has now, and those of its conversation, also
// if the run is closed. runID and errors are as for Pending.
func Instances(ctx context.Context, c client.Client, workflowID, runID string) ([]Instance, error) {
	r, err := describeLatest(ctx, c, workflowID, runID)
	info := r.GetWorkflowExecutionInfo()
	if err != nil {
		return nil, err
	}
	var list []Instance
	calls := map[string][]string{}
	for _, a := range r.GetPendingActivities() {
		queue := a.GetActivityOptions().GetTaskQueue().GetName()
		switch name := a.GetActivityType().GetName(); {
		case name == api.HostInstanceActivity:
			list = append(list, instanceFromActivity(a, info.GetTaskQueue()))
		case history.IsTool(name) && queues.IsInstance(queue):
			instance := queue[strings.LastIndex(queue, "/")+1:]
			calls[instance] = append(calls[instance],
				api.CallOfActivity(a.GetActivityId()))
		}
	}
	start, err := readStart(ctx, c, workflowID, info.GetExecution().GetRunId())
	if err != nil {
		return nil, err
	}
	var kept []Instance
	if start.Parent == nil { // a sub-agent uses none of a conversation
		kept, err = keptInstances(ctx, c, info.GetTaskQueue(), start.Conversation)
	}
	list = append(list, kept...)
	for n, i := range list {
		list[n].Calls = calls[i.Name]
	}
	return list, err
}

// instanceFromActivity returns the instance that an activity hosts for a workflow with the task
// queue base.
func instanceFromActivity(a *workflowpb.PendingActivityInfo, base string) Instance {
	queue := a.GetActivityOptions().GetTaskQueue().GetName()
	i := Instance{Name: queues.HostedInstance(a.GetActivityId()),
		Lane: queues.HostLane(base, queue), Worker: a.GetLastWorkerIdentity()}
	i.State, i.Since = activityState(a)
	return i
}

// keptInstances returns the instances that a conversation has now. A new one is listed after a
// moment.
func keptInstances(ctx context.Context, c client.Client, base,
	conversation string) (list []Instance, err error) {
	prefix := api.InstanceWorkflowPrefix(base, conversation)
	request := &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf(
		"WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s",
		api.InstanceWorkflow, visibility.Prefix("WorkflowId", prefix))}
	for {
		page, err := c.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list the conversation's instances: %w", err)
		}
		for _, e := range page.GetExecutions() {
			keeper := e.GetExecution().GetWorkflowId()
			if !strings.HasPrefix(keeper, prefix) {
				continue // of another task queue
			}
			if list, err = withKept(ctx, c, base, keeper, list); err != nil {
				return nil, err
			}
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.NextPageToken) == 0 {
			return list, nil
		}
	}
}

// withKept adds the instance that a workflow keeps, if there is one.
func withKept(ctx context.Context, c client.Client, base, keeper string,
	list []Instance) ([]Instance, error) {
	r, err := c.DescribeWorkflowExecution(ctx, keeper, "")
	if _, gone := errors.AsType[*serviceerror.NotFound](err); err != nil && !gone {
		return nil, err
	}
	for _, a := range r.GetPendingActivities() {
		if a.GetActivityType().GetName() == api.HostInstanceActivity {
			i := instanceFromActivity(a, base)
			i.Keeper = keeper
			list = append(list, i)
		}
	}
	return list, nil
}
