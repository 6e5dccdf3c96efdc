package instances

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/lease"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/tool"
	"github.com/switchyard/switchyard/toolspecs"
)

// instanceKey is the context key of the instance on which a call is executed.
type instanceKey struct{}

// instance is one run's instance in this process.
type instance struct {
	handler string
	created executor.Instance
	lease   *lease.Lease
	// hidden are the secrets that its factory read.
	hidden *executor.Redactor
	// snapshots is nil if the instance takes no snapshots.
	snapshots tool.Snapshotter
	// everyCall requires a snapshot after each call, before the call reports its result, so that a
	// lost instance can be rebuilt.
	everyCall bool
	turns     turns

	mu       sync.Mutex
	running  int
	lastUsed time.Time
	drained  chan struct{} // closed when no call runs; nil while one does
	// note is reported about the instance by its calls until one has completed. said is the note of
	// the last answer.
	note, said   string
	unsaved      bool
	hostInstance api.InstanceProgress
	// snapshot is written only by calls that run alone.
	snapshot snapshot
}

// newInstance returns an instance that no call has used yet. last is what is known of the run's
// previous instance; the first call reports if its state is lost.
func newInstance(name string, spec *toolspecs.Spec, m executor.Instance, l *lease.Lease,
	last api.InstanceProgress, gone string) *instance {
	i := &instance{handler: executor.Handler(spec), created: m, lease: l, hostInstance: last,
		lastUsed: time.Now(), drained: make(chan struct{})}
	close(i.drained)
	i.snapshots, _ = m.Value.(tool.Snapshotter)
	i.everyCall = i.snapshots != nil && spec.Entry.Common().Instance.OnLoss == api.OnLossRecreate
	i.note = lostState(name, last, gone)
	return i
}

// lostState says that the state of the last instance is gone; empty if it is not.
func lostState(name string, last api.InstanceProgress, gone string) string {
	if !last.Used || last.State != nil {
		return ""
	}
	return fmt.Sprintf("%s: this is a new instance of %s, without the state of the previous one",
		gone, name)
}

// restore gives the instance the state of the previous one.
func (i *instance) restore(ctx context.Context) error {
	if i.hostInstance.State == nil {
		return nil
	}
	k, err := unpackSnapshot(i.hostInstance.State)
	if err != nil {
		return err
	}
	if i.snapshots == nil {
		return errors.New("the previous instance has a snapshot, and this one cannot restore it; does the worker have another version of the tool?")
	}
	if err := i.snapshots.Restore(ctx, k.state); err != nil {
		return fmt.Errorf("restore the snapshot of the previous instance: %w", err)
	}
	i.snapshot = k
	return nil
}

// state returns the instance's part of a heartbeat.
func (i *instance) state() api.InstanceProgress {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.hostInstance
}

// execute executes a call while this process can prove that it owns the instance.
func (i *instance) execute(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	i.begin()
	defer i.end()
	period, err := i.enter(ctx, spec)
	if err != nil {
		return executor.Answer{}, notStarted(err, spec)
	}
	defer i.turns.leave()
	call, _ := callcontext.From(ctx)
	id := snapshotID(call, spec)
	if c, ok := i.snapshot.find(id); ok {
		answer, err := c.answer()
		answer.Notes = append(answer.Notes, i.notes()...)
		return answer, err
	}
	if err := i.use(); err != nil {
		return executor.Answer{}, notStarted(err, spec)
	}
	call.Generation = i.state().Generation
	hidden := executor.RedactorFromContext(ctx)
	hidden.Join(i.hidden)
	inner, cancel := context.WithCancelCause(callcontext.With(ctx, call))
	defer cancel(nil)
	defer context.AfterFunc(period, func() { cancel(context.Cause(period)) })()
	answer, err := i.created.Call(i.lease.Bind(inner, cancel), spec, args)
	if cause := context.Cause(inner); ctx.Err() == nil && cause != nil {
		return executor.Answer{}, newInterruptedError(cause, spec)
	}
	answer = hidden.Answer(answer)
	ended := snapshotCall{ID: id, Output: answer.Output, Notes: answer.Notes}
	if err != nil {
		ended.Error = hidden.Error(executor.CallError(ctx, err, spec))
	}
	if lost := i.commit(ended, spec.Execution.Effect); lost != nil {
		return executor.Answer{}, newInterruptedError(lost, spec)
	}
	answer.Notes = append(answer.Notes, i.notes()...)
	return answer, err
}

// snapshotID identifies a call among those that use an instance. Runs of a conversation can have
// calls with equal IDs.
func snapshotID(call api.CallContext, spec *toolspecs.Spec) string {
	if spec.Entry.Common().Instance.Scope == api.ScopeConversation {
		return call.Run + "/" + call.CallID
	}
	return call.CallID
}

// begin and end count the running calls.
func (i *instance) begin() {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running++; i.running == 1 {
		i.drained = make(chan struct{})
	}
}

func (i *instance) end() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.lastUsed = time.Now()
	if i.running--; i.running == 0 {
		close(i.drained)
	}
}

// idle returns how long no call has used the instance.
func (i *instance) idle() time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running > 0 {
		return 0
	}
	return time.Since(i.lastUsed)
}

// enter waits for the call's turn and for the lease, and returns a context that ends with the
// lease.
func (i *instance) enter(ctx context.Context, spec *toolspecs.Spec) (context.Context, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := i.turns.enter(ctx, i.alone(spec)); err != nil {
		return nil, err
	}
	period, err := i.lease.Acquire(ctx)
	if err != nil {
		i.turns.leave()
	}
	return period, err
}

// alone reports whether a call of the tool runs while no other call uses the instance. A call that
// changes it must not overlap the snapshot after another.
func (i *instance) alone(spec *toolspecs.Spec) bool {
	return i.snapshots != nil && spec.Execution.Effect != api.EffectRead ||
		spec.Execution.Access == api.AccessExclusive ||
		spec.Entry.Common().Instance.AsksAlone
}

// lose records why the instance lost its state, for the instance after it.
func (i *instance) lose(why string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.hostInstance.Ended = why
}

// notStarted is the error of a call that did not get the instance. Nothing was executed, so that
// another attempt is safe.
func notStarted(err error, spec *toolspecs.Spec) error {
	if errors.Is(err, lease.ErrOver) {
		e := api.Errorf(api.ErrWorkerLost,
			"the instance of %s was lost before the call started; nothing ran", spec.Name)
		e.Phase, e.Retryable = api.PhaseExecution, true
		err = e
	}
	return executor.NotStarted(err)
}

// Execute executes a call on the instance in ctx, or by the executor of its kind if ctx has none.
func Execute(ctx context.Context, kind executor.Executor, spec *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	if i, ok := ctx.Value(instanceKey{}).(*instance); ok {
		return i.execute(ctx, spec, args)
	}
	return kind.Execute(ctx, spec, args)
}

// use reports the instance as used before its first call runs: if the worker is lost during that
// call, the next instance has to say that it lacks the state. An instance that can be rebuilt loses
// nothing with its first call.
func (i *instance) use() error {
	i.mu.Lock()
	first := !i.everyCall && !i.hostInstance.Used
	i.hostInstance.Used = i.hostInstance.Used || first
	i.mu.Unlock()
	if first {
		return i.lease.Commit()
	}
	return nil
}

// commit saves the effect of a call before the call reports, if the tool requires that. A call that
// is retried leaves the earlier snapshot in place, because it must not take effect twice on a
// rebuilt instance; so does a call that reads. The error reports that the instance was lost before.
func (i *instance) commit(c snapshotCall, effect api.Effect) error {
	if !i.everyCall || effect == api.EffectRead {
		return nil
	}
	i.mu.Lock()
	first := !i.hostInstance.Used
	i.hostInstance.Used = true
	i.mu.Unlock()
	final := c.Error == nil || !c.Error.Retryable
	if final {
		i.saveSnapshot(&c)
	}
	if final || first {
		return i.lease.Commit()
	}
	return nil
}

// saveSnapshot saves the current state, with the outcome of c if it is not nil.
func (i *instance) saveSnapshot(c *snapshotCall) {
	ctx := context.Background() // the end of the call must not prevent the snapshot
	state, err := executor.Guard(ctx, i.handler,
		func() ([]byte, error) { return i.snapshots.Snapshot(ctx) })
	i.snapshot.state = state
	if c != nil {
		i.snapshot = i.snapshot.with(*c)
	}
	var packed []byte
	if err == nil {
		packed, err = i.snapshot.pack()
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if err != nil && !i.unsaved {
		i.note = fmt.Sprintf("the state of the instance is not saved: %v; if its worker is lost, it cannot be rebuilt",
			err)
	}
	i.unsaved, i.hostInstance.State = err != nil, packed
}

// notes returns what an answer reports about the instance.
func (i *instance) notes() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.said = i.note; i.note == "" {
		return nil
	}
	return []string{i.note}
}

// Note returns what a call on the instance in ctx has to report about it, however the call ends;
// empty for nothing.
func Note(ctx context.Context) string {
	i, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok {
		return ""
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.note
}

// AddNote returns the failure of a call on the instance in ctx with what there is to report about
// the instance; nil for a call that completed, whose answer has reported it. A failure does not use
// the note up: the server or the run may repeat the call, and only the last attempt is read.
func AddNote(ctx context.Context, failure *api.Error) *api.Error {
	i, ok := ctx.Value(instanceKey{}).(*instance)
	if !ok {
		return failure
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if failure == nil {
		if i.note == i.said {
			i.note = ""
		}
		return nil
	}
	if i.note == "" {
		return failure
	}
	noted := *failure
	noted.Notes = append(slices.Clip(noted.Notes), i.note)
	return &noted
}

// newInterruptedError is the error of a call whose instance was given up while it ran.
func newInterruptedError(cause error, spec *toolspecs.Spec) error {
	e := &api.Error{Type: api.ErrOutcomeUnknown, Phase: api.PhaseExecution,
		Message: "the call was interrupted while the tool ran: " + cause.Error()}
	if spec.Execution.Effect != api.EffectOnce {
		e.Type, e.Retryable = api.ErrWorkerLost, true
	}
	return e
}

// close closes the instance once no call uses it.
func (i *instance) close() error {
	i.mu.Lock()
	drained := i.drained
	i.mu.Unlock()
	<-drained
	closer, ok := i.created.Value.(io.Closer)
	if !ok {
		return nil
	}
	_, err := executor.Guard(executor.WithRedactor(context.Background(), i.hidden), i.handler,
		func() (struct{}, error) { return struct{}{}, closer.Close() })
	if err != nil {
		err = i.hidden.Error(api.AsError(err))
	}
	return err
}
