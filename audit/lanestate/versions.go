package lanestate

import (
	"context"
	"time"

	deploymentpb "go.temporal.io/api/deployment/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Version is a version of a Worker Deployment. The zero value is no version.
type Version struct {
	Deployment, Build string
}

// Versions describes the Worker Versioning of the task queue of workflows.
type Versions struct {
	// Current and Ramping are the versions of new runs; the zero value without one. Percent is the
	// share of Ramping.
	Current, Ramping Version
	Percent          float32
	// Served are the versions whose workers poll, Unversioned whether other workers do.
	Served      []Version
	Unversioned bool
}

// ReadVersions returns the versions of a task queue of workflows. The error is that of the server.
func ReadVersions(ctx context.Context, c client.Client, namespace, queue string) (Versions, error) {
	answer, err := c.WorkflowService().
		DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_WORKFLOW,
			TaskQueue: taskQueue(queue)})
	return decodeVersions(answer), err
}

func decodeVersions(answer *workflowservice.DescribeTaskQueueResponse) Versions {
	info := answer.GetVersioningInfo()
	v := Versions{Current: decodeVersion(info.GetCurrentDeploymentVersion()),
		Ramping: decodeVersion(info.GetRampingDeploymentVersion()),
		Percent: info.GetRampingVersionPercentage()}
	seen := map[Version]bool{}
	for _, p := range answer.GetPollers() {
		o := p.GetDeploymentOptions()
		served := Version{Deployment: o.GetDeploymentName(), Build: o.GetBuildId()}
		switch {
		case time.Since(p.GetLastAccessTime().AsTime()) >= pollerAge:
		case o.GetWorkerVersioningMode() != enumspb.WORKER_VERSIONING_MODE_VERSIONED:
			v.Unversioned = true
		case !seen[served]:
			seen[served], v.Served = true, append(v.Served, served)
		}
	}
	return v
}

func decodeVersion(v *deploymentpb.WorkerDeploymentVersion) Version {
	return Version{Deployment: v.GetDeploymentName(), Build: v.GetBuildId()}
}
