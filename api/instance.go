package api

import (
	"time"
)

// AdoptWithin is how long a living instance waits for the execution that continues its run. The run
// waits an IdleLease longer before it makes another instance, so that a partitioned worker
// has given up the old one.
const AdoptWithin = Duration(20 * time.Second)

// maxIdleLease bounds IdleLease of tools with a shorter heartbeat.
const maxIdleLease = 2 * time.Minute

// IdleLease returns the heartbeat timeout of an instance's host while no call uses the instance:
// eight times the tool's heartbeat, at most 2 min unless the heartbeat is longer. It is the longest
// time for which a lost worker can still have had the instance.
func IdleLease(heartbeat Duration) Duration {
	return max(heartbeat, min(8*heartbeat, Duration(maxIdleLease)))
}

// HostInstanceRequest is the input of HostInstanceActivity. It asks a worker to host the instance
// of a stateful tool until the run ends, the instance idles out, or the worker cannot prove its
// lease.
type HostInstanceRequest struct {
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
	Origin Origin `json:"origin"`
	// Queue is the task queue of the instance, polled by the worker that hosts it.
	Queue string `json:"queue"`
	// Lost says that the last instance was lost and did not idle out.
	Lost bool `json:"lost,omitempty"`
	// Last is the progress of the run's last instance of the tool; zero for the first one.
	Last InstanceProgress `json:"last,omitzero"`
	// Before are hosts of earlier executions of the run, oldest first. The last heartbeat of the
	// newest that had one has the state.
	Before []InstanceHost `json:"before,omitempty"`
	// Adopt asks for the living instance of the previous execution, on the worker that serves the
	// instance's queue.
	Adopt bool `json:"adopt,omitempty"`
}

// InstanceHost identifies a HostInstanceActivity of an earlier execution of a run.
type InstanceHost struct {
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
}

// InstanceProgress is what survives an instance. Heartbeats of HostInstanceActivity carry it to the
// next host, and the activity returns it when the instance idles out.
type InstanceProgress struct {
	// Generation counts the instances of the tool in this run. It is their fencing number and never
	// decreases.
	Generation int `json:"generation,omitempty"`
	// Used says that a call ran on an instance, so that an instance without state differs from a
	// first one.
	Used bool `json:"used,omitempty"`
	// State is the last snapshot with the answers of the latest calls, packed by the worker; nil
	// without a snapshot.
	State []byte `json:"state,omitempty"`
}

// InstanceState is what a run that continues as new passes on about the instance of a stateful
// tool.
type InstanceState struct {
	Tool string           `json:"tool"`
	Last InstanceProgress `json:"last,omitzero"`
	// Hosted says that a worker hosts the instance; the next execution adopts it.
	Hosted bool           `json:"hosted,omitempty"`
	Before []InstanceHost `json:"before,omitempty"`
	// Vanished says that the last instance was lost, Lost that it is not recreated.
	Vanished bool `json:"vanished,omitempty"`
	Lost     bool `json:"lost,omitempty"`
}

// InstanceHostError maps a failure of HostInstanceActivity to the error of the calls that wait for
// the instance: it could not be made, or it was lost. A cancelled activity has no error.
func (f ActivityFailure) InstanceHostError(tool Tool) (e *Error, lost bool) {
	if f.Cancelled {
		return nil, false
	}
	if f.Timeout == "" {
		if e = f.CallError(tool, Route{}); e.Type != ErrWorkerLost {
			return e, false
		}
	}
	return InstanceLost(tool.Name), true
}

// InstanceLost is the error of every call of a lost instance with on_loss: fail.
func InstanceLost(tool string) *Error {
	return &Error{Type: ErrWorkerLost, Phase: PhaseExecution,
		Message: "the worker that held the instance of " + tool +
			" was lost with its state (on_loss: fail); do not call " + tool +
			" again in this run"}
}
