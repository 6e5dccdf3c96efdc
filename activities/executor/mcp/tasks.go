package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/temporal"
)

const (
	// keepMargin is how long a server is asked to keep a task beyond the timeout of its call, so
	// that another worker finds the result.
	keepMargin = 10 * time.Minute
	// cancelWithin bounds the request to cancel a task.
	cancelWithin = 2 * time.Second
	// firstReconnect and lastReconnect are the waits before another connection to a server with a
	// task.
	firstReconnect = 250 * time.Millisecond
	lastReconnect  = 5 * time.Second
)

// taskCall is a call whose server may answer with a task.
type taskCall struct {
	executor *Executor
	entry    toolspecs.MCPEntry
	request  mcpclient.Request
	// saved is where the task survives this worker.
	saved *executor.Task
	// task is the server's; nil if it has answered with none.
	task *api.RemoteTask
}

func newTaskCall(ctx context.Context, m *Executor, spec *toolspecs.Spec,
	request mcpclient.Request) *taskCall {
	t := &taskCall{executor: m, entry: serverEntry(spec), request: request,
		saved: executor.TaskFromContext(ctx)}
	t.request.KeepTask = spec.Execution.Timeout.Std() + t.entry.AnswerWithin.Std() + keepMargin
	t.request.Created = func(task api.RemoteTask) {
		t.task = &task
		if t.entry.URL != "" { // a program ends with its worker, and its tasks with it
			t.saved.Set(ctx, task)
		}
	}
	return t
}

// call makes the call, and waits for the end of the task if the server answers with one.
func (t *taskCall) call(ctx context.Context, conn *mcpclient.Connection) (mcpclient.Answer,
	error) {
	got, err := conn.Call(ctx, t.request)
	if err == nil || t.task == nil {
		t.saved.End()
		return got, err
	}
	if _, lost := errors.AsType[*mcpclient.Lost](err); lost && t.entry.URL != "" {
		return t.follow(ctx)
	}
	return got, t.finish(ctx, conn, err)
}

// follow waits for the end of the task on connections that it opens for that.
func (t *taskCall) follow(ctx context.Context) (mcpclient.Answer, error) {
	for wait := firstReconnect; ; wait = min(2*wait, lastReconnect) {
		got, err := t.followOnce(ctx)
		if err == nil || !t.reconnects(err) {
			return got, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return got, t.finish(ctx, nil, &mcpclient.Ended{Sent: true, Err: context.Cause(ctx)})
		}
	}
}

// reconnects reports whether the task can be followed on another connection after err. A server
// that forgot the session may still know the task.
func (t *taskCall) reconnects(err error) bool {
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		if _, forgot := errors.AsType[*mcpclient.Refused](lost.Err); forgot && t.task.Session != "" {
			task := *t.task
			task.Session = ""
			t.task = &task
		}
		return true
	}
	e, ok := errors.AsType[*api.Error](err)
	return ok && e.Retryable && executor.IsNotStarted(err)
}

// followOnce waits for the end of the task on a new connection. An error after which another
// connection may help is a *mcpclient.Lost, or that of connecting.
func (t *taskCall) followOnce(ctx context.Context) (mcpclient.Answer, error) {
	c := t.executor.pool.open(ctx, t.entry, t.entry.AnswerWithin > 0, t.task)
	err := c.await(ctx)
	if err != nil {
		go c.close()
		return mcpclient.Answer{}, t.failConnect(ctx, err)
	}
	defer c.close()
	got, err := mcpclient.Follow(ctx, c.conn, t.request, *t.task)
	if err == nil {
		t.saved.End()
		return got, nil
	}
	if _, lost := errors.AsType[*mcpclient.Lost](err); lost {
		return got, err
	}
	return got, t.finish(ctx, c.conn, err)
}

// failConnect is the error of a task that cannot be followed because there is no connection.
func (t *taskCall) failConnect(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return t.finish(ctx, nil, &mcpclient.Ended{Sent: true, Err: context.Cause(ctx)})
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Retryable {
		return executor.NotStarted(err)
	}
	return t.finish(ctx, nil, err)
}

// finish is the error of a call whose task cannot be waited for any more. If this worker gives up
// the call although it has time left, the task stays saved for another worker. If the call is
// cancelled or its timeout expires, so is the task.
func (t *taskCall) finish(ctx context.Context, conn *mcpclient.Connection, err error) error {
	if end, ok := errors.AsType[*mcpclient.Ended](err); ok {
		if isInterruption(end.Err) {
			return end
		}
		t.cancel(ctx, conn)
		t.saved.Clear(ctx)
		return end
	}
	t.saved.Clear(ctx)
	if task, ok := errors.AsType[*mcpclient.TaskError](err); ok {
		return taskError(task)
	}
	if lost, ok := errors.AsType[*mcpclient.Lost](err); ok {
		sent := *lost
		sent.Sent = true
		err = &sent
	}
	return executor.Unclear(api.AsError(mcpError(err)))
}

// isInterruption reports whether the cause of a call's end leaves it to another worker.
func isInterruption(cause error) bool {
	return !errors.Is(cause, executor.ErrTimeout) && !errors.Is(cause, context.DeadlineExceeded) &&
		!temporal.IsCanceledError(cause)
}

// cancel asks the server to cancel the task. It may not, and without a connection it is not asked.
func (t *taskCall) cancel(ctx context.Context, conn *mcpclient.Connection) {
	if conn == nil || t.task == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelWithin)
	defer cancel()
	_ = mcpclient.CancelTask(ctx, conn, t.task.ID)
}

// taskError is the error of a call whose task ended without a result. An internal error of the
// server leaves open what the call did, as it does without a task.
func taskError(e *mcpclient.TaskError) error {
	switch {
	case e.Status == mcpclient.TaskCancelled:
		return api.Errorf(api.ErrCancelled, "%v", e)
	case e.Status == mcpclient.TaskUnknown:
		return executor.Unclear(api.Transient(e, 0))
	case e.Code == codeInvalidParams:
		return api.Errorf(api.ErrValidation, "%v", e)
	case e.Code == codeInternalError:
		return executor.Unclear(e)
	}
	return e
}

// resume waits for the end of the task that an earlier attempt of the call left behind.
func (m *Executor) resume(ctx context.Context, spec *toolspecs.Spec,
	args json.RawMessage) (answer executor.Answer, resumed bool, err error) {
	task := executor.TaskFromContext(ctx).Current()
	if task == nil || serverEntry(spec).URL == "" {
		return executor.Answer{}, false, nil
	}
	request, questions := m.request(ctx, spec, args)
	t := newTaskCall(ctx, m, spec, request)
	t.task = task
	got, err := t.follow(ctx)
	if err != nil {
		return executor.Answer{}, true, err
	}
	answer, err = m.toAnswer(got, spec)
	answer.Notes = append(answer.Notes, questions.listNotes()...)
	answer.Notes = append(answer.Notes, "the worker of the call was lost; another one waited for the "+
		"end of the server's task, and the tool was not called again")
	return answer, true, err
}
