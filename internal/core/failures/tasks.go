package failures

import "github.com/switchyard/switchyard/api"

// MaxFollows bounds how often a call is scheduled again to wait for its remote task.
const MaxFollows = 20

// RemoteTask returns the remote task that a failed attempt of a call leaves to the next one; nil if
// there is none. e is the error of the attempt, earlier the task that the attempt got. An attempt
// that never reported leaves the task as it was.
func RemoteTask(f ActivityFailure, e *api.Error, earlier *api.RemoteTask) *api.RemoteTask {
	var left api.RemoteTask
	switch {
	case f.Timeout != "":
		return reportedTask(f, earlier)
	case e.BeforeStart():
		return earlier
	case f.Left != nil && f.Left(&left) == nil && left.ID != "":
		return &left
	}
	return nil
}

// reportedTask returns the task that the last heartbeat reported; earlier if none did.
func reportedTask(f ActivityFailure, earlier *api.RemoteTask) *api.RemoteTask {
	var last api.Heartbeat
	if f.LastHeartbeat != nil && f.LastHeartbeat(&last) == nil &&
		(last.Task != nil || last.TaskOver) {
		return last.Task
	}
	return earlier
}

// FollowsTask reports whether a run schedules a call again that failed with e and left a task, to
// wait for the end of the task. It was scheduled again for that reason n times before.
func FollowsTask(r *api.RemoteTask, e *api.Error, n int) bool {
	return r != nil && !e.BeforeStart() && n < MaxFollows
}
