package activities

import (
	"context"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs"
)

// lastLook is the least time that an attempt has for the task of an earlier one: the task may have
// ended while no worker waited for it.
const lastLook = 5 * time.Second

// withTask adds to ctx the remote task of the call. Heartbeats carry it to later attempts.
func (p *pulse) withTask(ctx context.Context, t attempt) context.Context {
	if p == nil {
		return ctx
	}
	last := executor.LastHeartbeat(ctx)
	resumed := earlierTask(last, t)
	p.mu.Lock()
	p.task, p.harmless, p.acted = resumed, last.Harmless, last.Acted
	p.mu.Unlock()
	return executor.WithTask(ctx, executor.NewTask(resumed, p.saveTask))
}

// earlierTask returns the task that an earlier attempt left behind: by its heartbeats if the server
// made this attempt, or else by the run. nil means that there is none.
func earlierTask(last api.Heartbeat, t attempt) *api.RemoteTask {
	if last.Task != nil || last.TaskOver {
		return last.Task
	}
	return t.Task
}

// maxSaveWait bounds the wait until a task or a note is saved. The call goes on after that: the
// heartbeats that follow carry it, too.
const maxSaveWait = 10 * time.Second

// saveTask sends the task with a heartbeat, and waits until the server has it.
func (p *pulse) saveTask(ctx context.Context, task *api.RemoteTask) {
	p.save(ctx, func() { p.task, p.taskOver = task, task == nil })
}

// saveNote sends what the outcome of the call has to say with a heartbeat, and waits until the
// server has it: nobody else can say it if the worker is lost. An empty note is not sent.
func (p *pulse) saveNote(ctx context.Context, note string) {
	if p != nil && note != "" {
		p.save(ctx, func() { p.notes = []string{note} })
	}
}

// save sends what set sets with a heartbeat, and waits until the server has it.
func (p *pulse) save(ctx context.Context, set func()) {
	saved := make(chan struct{})
	p.mu.Lock()
	set()
	p.saving = append(p.saving, saved)
	p.hasten(time.Nanosecond)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, maxSaveWait)
	defer cancel()
	select {
	case <-saved:
	case <-ctx.Done():
	}
}

// endWaits ends the waits of save that a heartbeat served, unless it failed. The caller holds the
// lock.
func (p *pulse) endWaits(served []chan struct{}, err error) {
	if err != nil {
		p.saving = append(p.saving, served...)
		return
	}
	for _, saved := range served {
		close(saved)
	}
}

// heartbeatDetails returns the details of the next heartbeat. The caller holds the lock.
func (p *pulse) heartbeatDetails() []any {
	switch {
	case p.speech != nil:
		return []any{p.speech.live()}
	case p.task != nil || p.taskOver || len(p.notes) > 0 || p.harmless > 0 || p.acted:
		beat := api.Heartbeat{Task: p.task, TaskOver: p.taskOver, Notes: p.notes,
			Harmless: p.harmless, Acted: p.acted}
		if p.progress != nil {
			beat.Progress = *p.progress
		}
		return []any{beat}
	case p.progress != nil:
		return []any{*p.progress}
	}
	return nil
}

// leftTask returns the failure details of a call besides its error: the task that it leaves to
// another worker.
func leftTask(ctx context.Context) []any {
	if task := executor.TaskFromContext(ctx).Current(); task != nil {
		return []any{*task}
	}
	return nil
}

// boundByTask returns the spec with the time that the task of an earlier attempt leaves to this
// one.
func boundByTask(ctx context.Context, spec *toolspecs.Spec) *toolspecs.Spec {
	task := executor.TaskFromContext(ctx).Current()
	if task == nil {
		executor.TaskFromContext(ctx).SetUntil(time.Now().Add(spec.Execution.Timeout.Std() +
			spec.Entry.Common().AnswerWithin.Std()))
		return spec
	}
	within := *spec
	within.Execution.Timeout = min(spec.Execution.Timeout,
		max(api.Duration(time.Until(task.Until)), api.Duration(lastLook)))
	return &within
}
