package lanestate

import (
	"context"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// pollerAge bounds the time since the last poll of a worker that counts as present. A poll waits up
// to a minute.
const pollerAge = 90 * time.Second

// Pollers returns the sorted identities of the workers that polled a task queue recently. The error
// is that of the server.
func Pollers(ctx context.Context, c client.Client, namespace, queue string,
	kind enumspb.TaskQueueType) ([]string, error) {
	answer, err := c.WorkflowService().
		DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueueType: kind, TaskQueue: taskQueue(queue)})
	return listPollers(answer), err
}

func taskQueue(name string) *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

func listPollers(answer *workflowservice.DescribeTaskQueueResponse) []string {
	var identities []string
	for _, p := range answer.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < pollerAge {
			identities = append(identities, p.GetIdentity())
		}
	}
	slices.Sort(identities)
	return slices.Compact(identities)
}

// partitionNames returns the names of the partitions of a task queue for activities. The server
// applies order, priorities, fairness and rates per partition, so they are exact only with one
// partition. The error is that of the server.
func partitionNames(ctx context.Context, c client.Client, namespace, queue string) ([]string,
	error) {
	answer, err := c.WorkflowService().
		ListTaskQueuePartitions(ctx, &workflowservice.ListTaskQueuePartitionsRequest{
			Namespace: namespace, TaskQueue: taskQueue(queue)})
	var names []string
	for _, p := range answer.GetActivityTaskQueuePartitions() {
		names = append(names, p.GetKey())
	}
	return names, err
}

// backlog returns the approximate number of activities that wait in all partitions of a task queue,
// and its pollers. With several partitions or versioned workers the number is up to 5 s old.
func backlog(ctx context.Context, c client.Client, namespace, queue string,
	partitions int) (int64, []string, error) {
	answer, err := c.WorkflowService().
		DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
			Namespace: namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY,
			TaskQueue: taskQueue(queue), ReportStats: true,
			//lint:ignore SA1019 the statistics in its place are up to 5 s old
			IncludeTaskQueueStatus: true})
	if err != nil {
		return 0, nil, err
	}
	waiting := answer.GetStats().GetApproximateBacklogCount()
	//lint:ignore SA1019 see above
	status := answer.GetTaskQueueStatus()
	// The status covers calls of runs without a version only.
	if status != nil && partitions <= 1 && len(decodeVersions(answer).Served) == 0 {
		waiting = status.GetBacklogCountHint()
	}
	return waiting, listPollers(answer), nil
}
