package executor

import (
	"context"
	"sync"
	"time"

	"github.com/switchyard/switchyard/api"
)

type taskKey struct{}

// Task is the remote task that a call waits for. It survives the worker, because heartbeats of the
// call carry it. A nil *Task belongs to a call without heartbeats, and saves nothing.
type Task struct {
	save func(context.Context, *api.RemoteTask)

	mu      sync.Mutex
	until   time.Time
	current *api.RemoteTask
}

// NewTask returns the task of an attempt. resumed is the task of an earlier attempt; nil if there
// is none. save stores the current task, nil if there is none, and returns when it is stored or
// that takes too long.
func NewTask(resumed *api.RemoteTask, save func(context.Context, *api.RemoteTask)) *Task {
	return &Task{save: save, current: resumed}
}

// SetUntil sets when the timeout of the call expires, for the tasks that are set later.
func (t *Task) SetUntil(until time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.until = until
}

// WithTask returns a context of a call with its task.
func WithTask(ctx context.Context, t *Task) context.Context {
	return context.WithValue(ctx, taskKey{}, t)
}

// TaskFromContext returns the task of the call that ctx belongs to; nil if nothing can be saved.
func TaskFromContext(ctx context.Context) *Task {
	t, _ := ctx.Value(taskKey{}).(*Task)
	return t
}

// Current returns the task that the call waits for; nil if there is none.
func (t *Task) Current() *api.RemoteTask {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// Set saves that the call waits for a task.
func (t *Task) Set(ctx context.Context, task api.RemoteTask) {
	if t == nil {
		return
	}
	t.mu.Lock()
	task.Until = t.until
	t.mu.Unlock()
	t.change(ctx, &task)
}

// Clear saves that no attempt needs to wait for the task any more.
func (t *Task) Clear(ctx context.Context) {
	if t.Current() != nil {
		t.change(ctx, nil)
	}
}

// End sets that the task has ended with a result, which later attempts find as well.
func (t *Task) End() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = nil
}

func (t *Task) change(ctx context.Context, task *api.RemoteTask) {
	t.mu.Lock()
	t.current = task
	t.mu.Unlock()
	t.save(context.WithoutCancel(ctx), task)
}
