// Package slots serves the slots of lanes with a limit. slots.go has the activity that owns a group
// of slots, queue.go a task queue of the lane. semaphore.go limits how many calls a worker polls
// for. waitqueue.go limits exactly how many of them run and wait, for keys, queue_size and reject;
// waitqueues.go has one such queue for each key with calls. call.go starts a call or returns it
// unstarted.
package slots
