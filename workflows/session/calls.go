// Package session keeps what a session run knows of its calls: which one a submitted call repeats,
// in which order calls start, and what continue-as-new carries of them.
package session

import (
	"slices"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/workflows/turn"
)

const (
	// maxRemembered bounds the calls that continue-as-new carries, maxOutcomes their outcomes
	// together, in bytes.
	maxRemembered = 2000
	maxOutcomes   = 512 << 10
	// keptFor is how long the outcome of a call whose clients have left is kept for the next equal
	// one. Clients repeat a call whose connection broke within seconds, or when their user tells
	// them to.
	keptFor = 5 * time.Minute
	// maxCallers bounds the callers that are compared with that of a new call.
	maxCallers = 16
)

// Call is one call that a session was submitted.
type Call struct {
	api.SessionCall
	// RunID is the execution that makes the call.
	RunID string
	// Digest identifies tool and arguments. It is empty for a call of an earlier execution that
	// equal calls do not repeat.
	Digest string
	// Left is when the client left without the outcome; zero while it waits or if it has it.
	Left time.Time
	// Placed is set once the call is admitted, refused or attached.
	Placed bool
	// Ended is set once the call has an outcome. Outcome is nil for a call of an earlier execution
	// that has its outcome, and Size its size in bytes.
	Ended   bool
	Outcome *api.CallOutcome
	Size    int
	// Cancel cancels the call. It is nil for calls of earlier executions.
	Cancel func()

	// asker is who asked for the call, shared by calls with equal callers.
	asker *api.Caller
	// attached is the call that this one repeats; repetitions are those of this one.
	attached    *Call
	repetitions []*Call
	slot        turn.Slot
	// endedAt is when the call ended; zero for a call of an earlier execution.
	endedAt time.Time
	// unknown is set once the call has ended without a result and may have taken effect.
	unknown bool
}

// Target returns the call that this one repeats, else the call itself.
func (c *Call) Target() *Call {
	if c.attached != nil {
		return c.attached
	}
	return c
}

// Request returns the call as the run makes it.
func (c *Call) Request() api.Call {
	return api.Call{ID: c.ID, Tool: c.Tool, Arguments: c.Arguments, Trace: c.Trace}
}

// end takes the outcome of the call, of size bytes.
func (c *Call) end(out api.CallOutcome, size int, at time.Time) {
	c.Placed, c.Ended, c.Outcome, c.Size, c.endedAt = true, true, &out, size, at
	c.Arguments = ""
	c.unknown = out.Error != nil && out.Error.MayHaveActed()
}

// repeatable reports whether an equal call is a repetition of this one.
func (c *Call) repeatable(now time.Time) bool {
	return !c.Ended || c.unknown || c.leftOver(now)
}

// comparable reports whether a later call may be compared with the call. The client of one that has
// just ended may leave yet.
func (c *Call) comparable(now time.Time) bool {
	return c.Key != "" || c.repeatable(now) || now.Sub(c.endedAt) < keptFor
}

// leftOver reports whether no client has the outcome of the call or waits for it: that of each
// submission, of the call and of its repetitions, has left. The outcome belongs to the next equal
// call then, but not to one that comes so late that its client is likely to intend another one.
func (c *Call) leftOver(now time.Time) bool {
	last := c.endedAt
	for _, submission := range append([]*Call{c}, c.repetitions...) {
		if submission.Left.IsZero() {
			return false
		}
		if submission.Left.After(last) {
			last = submission.Left
		}
	}
	return now.Sub(last) < keptFor
}

// Calls are the calls that a session knows.
type Calls struct {
	all   []*Call
	byID  map[string]*Call
	byKey map[ownKey]*Call
	// callers are those that asked for the newest calls, so that calls with equal claims share
	// them.
	callers []caller
	// open are the calls that have not ended and repeat no other, started those of them that are
	// admitted and executed, both in the order in which they were submitted.
	open, started []*Call
}

// caller is who asked for calls, with its text as JSON.
type caller struct {
	*api.Caller
	text string
}

// ownKey is a key of a caller: clients choose keys without knowing those of others.
type ownKey struct {
	auth          api.AuthMethod
	identity, key string
}

func keyFromCall(call api.SessionCall) ownKey {
	return ownKey{call.Caller.Auth, call.Caller.Identity(), call.Key}
}

// Restore returns the calls of the earlier executions of a session in execution runID; nil is a
// session that begins. Calls that wait for approval go on in this execution.
func Restore(state *api.SessionState, runID string) *Calls {
	c := &Calls{byID: map[string]*Call{}, byKey: map[ownKey]*Call{}}
	if state == nil {
		return c
	}
	for _, r := range state.Calls {
		restored := &Call{SessionCall: api.SessionCall{ID: r.ID, Key: r.Key, Caller: r.Caller},
			RunID: r.RunID, Digest: r.Digest, Placed: true, Ended: true, Outcome: r.Outcome,
			Left: r.Left, unknown: r.Unknown}
		if w := r.Waiting; w != nil {
			restored.SessionCall, restored.RunID, restored.Ended = w.Call, runID, false
			restored.Digest = api.CallDigest(w.Call.Tool, w.Call.Arguments)
			c.open = append(c.open, restored)
		}
		if r.Attached != "" {
			restored.attached = c.byID[r.Attached]
			if restored.attached == nil { // forgotten
				restored.attached = &Call{SessionCall: api.SessionCall{ID: r.Attached},
					RunID: r.RunID, Placed: true, Ended: true}
			}
			restored.attached.repetitions = append(restored.attached.repetitions, restored)
		}
		restored.asker = c.shareCaller(restored.Caller)
		c.add(restored)
	}
	return c
}

func (c *Calls) add(call *Call) {
	c.all = append(c.all, call)
	c.byID[call.ID] = call
	if key := keyFromCall(call.SessionCall); call.Key != "" && c.byKey[key] == nil {
		c.byKey[key] = call.Target()
	}
}

// Find returns the call with that ID; nil for none.
func (c *Calls) Find(id string) *Call { return c.byID[id] }

// Asker returns who asked for the call with that ID; nil for none. Equal callers of calls that come
// one after the other are the same pointer.
func (c *Calls) Asker(id string) *api.Caller {
	if call := c.byID[id]; call != nil {
		return call.asker
	}
	return nil
}

// shareCaller returns a caller, which is that of earlier calls if it is equal.
func (c *Calls) shareCaller(who api.Caller) *api.Caller {
	data, _ := jsonvalue.Encode(who) // it comes from JSON
	text := string(data)
	for _, known := range c.callers {
		if known.text == text {
			return known.Caller
		}
	}
	c.callers = append(c.callers, caller{&who, text})
	c.callers = c.callers[max(len(c.callers)-maxCallers, 0):]
	return &who
}

// OpenCalls returns the calls that have not ended and repeat no other, in the order in which they
// were submitted.
func (c *Calls) OpenCalls() []*Call { return c.open }

// Open returns how many calls have not ended.
func (c *Calls) Open() int { return len(c.open) }

// Submit takes a call that execution runID received. fresh is set if it repeats none that the
// session knows by ID or key.
func (c *Calls) Submit(call api.SessionCall, runID string) (submitted *Call, fresh bool) {
	if known := c.byID[call.ID]; known != nil {
		return known, false
	}
	submitted = &Call{SessionCall: call, RunID: runID, asker: c.shareCaller(call.Caller)}
	submitted.Caller = *submitted.asker
	if earlier := c.byKey[keyFromCall(call)]; call.Key != "" && earlier != nil && !earlier.unmade() {
		c.attach(submitted, earlier)
		c.add(submitted)
		return submitted, false
	}
	submitted.Digest = api.CallDigest(call.Tool, call.Arguments)
	c.add(submitted)
	c.open = append(c.open, submitted)
	return submitted, true
}

// Knows reports whether a submitted call has the ID of an earlier one, or the key of one with
// another tool or other arguments.
func (c *Calls) Knows(call api.SessionCall) bool {
	earlier := c.byKey[keyFromCall(call)]
	return c.byID[call.ID] != nil || call.Key != "" && earlier != nil && earlier.Digest != "" &&
		earlier.Digest != api.CallDigest(call.Tool, call.Arguments)
}

// unmade reports whether the call has ended, and nothing was done for it: it may be made again with
// the same key.
func (c *Call) unmade() bool {
	out := c.Outcome
	return c.Ended && out != nil && out.Error != nil && !out.Error.MayHaveActed() &&
		(out.Error.BeforeStart() || out.Error.Type == api.ErrCancelled)
}

func (c *Calls) attach(call, to *Call) {
	call.attached, call.Placed, call.Digest, call.Arguments = to, true, "", ""
	to.repetitions = append(to.repetitions, call)
}

// FindRepeated returns the call that an open call of a once tool repeats: an earlier one of its
// caller with the same tool and arguments that has not ended, that may have taken effect, or whose
// clients all left without its outcome minutes ago at most; nil for none. A call with a key of its
// own is another call.
func (c *Calls) FindRepeated(call *Call, now time.Time) *Call {
	if call.Key != "" {
		return nil
	}
	for _, earlier := range c.all {
		if earlier == call {
			return nil
		}
		if earlier.attached == nil && earlier.repeatable(now) && earlier.Digest == call.Digest &&
			earlier.Caller.Is(call.Caller) {
			return earlier
		}
	}
	return nil
}

// Attach makes an open call a repetition of another one. Only one call gets an outcome that clients
// left.
func (c *Calls) Attach(call, to *Call) {
	c.attach(call, to)
	c.open = without(c.open, call)
}

// Start takes a call that is admitted and waits for the calls that Before returns. They are those
// that must end first, because they conflict with it by the access rules of their tools.
func (c *Calls) Start(call *Call, slot turn.Slot) (before []*Call) {
	call.Placed, call.slot = true, slot
	c.started = append(c.started, call)
	slots := make([]turn.Slot, len(c.started))
	for i, s := range c.started {
		slots[i] = s.slot
	}
	for _, i := range turn.Waits(slots, api.OrderAsCalled)[len(slots)-1] {
		before = append(before, c.started[i])
	}
	return before
}

// End takes the outcome of a call, of size bytes.
func (c *Calls) End(call *Call, out api.CallOutcome, size int, at time.Time) {
	call.end(out, size, at)
	c.open, c.started = without(c.open, call), without(c.started, call)
}

func without(calls []*Call, call *Call) []*Call {
	return slices.DeleteFunc(calls, func(other *Call) bool { return other == call })
}

// leftSince returns from when the result waits for a repetition; zero if it does not. A later
// execution does not know when the call ended.
func (c *Call) leftSince() time.Time {
	if !c.Left.IsZero() && c.endedAt.After(c.Left) {
		return c.endedAt
	}
	return c.Left
}

// State returns what continue-as-new carries: the newest calls, and of these the newest outcomes as
// far as they fit into maxOutcomes and are wanted. waiting has all calls that have not ended, by
// ID; they wait for approval.
func (c *Calls) State(outcomes bool, now time.Time,
	waiting map[string]*api.WaitingCall) *api.SessionState {
	from := max(len(c.all)-maxRemembered, 0)
	newest := slices.Concat(slices.DeleteFunc(slices.Clone(c.all[:from]), func(c *Call) bool {
		return waiting[c.ID] == nil
	}), c.all[from:])
	state := &api.SessionState{Calls: make([]api.SessionRecord, len(newest))}
	left := maxOutcomes
	if !outcomes {
		left = -1
	}
	for i, call := range slices.Backward(newest) {
		r := api.SessionRecord{ID: call.ID, Key: call.Key, RunID: call.RunID,
			Caller: call.Caller.Bare(), Waiting: waiting[call.ID],
			Left: call.leftSince(), Unknown: call.unknown}
		if call.comparable(now) {
			r.Digest = call.Digest
		}
		if call.attached != nil {
			r.Attached, r.RunID = call.attached.ID, call.attached.RunID
		}
		if left >= 0 && call.Outcome != nil {
			if left -= call.Size; left >= 0 {
				r.Outcome = call.Outcome
			}
		}
		state.Calls[i] = r
	}
	return state
}
