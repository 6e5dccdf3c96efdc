package api

import (
	"cmp"
	"encoding/json"
	"time"
)

// AdoptWithin is how long a living instance waits for the execution that continues its run. The run
// waits an IdleLease longer before it makes another instance, so that a partitioned worker
// has given up the old one.
const AdoptWithin = Duration(20 * time.Second)

// HostInstanceRequest is the input of HostInstanceActivity. It asks a worker to host an instance
// until the run ends, the instance idles out or loses its state, or the worker cannot prove its
// lease.
type HostInstanceRequest struct {
	// Instance is the name of the instance, as in the tool. Tool, with its digest, is one of the
	// tools that share it.
	Instance string `json:"instance,omitempty"`
	Tool     string `json:"tool"`
	Digest   string `json:"digest"`
	Origin   Origin `json:"origin"`
	// Asks says that calls of the instance may ask people. Heartbeat is the longest heartbeat
	// timeout of the tools that share it; zero leaves it to Tool.
	Asks      bool     `json:"asks,omitempty"`
	Heartbeat Duration `json:"heartbeat,omitzero"`
	// Queue is the task queue of the instance, polled by the worker that hosts it.
	Queue string `json:"queue"`
	// Lost says that the last instance was lost and did not idle out.
	Lost bool `json:"lost,omitempty"`
	// Last is the progress of the run's last such instance; zero for the first one.
	Last InstanceProgress `json:"last,omitzero"`
	// Before are hosts of earlier executions of the run, oldest first. The last heartbeat of the
	// newest that had one has the state.
	Before []InstanceHost `json:"before,omitempty"`
	// Adopt asks for the living instance of the previous execution, on the worker that serves the
	// instance's queue.
	Adopt bool `json:"adopt,omitempty"`
}

// Name returns the name of the instance.
func (r HostInstanceRequest) Name() string { return cmp.Or(r.Instance, r.Tool) }

// InstanceHost identifies a HostInstanceActivity of an earlier execution of a run.
type InstanceHost struct {
	RunID      string `json:"run_id"`
	ActivityID string `json:"activity_id"`
}

// InstanceProgress is what survives an instance. Heartbeats of HostInstanceActivity carry it to the
// next host, and the activity returns it when the instance idles out.
type InstanceProgress struct {
	// Generation counts the instances of this name in the run. It is their fencing number and never
	// decreases.
	Generation int `json:"generation,omitempty"`
	// Used says that a call ran on an instance, so that an instance without state differs from a
	// first one.
	Used bool `json:"used,omitempty"`
	// State is the last snapshot with the answers of the latest calls, packed by the worker; nil
	// without a snapshot.
	State []byte `json:"state,omitempty"`
	// Ended is why the instance lost its state although its worker lived; empty if it did not.
	Ended string `json:"ended,omitempty"`
	// Creating says that the next instance is being created, and no call has started on it.
	Creating bool `json:"creating,omitempty"`
	// Closed says that the run closed the instance on demand: the next one has no state of it.
	Closed bool `json:"closed,omitempty"`
}

// AfterClose is what is left of the instance after it was closed on demand. why is reported with
// the first result of the next instance; empty if a call of the run closed the instance.
func (p InstanceProgress) AfterClose(why string) InstanceProgress {
	return InstanceProgress{Generation: p.Generation, Used: p.Used && why != "", Ended: why,
		Closed: true}
}

// InstanceState is what a run that continues as new passes on about an instance.
type InstanceState struct {
	// Instance is the name of the instance, as in the tool. Tool is the first tool that needed it.
	Instance string           `json:"instance,omitempty"`
	Tool     string           `json:"tool"`
	Last     InstanceProgress `json:"last,omitzero"`
	// Hosted says that a worker hosts the instance; the next execution adopts it. Ticket is that of
	// the run if the conversation has the instance.
	Hosted bool           `json:"hosted,omitempty"`
	Ticket string         `json:"ticket,omitempty"`
	Before []InstanceHost `json:"before,omitempty"`
	// Vanished says that the last instance was lost. Lost is why, if it is not recreated.
	Vanished bool   `json:"vanished,omitempty"`
	Lost     string `json:"lost,omitempty"`
	// Closing is set while the instance is being closed on demand.
	Closing *InstanceClosing `json:"closing,omitempty"`
}

// InstanceClosing is that an instance is being closed while its run goes on.
type InstanceClosing struct {
	// Why is who closes it and for which reason; empty if a call of the run does.
	Why string `json:"why,omitempty"`
}

// RemoteTask identifies a task by which a remote server answered a call. The call waits for the
// end of the task. If its worker is lost, another one continues to wait for the same task.
type RemoteTask struct {
	ID string `json:"id"`
	// Session and Protocol are the session in which the server created the task, if it has one, and
	// its version of the protocol.
	Session  string `json:"session,omitempty"`
	Protocol string `json:"protocol,omitempty"`
	// Until is when the timeout of the call expires.
	Until time.Time `json:"until"`
}

// Heartbeat are the details of a heartbeat of a call. An attempt that reports nothing of its own
// passes on what earlier ones reported.
type Heartbeat struct {
	Progress
	// Waiting says that the call waits on a worker for a slot of its lane: if the worker is lost,
	// the attempt has not started.
	Waiting bool `json:"waiting,omitempty"`
	// Task is the task that the call waits for; nil if there is none. TaskOver is set if there was
	// one, and it is of no more use to the call.
	Task     *RemoteTask `json:"remote_task,omitempty"`
	TaskOver bool        `json:"remote_task_over,omitempty"`
	// Notes are those of the call's outcome, should its worker be lost.
	Notes []string `json:"notes,omitempty"`
	// Harmless is the number of attempts, from the first, that are known to have had no effect.
	Harmless int32 `json:"harmless_attempts,omitempty"`
	// Acted says that an attempt may have had one.
	Acted bool `json:"acted,omitempty"`
}

// Report is what a tool reported during a call: exactly one of Progress and Log is set.
type Report struct {
	Progress *Progress `json:"progress,omitempty"`
	Log      *LogLine  `json:"log,omitempty"`
}

// LogLine is a log message of an MCP server during a call.
type LogLine struct {
	// Level is one of MCP's, such as info.
	Level  string `json:"level"`
	Logger string `json:"logger,omitempty"`
	// Data is the message, a JSON value.
	Data json.RawMessage `json:"data"`
}

// MaxReports bounds the reports of a result, as JSON in bytes. The last ones are kept.
const MaxReports = 4 << 10
