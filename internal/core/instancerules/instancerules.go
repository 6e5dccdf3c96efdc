// Package instancerules has what the keeper of a conversation's instance, its hosts and the runs
// that use it tell one another.
package instancerules

import (
	"time"

	"github.com/switchyard/switchyard/api"
)

// maxIdleLease bounds IdleLease of tools with a shorter heartbeat.
const maxIdleLease = 2 * time.Minute

// IdleLease returns the heartbeat timeout of an instance's host while no call uses the instance:
// eight times the tool's heartbeat, at most 2 min unless the heartbeat is longer. It is the longest
// time for which a lost worker can still have had the instance.
func IdleLease(heartbeat api.Duration) api.Duration {
	return max(heartbeat, min(8*heartbeat, api.Duration(maxIdleLease)))
}

// CloseRequest is the input of CloseInstanceActivity.
type CloseRequest struct {
	// OnDemand says that the run goes on and reads what the host of the instance reports.
	OnDemand bool `json:"on_demand,omitempty"`
	// Why is who closes the instance and for which reason; empty if a call does.
	Why string `json:"why,omitempty"`
}

// JoinRequest is the input of JoinInstanceActivity: a run uses an instance of its
// conversation from now on.
type JoinRequest struct {
	// HostInstanceRequest says how to host the instance if no worker does yet.
	api.HostInstanceRequest
	// Keeper is the ID of the InstanceWorkflow.
	Keeper       string `json:"keeper"`
	Conversation string `json:"conversation"`
	User         User   `json:"user"`
}

// User is a run that uses an instance of its conversation.
type User struct {
	WorkflowID string `json:"workflow_id"`
	// Ticket identifies this use of the instance, for the answer to the run.
	Ticket string `json:"ticket"`
}

// KeeperInput is the input of InstanceWorkflow.
type KeeperInput struct {
	// Host is the request for the next host. Its origin is that of the run that needed the instance
	// first, with the workflow in place of the run.
	Host api.HostInstanceRequest `json:"host"`
	// Tool is one of the tools that share the instance.
	Tool         api.Tool       `json:"tool"`
	Conversation string         `json:"conversation"`
	Variables    map[string]any `json:"variables,omitempty"`
	// Lost is why the last instance was lost if no run knows it yet.
	Lost string `json:"lost,omitempty"`
	// NotBefore is until when a worker that lost contact can still host the last instance.
	NotBefore time.Time `json:"not_before,omitzero"`
	// Users are the runs that have joined and not left, including those that were terminated.
	Users []User `json:"users,omitempty"`
}

// Left is the result of InstanceWorkflow: what the next one of the same ID starts with.
type Left struct {
	Last api.InstanceProgress `json:"last,omitzero"`
	// Vanished says that the last instance was lost, Lost why if no run knows it yet.
	Vanished bool   `json:"vanished,omitempty"`
	Lost     string `json:"lost,omitempty"`
	// Before are hosts that may have more of the last instance than Last, oldest first.
	Before []api.InstanceHost `json:"before,omitempty"`
	// NotBefore is as in KeeperInput.
	NotBefore time.Time `json:"not_before,omitzero"`
}

// Ended tells a run that no worker hosts an instance of its conversation any more.
type Ended struct {
	Ticket string `json:"ticket"`
	// Instance is the name of the instance.
	Instance string `json:"instance"`
	// Last is without a snapshot.
	Last api.InstanceProgress `json:"last,omitzero"`
	// Error is ErrWorkerLost if the instance was lost and is not recreated, another one if it could
	// not be created, and nil if it was idle or closed.
	Error *api.Error `json:"error,omitempty"`
}
