package operate

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/switchyard/switchyard/audit/lanestate"
	"github.com/switchyard/switchyard/internal/runstart"
	"github.com/switchyard/switchyard/starter/internal/cli"
	commandpb "go.temporal.io/api/command/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	// orderWorkflow is a workflow type without workers. doctor completes its only workflow tasks.
	orderWorkflow = "SwitchyardOrderProbe"
	// orderTimeout bounds the probe, which takes 0.1 s, or 0.4 s with four partitions. orderExpiry
	// is when the server removes what a killed doctor leaves.
	orderTimeout = 10 * time.Second
	orderExpiry  = 30 * time.Second
	// orderPace is the polling interval until all tasks are queued.
	orderPace = 5 * time.Millisecond
	// maxOrderFactor bounds the multiplication of the groups by a task queue's partitions.
	maxOrderFactor = 8
)

// orderGroup is a set of activities with one priority and one fairness key. n is the number per
// partition. Tasks are spread over partitions at random, so few of them would give a random result.
type orderGroup struct {
	name     string
	n        int
	priority int32
	fairness string
}

// Groups in scheduling order. With priorities, the urgent group is dispatched first although it is
// last. With fairness, the other key's tasks are dispatched among the first of the many although
// they come later.
var (
	orderMany   = orderGroup{name: "many", n: 12, priority: 3, fairness: "one"}
	orderOther  = orderGroup{name: "other", n: 4, priority: 3, fairness: "another"}
	orderUrgent = orderGroup{name: "urgent", n: 4, priority: 1, fairness: "one"}
)

// orderProbe measures the dispatch order of a task queue. No API exposes it: the dynamic
// configuration is not readable, and DescribeTaskQueue returns the same with and without fairness.
type orderProbe struct {
	client    client.Client
	namespace string
	// id is the ID of the workflow and of its task queue, which has no other pollers.
	id         string
	partitions []string
	task       *workflowservice.PollWorkflowTaskQueueResponse
	waiting    int64
	// heartbeat is the duration of the slowest of some heartbeats.
	heartbeat time.Duration
	// ahead is how far this machine's clock is ahead of the server's; negative if it is behind.
	ahead time.Duration
}

// servedOrder is what the probe infers from the order of the tasks.
type servedOrder struct {
	priority, fairness bool
}

// measureOrder runs the probe. The order of a task queue with several partitions depends on chance,
// so it is measured again if it is not the wanted one.
func measureOrder(ctx context.Context, c client.Client, namespace string) (servedOrder,
	*orderProbe, error) {
	measured, p, err := runProbe(ctx, c, namespace)
	if err != nil || len(p.partitions) < 2 || measured.priority && measured.fairness {
		return measured, p, err
	}
	return runProbe(ctx, c, namespace)
}

// runProbe measures once and removes its workflow. Without permission to delete, a closed workflow
// remains. The probe has what else it measured until an error.
func runProbe(ctx context.Context, c client.Client, namespace string) (measured servedOrder,
	p *orderProbe, err error) {
	// The server logs polls with shorter timeouts.
	ctx, cancel := context.WithTimeout(ctx, orderExpiry)
	defer cancel()
	defer time.AfterFunc(orderTimeout, cancel).Stop()
	p = &orderProbe{client: c, namespace: namespace, id: "doctor-" + runstart.RandomHex(8)}
	if _, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: p.id, TaskQueue: p.id,
		WorkflowExecutionTimeout: orderExpiry}, orderWorkflow); err != nil {
		return servedOrder{}, p, err
	}
	defer p.remove(context.WithoutCancel(ctx))
	if err := p.fill(ctx); err != nil {
		return servedOrder{}, p, err
	}
	order, err := p.drain(ctx)
	return evaluateOrder(order), p, err
}

// remove deletes the workflow while it runs, which is quick; a closed one would stay for minutes.
// Without permission to delete, it terminates the workflow, and otherwise the workflow times out.
func (p *orderProbe) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, cli.ConnectTimeout)
	defer cancel()
	_, err := p.client.WorkflowService().DeleteWorkflowExecution(ctx,
		&workflowservice.DeleteWorkflowExecutionRequest{
			Namespace:         p.namespace,
			WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: p.id}})
	if err != nil {
		_ = p.client.TerminateWorkflow(ctx, p.id, "", "the order is measured")
	}
}

func (p *orderProbe) queue() *taskqueuepb.TaskQueue {
	return &taskqueuepb.TaskQueue{Name: p.id, Kind: enumspb.TASK_QUEUE_KIND_NORMAL}
}

// fill queues the groups, the first one before the others.
func (p *orderProbe) fill(ctx context.Context) (err error) {
	if p.partitions, err = lanestate.Partitions(ctx, p.client, p.namespace, p.id); err != nil {
		return err
	}
	service := p.client.WorkflowService()
	p.task, err = service.PollWorkflowTaskQueue(ctx,
		&workflowservice.PollWorkflowTaskQueueRequest{Namespace: p.namespace, TaskQueue: p.queue(),
			Identity: p.id})
	if err != nil {
		return err
	}
	if started := p.task.GetStartedTime(); started != nil {
		p.ahead = time.Since(started.AsTime())
	}
	token := p.task.GetTaskToken()
	for _, groups := range [][]orderGroup{{orderMany}, {orderOther, orderUrgent}} {
		answer, err := service.RespondWorkflowTaskCompleted(ctx,
			&workflowservice.RespondWorkflowTaskCompletedRequest{
				TaskToken: token, Namespace: p.namespace, Identity: p.id,
				Commands:                   p.commands(groups),
				ForceCreateNewWorkflowTask: true, ReturnNewWorkflowTask: true})
		if err != nil {
			return err
		}
		token = answer.GetWorkflowTask().GetTaskToken()
		if err := p.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// commands schedules the activities of some groups.
func (p *orderProbe) commands(groups []orderGroup) []*commandpb.Command {
	var commands []*commandpb.Command
	for _, g := range groups {
		for i := range g.n * min(len(p.partitions), maxOrderFactor) {
			p.waiting++
			commands = append(commands, &commandpb.Command{
				CommandType: enumspb.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
				Attributes: taskAttributes(&commandpb.ScheduleActivityTaskCommandAttributes{
					ActivityId:   g.name + "-" + strconv.Itoa(i),
					ActivityType: &commonpb.ActivityType{Name: g.name}, TaskQueue: p.queue(),
					ScheduleToCloseTimeout: durationpb.New(orderExpiry),
					StartToCloseTimeout:    durationpb.New(orderExpiry),
					RetryPolicy:            &commonpb.RetryPolicy{MaximumAttempts: 1},
					Priority: &commonpb.Priority{PriorityKey: g.priority,
						FairnessKey: g.fairness},
				}),
			})
		}
	}
	return commands
}

// taskAttributes wraps the attributes of the command that schedules an activity.
func taskAttributes(a *commandpb.ScheduleActivityTaskCommandAttributes,
) *commandpb.Command_ScheduleActivityTaskCommandAttributes {
	return &commandpb.Command_ScheduleActivityTaskCommandAttributes{
		ScheduleActivityTaskCommandAttributes: a}
}

// await returns when all scheduled tasks are queued.
func (p *orderProbe) await(ctx context.Context) error {
	tick := time.NewTicker(orderPace)
	defer tick.Stop()
	for {
		var n int64
		for _, partition := range p.partitions {
			waits, err := lanestate.PartitionBacklog(ctx, p.client, p.namespace, partition)
			if err != nil {
				return err
			}
			n += waits
		}
		if n >= p.waiting {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d tasks reached the task queue in time: %w", n, p.waiting,
				ctx.Err())
		}
	}
}

// drain polls all queued tasks and returns their group names in dispatch order. It sends heartbeats
// for the last one.
func (p *orderProbe) drain(ctx context.Context) ([]string, error) {
	var order []string
	var token []byte
	for range p.waiting {
		task, err := p.client.WorkflowService().PollActivityTaskQueue(ctx,
			&workflowservice.PollActivityTaskQueueRequest{
				Namespace: p.namespace, TaskQueue: p.queue(), Identity: p.id})
		if err != nil {
			return nil, err
		}
		order, token = append(order, task.GetActivityType().GetName()), task.GetTaskToken()
	}
	for range samples {
		began := time.Now()
		_, err := p.client.WorkflowService().RecordActivityTaskHeartbeat(ctx,
			&workflowservice.RecordActivityTaskHeartbeatRequest{Namespace: p.namespace,
				TaskToken: token, Identity: p.id})
		if err != nil {
			return nil, err
		}
		p.heartbeat = max(p.heartbeat, time.Since(began))
	}
	return order, nil
}

// evaluateOrder infers whether priorities and fairness are in effect: the late group's average
// position must be in the first half. A task queue with several partitions keeps no exact order.
func evaluateOrder(order []string) servedOrder {
	equal := slices.DeleteFunc(slices.Clone(order),
		func(name string) bool { return name == orderUrgent.name })
	return servedOrder{priority: early(order, orderUrgent.name), fairness: early(equal,
		orderOther.name)}
}

func early(order []string, name string) bool {
	sum, n := 0, 0
	for i, o := range order {
		if o == name {
			sum, n = sum+i, n+1
		}
	}
	return n > 0 && 2*sum < n*(len(order)-1)
}
