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

// pollerAge is how long ago a worker may have polled to count as there: a poll waits up to a minute.
const pollerAge = 90 * time.Second

// Pollers returns the identities of the workers that polled a task queue lately, sorted. The error is the server's.
func Pollers(ctx context.Context, c client.Client, namespace, queue string, kind enumspb.TaskQueueType) ([]string, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueueType: kind, TaskQueue: taskQueue(queue)})
	return pollersOf(answer), err
}

func taskQueue(name string) *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: name, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

func pollersOf(answer *workflowservice.DescribeTaskQueueResponse) []string {
	var identities []string
	for _, p := range answer.GetPollers() {
		if time.Since(p.GetLastAccessTime().AsTime()) < pollerAge {
			identities = append(identities, p.GetIdentity())
		}
	}
	slices.Sort(identities)
	return slices.Compact(identities)
}

// Partitions returns the names of the partitions of a task queue for activities. The server keeps order, priorities, fairness
// and rates in each of them, and so exactly only where there is one. The error is the server's.
func Partitions(ctx context.Context, c client.Client, namespace, queue string) ([]string, error) {
	answer, err := c.WorkflowService().ListTaskQueuePartitions(ctx, &workflowservice.ListTaskQueuePartitionsRequest{
		Namespace: namespace, TaskQueue: taskQueue(queue)})
	var names []string
	for _, p := range answer.GetActivityTaskQueuePartitions() {
		names = append(names, p.GetKey())
	}
	return names, err
}

// PartitionBacklog returns about how many tasks wait in one partition of a task queue for activities. Those that nobody wants
// any more count until a worker would get them. The error is the server's.
func PartitionBacklog(ctx context.Context, c client.Client, namespace, partition string) (int64, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, TaskQueue: taskQueue(partition),
		//lint:ignore SA1019 the statistics in its place are up to 5 s old, and those of the whole queue
		IncludeTaskQueueStatus: true})
	//lint:ignore SA1019 see above
	return answer.GetTaskQueueStatus().GetBacklogCountHint(), err
}

// backlog returns about how many activities wait in a task queue, over all its partitions, and who polls it. Of one with
// several partitions the number is up to 5 s old.
func backlog(ctx context.Context, c client.Client, namespace, queue string, partitions int) (int64, []string, error) {
	answer, err := c.WorkflowService().DescribeTaskQueue(ctx, &workflowservice.DescribeTaskQueueRequest{
		Namespace: namespace, TaskQueueType: enumspb.TASK_QUEUE_TYPE_ACTIVITY, TaskQueue: taskQueue(queue), ReportStats: true,
		//lint:ignore SA1019 the statistics in its place are up to 5 s old
		IncludeTaskQueueStatus: true})
	if err != nil {
		return 0, nil, err
	}
	waiting := answer.GetStats().GetApproximateBacklogCount()
	//lint:ignore SA1019 see above
	if status := answer.GetTaskQueueStatus(); status != nil && partitions <= 1 {
		waiting = status.GetBacklogCountHint()
	}
	return waiting, pollersOf(answer), nil
}
