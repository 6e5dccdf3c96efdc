package api

import (
	"slices"
	"time"
)

// Strategy is the order in which a lane's waiting calls run.
type Strategy string

const (
	// StrategyPriority, the default, lets urgent calls overtake lower ones and is fair between
	// conversations of one priority.
	StrategyPriority Strategy = "priority"
	// StrategyFIFO keeps the order of arrival.
	StrategyFIFO Strategy = "fifo"
	// StrategyReject lets no call wait: without a free slot it fails with queue_full.
	StrategyReject Strategy = "reject"
)

// Fairness says between whom the slots of a lane are shared fairly.
type Fairness string

const (
	// FairnessConversation, the default, serves conversations in turn.
	FairnessConversation Fairness = "conversation"
	// FairnessCaller serves callers in turn: agents, plans, persons.
	FairnessCaller Fairness = "caller"
	// FairnessNone serves calls of one priority in order of arrival.
	FairnessNone Fairness = "none"
)

// OnLostLease says what a worker does with a call that continues although its context has ended and
// the lane's lease is about to expire.
type OnLostLease string

const (
	// OnLostLeaseExit, the default, ends the worker's process before another worker may take over,
	// because nothing else keeps the limit.
	OnLostLeaseExit OnLostLease = "exit"
	// OnLostLeaseWait lets the call continue: it may overlap a call on the next worker, which a
	// fencing number distinguishes.
	OnLostLeaseWait OnLostLease = "wait"
)

// Lane is a named route for tool calls: a task queue with its rules. The zero value of a rule is
// none.
type Lane struct {
	Name string `json:"name"`
	// Queue is the task queue, if it is not the default of the lane.
	Queue string `json:"queue,omitempty"`
	// Limit is how many calls run at once over all workers; zero is no limit. On a keyed lane it
	// applies to each key.
	Limit int `json:"limit,omitempty"`
	// Holders is the number of groups into which the slots, or the keys, of the lane are divided.
	// One worker serves a group at a time.
	Holders int `json:"holders,omitempty"`
	// Key is a template over the arguments of a call. Each key has the slots, wait queue and rate
	// of the lane. Keys share task queues, so that a long backlog of one can delay others.
	Key string `json:"key,omitempty"`
	// QueueSize is how many calls may wait; nil is any number.
	QueueSize *int     `json:"queue_size,omitempty"`
	Strategy  Strategy `json:"strategy,omitempty"`
	// QueueTimeout bounds the wait of a call whose tool sets no bound.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Rate is how many calls per second start over all workers, with bursts of one second's worth;
	// zero is no bound. On a keyed lane it applies to each key.
	Rate float64 `json:"rate,omitempty"`
	// Bypass are the caller types to which the lane's rules do not apply.
	Bypass []CallerType `json:"bypass,omitempty"`
	// Categories are the categories of tools that use this lane by default.
	Categories  []string    `json:"categories,omitempty"`
	Fairness    Fairness    `json:"fairness,omitempty"`
	OnLostLease OnLostLease `json:"on_lost_lease,omitempty"`
	// Lease is how long a worker keeps its slots without the server, on a lane with a limit. Zero
	// is DefaultLease.
	Lease Duration `json:"lease,omitzero"`
}

// DefaultLease is the lease of lanes that set none.
const DefaultLease = Duration(15 * time.Second)

// HasKey reports whether the lane applies its rules to each key.
func (l Lane) HasKey() bool { return l.Key != "" }

// HasLimit reports whether the lane is served only by workers with a lease for its slots.
func (l Lane) HasLimit() bool { return l.Limit > 0 }

// UsesWaitQueue reports whether the worker that serves the lane, and not the server, decides who
// waits, how long and in which order.
func (l Lane) UsesWaitQueue() bool {
	return l.HasKey() || l.QueueSize != nil || l.Strategy == StrategyReject
}

// Bypasses reports whether the lane's rules do not apply to calls of the caller.
func (l Lane) Bypasses(caller CallerType) bool { return slices.Contains(l.Bypass, caller) }

// Route is where a call goes and by which rules, as the lane was configured at admission. It is
// recorded with the decision, so that editing the lanes does not change admitted calls. The zero
// Route is the default task queue of the tool's lane, without rules.
type Route struct {
	// Queue is the task queue; empty is the default of the tool's lane.
	Queue string `json:"queue,omitempty"`
	// Key is the KeyPart of the call's key, on a keyed lane.
	Key string `json:"key,omitempty"`
	// QueueTimeout bounds the wait if the tool does not.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Holds says that the call may wait on a worker, so that the server's timeouts have to
	// cover that wait.
	Holds bool `json:"uses_wait_queue,omitempty"`
	// FIFO switches priority and fairness off.
	FIFO bool `json:"fifo,omitempty"`
	// Fairness says between whom slots are shared; empty is FairnessConversation.
	Fairness Fairness `json:"fairness,omitempty"`
	// Lease is that of a lane with a limit, if the tool's heartbeat timeout is shorter. Then it is
	// the heartbeat timeout: nothing may run in the place of the call before the lease is over.
	Lease Duration `json:"lease,omitzero"`
}

// HoldersMemo is the memo field of LaneSlotsWorkflow that says how its lane is divided into groups:
// as it is or, while the calls of the old groups end, as it will be.
const HoldersMemo = "switchyard_groups"

// Priority says which of the waiting calls runs first.
type Priority string

// The priorities, the most urgent first. The default is normal.
const (
	PriorityUrgent Priority = "urgent"
	PriorityHigh   Priority = "high"
	PriorityNormal Priority = "normal"
	PriorityLow    Priority = "low"
)

// Priorities are all of them, the most urgent first.
var Priorities = []Priority{PriorityUrgent, PriorityHigh, PriorityNormal, PriorityLow}
