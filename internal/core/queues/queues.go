// Package queues names the task queues of a deployment, and finds what a queue belongs to.
package queues

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/switchyard/switchyard/api"
)

// Lane returns the task queue of a lane for workflows on the task queue base: base for the general
// lane, base/lane for every other.
func Lane(base, lane string) string {
	if lane == api.LaneGeneral || lane == "" {
		return base
	}
	return base + "/" + lane
}

// InstanceHost returns the task queue on which workers of a lane are asked to host instances
// of stateful tools. It is separate from the lane's queue, because hosting lasts as long as the run
// and would occupy a slot of the lane.
func InstanceHost(base, lane string) string {
	return base + "/" + hostPart + cmp.Or(lane, api.LaneGeneral)
}

// HostLane returns the lane of an InstanceHost, or of the queue of an instance that a
// continued run adopts.
func HostLane(base, queue string) string {
	if lane, ok := strings.CutPrefix(queue, base+"/"+hostPart); ok {
		return lane
	}
	return LaneName(base, queue)
}

// hostPart is part of the queues of HostInstanceActivity, and the prefix of its ids.
const hostPart = "host_instance/"

// InstanceHostID returns the id of the nth HostInstanceActivity of an instance in one execution of
// its run. n counts from 1.
func InstanceHostID(instance string, n int) string {
	if n == 1 {
		return hostPart + instance
	}
	return hostPart + instance + "/" + strconv.Itoa(n)
}

// HostedInstance is the inverse of InstanceHostID: the name of the instance.
func HostedInstance(activityID string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(activityID, hostPart), "/")
	return name
}

// Slots returns the task queue on which workers of a lane are asked to serve groups of its
// slots.
func Slots(base, lane string) string { return base + "/slots/" + lane }

// Bypass returns the task queue of calls that bypass the rules of a lane. All workers that
// serve the lane poll it.
func Bypass(base, lane string) string { return base + "/bypass/" + lane }

// instancePart separates, in the name of an instance's task queue, the lane's queue from the run
// and the tool.
const instancePart = "/instance/"

// Instance returns the task queue of a run's instance of a stateful tool. Only the worker that
// hosts the instance polls it. lane is the tool's lane.
func Instance(base, lane, run, tool string) string {
	return Lane(base, lane) + instancePart + run + "/" + tool
}

// ConversationInstance returns the task queue of a conversation's instance, as Instance.
func ConversationInstance(base, lane, conversation, tool string) string {
	return Instance(base, lane, "conversation-"+api.Digest([]byte(conversation)), tool)
}

// IsInstance reports whether a task queue is that of an instance.
func IsInstance(queue string) bool { return strings.Contains(queue, instancePart) }

// Worker returns the task queue of one worker, by its identity, for reports about itself.
func Worker(base, identity string) string { return base + "/worker/" + identity }

// Backlog returns the task queue on which workers with metrics are asked to read the backlog.
func Backlog(base string) string { return base + "/backlog" }

// LaneName is the inverse of Lane: the lane of a task queue, for workflows on the task queue base.
// The queue of an instance belongs to its tool's lane. A queue that does not derive from base is
// returned unchanged.
func LaneName(base, queue string) string {
	rest, ok := strings.CutPrefix(queue, base)
	if i := strings.LastIndex(rest, instancePart); ok && i >= 0 {
		rest = rest[:i]
	}
	switch {
	case !ok:
		return queue
	case rest == "":
		return api.LaneGeneral
	}
	lane, ok := strings.CutPrefix(rest, "/")
	if !ok {
		return queue
	}
	return lane
}
