package api

import "time"

// AdoptWithin is how long a living instance waits for the execution that continues its run. The run waits a heartbeat
// timeout longer, so that a worker that was cut off in the meantime has given the instance up before another is made.
const AdoptWithin = Duration(20 * time.Second)

// HoldRequest is the input of HoldActivity: it asks a worker for the instance of a stateful tool that a run needs, and to
// keep it until the run ends, nobody uses it any more, or the worker cannot prove that it is still the holder.
type HostInstanceRequest struct {
	Tool   string `json:"tool"`
	Digest string `json:"digest"`
	Origin Origin `json:"origin"`
	// Queue is the task queue that leads to the instance: the worker that holds it polls it.
	Queue string `json:"queue"`
	// Lost says that the last instance was lost, and did not idle out.
	Lost bool `json:"lost,omitempty"`
	// Last is what is known of the run's last instance of the tool; zero for the first one.
	Last InstanceProgress `json:"last,omitzero"`
	// Before are holds of earlier executions of the run, oldest first, that ended with their execution: the last heartbeat
	// of the newest that had one has the state.
	Before []InstanceHost `json:"before,omitempty"`
	// Adopt asks for the living instance that the execution before left with the worker that serves the instance's queue.
	Adopt bool `json:"adopt,omitempty"`
}

// HoldRef names a hold of an earlier execution of a run.
type InstanceHost struct {
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
}

// HoldState is what survives an instance. A hold's heartbeats carry it to the next holder, and a hold that ends because
// nobody used the instance returns it.
type InstanceProgress struct {
	// Generation counts the instances that the run had of the tool. It is their fencing number: it only grows.
	Generation int `json:"generation,omitempty"`
	// Used says that calls were executed on one of them, so that an instance without their state is told from a first one.
	Used bool `json:"used,omitempty"`
	// State is the last snapshot with the answers of the latest calls, as package activities packs it; nil without one.
	State []byte `json:"state,omitempty"`
}

// CarriedInstance is what a run that continues as new tells its next execution of a stateful tool's instance.
type InstanceState struct {
	Tool string           `json:"tool"`
	Last InstanceProgress `json:"last,omitzero"`
	// Held says that a worker holds the instance: the next execution has it adopted.
	Hosted bool           `json:"hosted,omitempty"`
	Before []InstanceHost `json:"before,omitempty"`
	// Vanished says that the last instance was lost, Lost that no other is made for it.
	Vanished bool `json:"vanished,omitempty"`
	Lost     bool `json:"lost,omitempty"`
}

// HoldError maps a failure of a hold to the error of the calls that wait for its instance: why it could not be made, or
// that it was lost. A hold that the run has cancelled has none.
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

// InstanceLost is the error of every call that needs an instance whose worker was lost, where the tool says on_loss: fail.
func InstanceLost(tool string) *Error {
	return &Error{Type: ErrWorkerLost, Phase: PhaseExecution,
		Message: "the worker that held the instance of " + tool + " was lost, and its state with it (on_loss: fail); do not call " + tool + " again in this run"}
}
