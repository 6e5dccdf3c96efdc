package lanerules

import "github.com/switchyard/switchyard/api"

// KeeperInput is the input of LaneSlotsWorkflow.
type KeeperInput struct {
	Lane api.Lane `json:"lane"`
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	// Fences has the highest fencing number so far of each group.
	Fences []int64 `json:"fences,omitempty"`
}

// SlotsRequest is the input of ServeSlotsActivity. It asks a worker to serve one group of a lane's
// slots or keys for as long as its heartbeats prove that it is the only one.
type SlotsRequest struct {
	// Lane is the lane as configured when the group was assigned. A worker with a newer
	// configuration uses its own, except for Holders and whether the lane is keyed.
	Lane api.Lane `json:"lane"`
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	// Group counts from 0 and is less than Lane.Holders.
	Group int `json:"group"`
	// Fence is the highest fencing number of earlier workers with this group.
	Fence int64 `json:"fence,omitempty"`
}

// SlotsState is the heartbeat and the result of ServeSlotsActivity.
type SlotsState struct {
	// Fence is the fencing number. It grows with every change of worker.
	Fence int64 `json:"fence"`
	// Since is when this worker took over, in milliseconds since 1970.
	Since int64 `json:"since,omitempty"`
	// Slots is how many calls may run at once; on a keyed lane, for each key.
	Slots int `json:"slots"`
	Counts
}

// Counts counts what happened to calls on a lane. All but Running, Waiting and Keys only grow,
// also over changes of worker.
type Counts struct {
	Running int `json:"running,omitempty"`
	// Waiting counts calls that wait on the worker, without those that wait at the server.
	Waiting int `json:"waiting,omitempty"`
	// Keys is how many keys have calls on the worker.
	Keys     int   `json:"keys,omitempty"`
	Acquired int64 `json:"acquired,omitempty"`
	Rejected int64 `json:"rejected,omitempty"`
	// TimedOut counts calls that waited too long on the worker.
	TimedOut int64 `json:"timed_out,omitempty"`
	// Ended counts calls that got a slot and have ended; WaitMicros and ExecutionMicros are the
	// sums of their times.
	Ended           int64 `json:"ended,omitempty"`
	WaitMicros      int64 `json:"wait_us,omitempty"`
	ExecutionMicros int64 `json:"execution_us,omitempty"`
}

// Add adds other to c.
func (c *Counts) Add(other Counts) {
	c.Running += other.Running
	c.Waiting += other.Waiting
	c.Keys += other.Keys
	c.Acquired += other.Acquired
	c.Rejected += other.Rejected
	c.TimedOut += other.TimedOut
	c.Ended += other.Ended
	c.WaitMicros += other.WaitMicros
	c.ExecutionMicros += other.ExecutionMicros
}
