package api

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"slices"
)

// Strategy says in which order a lane's waiting calls run.
type Strategy string

const (
	// StrategyPriority lets urgent calls overtake lower ones, and is fair between conversations of one priority. It is the
	// default.
	StrategyPriority Strategy = "priority"
	// StrategyFIFO keeps the order in which the calls came.
	StrategyFIFO Strategy = "fifo"
	// StrategyReject lets no call wait: one that finds no free slot fails with queue_full.
	StrategyReject Strategy = "reject"
)

// Fairness says between whom a lane's slots are shared out fairly.
type Fairness string

const (
	// FairnessConversation gives each conversation its turn. It is the default.
	FairnessConversation Fairness = "conversation"
	// FairnessCaller gives each caller its turn: an agent, a plan, a person.
	FairnessCaller Fairness = "caller"
	// FairnessNone serves calls of one priority as they come.
	FairnessNone Fairness = "none"
)

// OnLostLease says what a worker does with a call that goes on although its lane's lease is nearly over and its context
// has ended.
type OnLostLease string

const (
	// OnLostLeaseExit ends the worker's process before another worker may take over. It is the default, because nothing else
	// keeps the limit.
	OnLostLeaseExit OnLostLease = "exit"
	// OnLostLeaseWait lets the call go on: it may overlap one on the next worker, which a fencing number can tell apart.
	OnLostLeaseWait OnLostLease = "wait"
)

// Lane is a named route for tool calls: a task queue with its rules. The zero value of a rule is none.
type Lane struct {
	Name string `json:"name"`
	// Queue is the lane's task queue where it is not the one that Queue gives it.
	Queue string `json:"queue,omitempty"`
	// Limit is how many calls run at a time, over all workers; zero is no limit. Of a keyed lane it holds for each key.
	Limit int `json:"limit,omitempty"`
	// Holders is into how many groups the slots of a lane with a limit are divided, or the keys of a keyed one; each group
	// is held by one worker at a time.
	Holders int `json:"holders,omitempty"`
	// Key is a template over a call's arguments; calls with different keys do not wait for each other.
	Key string `json:"key,omitempty"`
	// IdleTimeout is how long a key is kept that nobody uses.
	IdleTimeout Duration `json:"idle_timeout,omitzero"`
	// QueueSize is how many calls may wait; nil is any number.
	QueueSize *int     `json:"queue_size,omitempty"`
	Strategy  Strategy `json:"strategy,omitempty"`
	// QueueTimeout bounds the wait of a call whose tool says nothing about it.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Rate is how many calls per second start, over all workers, with bursts of one second's worth; zero is no bound. Of a
	// keyed lane it holds for each key.
	Rate float64 `json:"rate,omitempty"`
	// Bypass are callers to whose calls the lane's rules do not apply.
	Bypass []CallerType `json:"bypass,omitempty"`
	// Categories are those of tools that have this lane by default.
	Categories  []string    `json:"categories,omitempty"`
	Fairness    Fairness    `json:"fairness,omitempty"`
	OnLostLease OnLostLease `json:"on_lost_lease,omitempty"`
}

// Keyed reports whether the lane has a queue for each key.
func (l Lane) Keyed() bool { return l.Key != "" }

// Limited reports whether the lane is served only by workers that hold a lease for its slots.
func (l Lane) Limited() bool { return l.Limit > 0 }

// Holds reports whether the lane's holder decides who waits, how long and in which order, and not the server's queue.
func (l Lane) UsesWaitQueue() bool { return l.QueueSize != nil || l.Strategy == StrategyReject }

// Room is how many calls may wait with the holder.
func (l Lane) WaitCapacity() int {
	if l.QueueSize == nil || l.Strategy == StrategyReject {
		return 0
	}
	return *l.QueueSize
}

// TaskQueue returns the task queue of the lane for runs whose workflows live on the task queue base; of a keyed lane, that
// of a key.
func (l Lane) TaskQueue(base, key string) string {
	if !l.Keyed() {
		return cmp.Or(l.Queue, Queue(base, l.Name))
	}
	return l.QueueOfPart(base, KeyPart(key))
}

// QueueOfPart returns the task queue of a key of the lane, which KeyPart made part of.
func (l Lane) QueueOfPart(base, part string) string {
	return cmp.Or(l.Queue, Queue(base, l.Name)) + "/" + part
}

// Groups names what a LaneKeeper keeps: into how many groups the lane is divided, and whether by keys. Where it changes, the
// groups are given out anew.
func (l Lane) Groups() string {
	if !l.Limited() {
		return "none"
	}
	if l.Keyed() {
		return fmt.Sprintf("%d of keys", l.Holders)
	}
	return fmt.Sprintf("%d of slots", l.Holders)
}

// Bypasses reports whether the lane's rules do not apply to calls of such a caller.
func (l Lane) Bypasses(caller CallerType) bool { return slices.Contains(l.Bypass, caller) }

// Share returns how many of the lane's slots the nth of several groups has; all shares together are the limit. Of a keyed
// lane every group has the whole limit, for each of its keys.
func (l Lane) Share(group, groups int) int {
	if l.Keyed() || groups <= 1 {
		return l.Limit
	}
	share := l.Limit / groups
	if group < l.Limit%groups {
		share++
	}
	return share
}

// KeyGroup returns which of several groups the part of a task queue's name that KeyPart made of a key belongs to.
func KeyGroup(part string, groups int) int {
	h := fnv.New32a()
	h.Write([]byte(part)) // a hash never fails
	return int(h.Sum32() % uint32(max(groups, 1)))
}

const (
	// maxPlainKey is the longest key that stands in a task queue's name as it is.
	maxPlainKey = 64
	// keyMark begins what stands for any other key; no key that stands as it is holds it.
	keyMark = "~"
	// keyHint is how much of such a key can be seen in the name.
	keyHint = 24
)

// KeyPart returns what stands for a key in the names of task queues: the key itself where it is short and plain, else its
// beginning and its digest. Different keys have different parts.
func KeyPart(key string) string {
	plain := make([]byte, 0, keyHint)
	odd := key == "" || len(key) > maxPlainKey
	for _, r := range key {
		if isNameRune(r) || r == '.' {
			if len(plain) < keyHint {
				plain = append(plain, byte(r))
			}
			continue
		}
		odd = true
	}
	if !odd {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return keyMark + string(plain) + keyMark + base64.RawURLEncoding.EncodeToString(sum[:])
}

// reservedLanes are names under which Switchyard has task queues that are no lanes.
var reservedLanes = []string{"bypass", "hold", "instance", "slots", "worker"}

// CheckLaneName reports why name cannot name a lane: letters, digits, _ and -, at most 64, and none of the names that
// Switchyard's own task queues have.
func CheckLaneName(name string) error {
	if CheckToolName(name) != nil {
		return fmt.Errorf("%.80q cannot name a lane: letters, digits, _ and - only, and from 1 to %d of them", name, MaxToolName)
	}
	if slices.Contains(reservedLanes, name) {
		return fmt.Errorf("no lane can have the name %q: Switchyard has task queues of its own under it", name)
	}
	return nil
}

// Route is where a call goes and by which rules, as admission found the lane configured. It is recorded with the verdict,
// so that editing the lanes changes no call that was admitted before. The zero Route is the task queue of the tool's lane,
// without rules.
type Route struct {
	// Queue is the task queue; empty is the one that Queue gives the tool's lane.
	Queue string `json:"queue,omitempty"`
	// Key is the part of the task queue's name that stands for the call's key on a keyed lane.
	Key string `json:"key,omitempty"`
	// OpenFor is how long after admission the key's queue is served for certain, even if nobody uses it.
	OpenFor Duration `json:"open_for,omitzero"`
	// QueueTimeout bounds the wait where the tool does not.
	QueueTimeout Duration `json:"queue_timeout,omitzero"`
	// Holds says that the call may wait on a worker, so that the server's timeouts of an attempt must cover its wait.
	Holds bool `json:"uses_wait_queue,omitempty"`
	// FIFO says that priority and fairness do not apply.
	FIFO bool `json:"fifo,omitempty"`
	// Fairness says between whom slots are shared out; empty is FairnessConversation.
	Fairness Fairness `json:"fairness,omitempty"`
}

// HoldersMemo is the field of LaneWorkflow's memo that has the Groups of its lane.
const HoldersMemo = "switchyard_groups"

// KeeperInput is the input of LaneWorkflow.
type KeeperInput struct {
	Lane Lane `json:"lane"`
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	// Fences has, by group, the highest fencing number that holders so far may have had.
	Fences []int64 `json:"fences,omitempty"`
}

// SlotsRequest is the input of SlotsActivity: it asks a worker to serve a lane's calls with one group of its slots, or its
// keys, for as long as it can prove by its heartbeats that it is the one that does.
type SlotsRequest struct {
	// Lane is the lane as it was configured when the group was given out. The worker that has it configured otherwise now
	// goes by that, but for Holders and whether it is keyed.
	Lane Lane `json:"lane"`
	// Base is the task queue of the workflows.
	Base string `json:"base"`
	// Group counts from 0 and is less than Lane.Holders.
	Group int `json:"group"`
	// Fence is the highest fencing number that earlier holders of the group may have had.
	Fence int64 `json:"fence,omitempty"`
}

// SlotsState is what a holder of slots tells with its heartbeats, and returns in the end.
type SlotsState struct {
	// Fence is the holder's fencing number. It grows with every change of holder.
	Fence int64 `json:"fence"`
	// Since is when this holder took over, in milliseconds since 1970.
	Since int64 `json:"since,omitempty"`
	// Slots is how many calls may run at a time; of a keyed lane, of each key.
	Slots int `json:"slots"`
	LaneCounts
	// Needed says, for keys that must be served longer than they are used, until when, in milliseconds since 1970: a call's
	// next attempt comes without being admitted again.
	Needed map[string]int64 `json:"needed,omitempty"`
}

// LaneCounts counts what happened to calls on a lane. All but Running, Waiting and Keys only grow, over changes of holder
// too.
type LaneCounts struct {
	Running int `json:"running,omitempty"`
	// Waiting counts calls that wait with the holder; those that wait at the server are not among them.
	Waiting int `json:"waiting,omitempty"`
	// Keys is how many keys are served.
	Keys     int   `json:"keys,omitempty"`
	Acquired int64 `json:"acquired,omitempty"`
	Rejected int64 `json:"rejected,omitempty"`
	// TimedOut counts calls that waited too long with the holder.
	TimedOut int64 `json:"timed_out,omitempty"`
	// Ended counts calls that got a slot and have ended; WaitMicros and ExecutionMicros are the sums of their times.
	Ended           int64 `json:"ended,omitempty"`
	WaitMicros      int64 `json:"wait_us,omitempty"`
	ExecutionMicros int64 `json:"execution_us,omitempty"`
}

// Add adds other to c.
func (c *LaneCounts) Add(other LaneCounts) {
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

// KeysInput is the input of KeysWorkflow: the keys that are open when it starts.
type KeysInput struct {
	Lane string   `json:"lane"`
	Open OpenKeys `json:"open,omitempty"`
}

// OpenKeys are the keys of a lane that are served, by the part of the task queue's name that stands for each. The value
// counts how often the key was asked for, so that a holder's wish to close it loses against one that it has not seen.
type OpenKeys map[string]int64

// KeyOrder is the signal KeySignal: exactly one of Open and Close is set.
type KeyOrder struct {
	// Open is a key that calls are about to be made with.
	Open string `json:"open,omitempty"`
	// Close is a key that nobody uses, and that was asked for Opens times.
	Close string `json:"close,omitempty"`
	Opens int64  `json:"opens,omitempty"`
}

// Apply does what an order says. Whoever follows the orders in the order of history comes to the same open keys.
func (k OpenKeys) Apply(o KeyOrder) {
	if o.Open != "" {
		k[o.Open]++
	}
	if o.Close != "" && k[o.Close] <= o.Opens {
		delete(k, o.Close)
	}
}

// Priority says which of the calls that wait runs first.
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

// Level returns the priority as Temporal counts it, from 1, the most urgent; unknown and empty ones are normal.
func (p Priority) Level() int {
	if i := slices.Index(Priorities, p); i >= 0 {
		return i + 1
	}
	return PriorityNormal.Level()
}

// maxFairnessKey is the longest fairness key that Temporal takes, in bytes.
const maxFairnessKey = 64

// FairnessKey returns text as a fairness key: itself where it is short enough, else its digest. Different texts have
// different keys.
func FairnessKey(text string) string {
	if len(text) <= maxFairnessKey {
		return text
	}
	return Digest([]byte(text))
}
