package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/panics"
)

// Methods of tasks. methodTaskResult is of version 2025-11-25, where tasks were experimental;
// methodTaskUpdate is of the extension in newer versions.
const (
	methodTaskGet    = "tasks/get"
	methodTaskResult = "tasks/result"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

// TaskStatus is how a task ended that has no result.
type TaskStatus string

// The statuses of a TaskError.
const (
	// TaskFailed: the server reports an error of the call in place of a result.
	TaskFailed TaskStatus = "failed"
	// TaskCancelled: the task was cancelled on the server.
	TaskCancelled TaskStatus = "cancelled"
	// TaskUnknown: the server does not know the task, or no longer.
	TaskUnknown TaskStatus = "unknown"
)

// TaskError is returned for a call that the server answered with a task, if the task has no result.
type TaskError struct {
	Status TaskStatus
	// Code and Message are those of the server's error, or its description of the status.
	Code    int
	Message string
}

func (t *TaskError) Error() string {
	text := "the MCP server reports that the task of the call " + map[TaskStatus]string{
		TaskFailed: "failed", TaskCancelled: "was cancelled", TaskUnknown: "does not exist",
	}[t.Status]
	if t.Message != "" {
		text += ": " + t.Message
	}
	return text
}

// Follow returns the answer of a call that a server answered with a task. r is the call; it is not
// made again. Errors are those of Connection.Call, except that a request always counts as sent.
func Follow(ctx context.Context, c *Connection, r Request, task api.RemoteTask) (answer Answer,
	err error) {
	defer panics.MCP.Contain(ctx, c.log, c.breakAfterPanic(&err))
	c.trusted(ctx)
	if reason := c.Err(); reason != nil {
		return Answer{}, &Lost{Sent: true, Err: reason}
	}
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	defer c.begin(within, &r, &mcp.CallToolParams{})()
	f := &following{conn: c, ctx: ctx, within: within, request: &r, id: task.ID,
		replied: map[string]bool{}}
	s, err := f.get()
	if err != nil && !f.passing(err) {
		return Answer{}, err
	}
	if err != nil {
		s = taskState{TaskID: task.ID, Status: statusWorking}
	}
	return f.run(s)
}

// CancelTask asks the server to cancel a task. The server decides whether it does.
func CancelTask(ctx context.Context, c *Connection, id string) (err error) {
	defer panics.MCP.Contain(ctx, c.log, c.breakAfterPanic(&err))
	f := &following{conn: c, ctx: ctx, within: ctx, id: id}
	_, err = f.send(methodTaskCancel, nil, maxPollTime)
	return err
}

// following is a call that waits for the end of its task.
type following struct {
	conn *Connection
	// ctx is the caller's; within ends with the connection as well.
	ctx, within context.Context
	request     *Request
	id          string
	// failures counts the requests in a row that got no answer about the task.
	failures int
	// retryAfter is the wait that the server asked for; zero if it did not.
	retryAfter time.Duration
	// replied are the keys of the questions that were replied to.
	replied map[string]bool
	message string
}

// followNew follows the task of a call that the server has just answered.
func followNew(ctx, within context.Context, c *Connection, r *Request, s taskState) (Answer,
	error) {
	if r.Created != nil {
		r.Created(api.RemoteTask{ID: s.TaskID, Session: c.session.ID(),
			Protocol: c.session.InitializeResult().ProtocolVersion})
	}
	f := &following{conn: c, ctx: ctx, within: within, request: r, id: s.TaskID,
		replied: map[string]bool{}}
	return f.run(s)
}

// run polls the task until it has ended.
func (f *following) run(s taskState) (Answer, error) {
	for {
		answer, done, err := f.next(s)
		switch {
		case err != nil && !f.passing(err):
			return Answer{}, err
		case err == nil && done:
			return answer, nil
		}
		if err := f.pause(s); err != nil {
			return Answer{}, err
		}
		polled, err := f.get()
		switch {
		case err == nil:
			s, f.failures = polled, 0
		case !f.passing(err):
			return Answer{}, err
		}
	}
}

// next does what a status of the task requires, and returns the answer if the task has ended.
func (f *following) next(s taskState) (answer Answer, done bool, err error) {
	switch s.Status {
	case statusWorking:
		f.report(s.StatusMessage)
		return Answer{}, false, nil
	case statusInputRequired:
		return f.input(s)
	case statusCompleted:
		answer, err = f.result(s)
		return answer, err == nil, err
	case statusFailed:
		answer, err = f.failed(s)
		return answer, err == nil, err
	case statusCancelled:
		return Answer{}, true, &TaskError{Status: TaskCancelled, Message: s.StatusMessage}
	}
	return Answer{}, true, &Fault{Reason: "sent a task with the status " +
		quote(s.Status) + ", which the protocol does not define"}
}

func (f *following) report(message string) {
	if message != "" && message != f.message && f.request.Progress != nil {
		f.message = message
		f.request.Progress(api.Progress{Message: message})
	}
}

// input answers the questions of a task. In version 2025-11-25 the server sends them while it is
// asked for the result.
func (f *following) input(s taskState) (Answer, bool, error) {
	if !f.conn.pingless {
		raw, err := f.send(methodTaskResult, nil, 0)
		if err != nil {
			return Answer{}, false, f.resultError(err)
		}
		answer, err := decodeResult(raw)
		return answer, err == nil, err
	}
	questions, err := f.unanswered(s)
	if err != nil {
		return Answer{}, true, err
	}
	if len(questions) == 0 {
		return Answer{}, false, nil
	}
	given, err := replies(f.within, f.request, questions)
	if err != nil {
		return Answer{}, true, f.inputError(err)
	}
	if _, err := f.send(methodTaskUpdate, given, maxPollTime); err != nil {
		return Answer{}, false, err
	}
	for key := range given {
		f.replied[key] = true
	}
	return Answer{}, false, nil
}

// unanswered returns the questions of a task that have no reply yet.
func (f *following) unanswered(s taskState) (mcp.InputRequestMap, error) {
	var questions mcp.InputRequestMap
	if err := json.Unmarshal(s.InputRequests, &questions); err != nil {
		return nil, &Fault{Reason: "sent a task with questions that cannot be read: " +
			sample([]byte(err.Error()))}
	}
	for key := range questions {
		if f.replied[key] {
			delete(questions, key)
		}
	}
	if len(f.replied)+len(questions) > maxTaskQuestions && len(questions) > 0 {
		return nil, &Fault{Reason: fmt.Sprintf(
			"asked more than %d questions for one task", maxTaskQuestions)}
	}
	return questions, nil
}

// inputError is the error of a call whose questions could not be answered.
func (f *following) inputError(err error) error {
	if f.within.Err() != nil {
		return f.over()
	}
	return err
}

// result returns the answer of a completed task.
func (f *following) result(s taskState) (Answer, error) {
	if f.conn.pingless {
		return decodeResult(s.Result)
	}
	raw, err := f.send(methodTaskResult, nil, maxPollTime)
	if err != nil {
		return Answer{}, f.resultError(err)
	}
	return decodeResult(raw)
}

// failed returns the error of a failed task. In version 2025-11-25 the server keeps it as the
// result, which may also be that of a tool that reports a failure.
func (f *following) failed(s taskState) (Answer, error) {
	if f.conn.pingless {
		failure := &TaskError{Status: TaskFailed, Message: s.StatusMessage}
		if s.Error != nil {
			failure.Code = s.Error.Code
			failure.Message = sample([]byte(s.Error.Message))
		}
		return Answer{}, failure
	}
	raw, err := f.send(methodTaskResult, nil, maxPollTime)
	if refused, ok := rejection(err); ok && !refusal(refused.Status) {
		return Answer{}, &TaskError{Status: TaskFailed, Code: refused.Code,
			Message: refused.Message}
	}
	if err != nil {
		return Answer{}, err
	}
	return decodeResult(raw)
}

// resultError is the error of a request for the result of a task that is not known to have failed:
// the server then answers with the error of the call itself, or does not know the task.
func (f *following) resultError(err error) error {
	refused, ok := rejection(err)
	if !ok || refusal(refused.Status) || refused.Busy() {
		return err
	}
	return f.refusal(refused)
}

// decodeResult reads the result of a call that a task has.
func decodeResult(raw json.RawMessage) (Answer, error) {
	var result mcp.CallToolResult
	if unlessNull(raw) == nil {
		return Answer{}, &Fault{Reason: "sent a completed task without a result"}
	}
	if err := json.Unmarshal(forwardResult(raw), &result); err != nil {
		return Answer{}, &Fault{Reason: "sent a completed task with a result that cannot be read: " +
			explainUnreadable(err)}
	}
	if task, isTask, _ := findTask(&result); isTask || result.NeedsInput() {
		return Answer{}, &Fault{Reason: "sent a completed task whose result is not final " +
			task.Status}
	}
	return decodeAnswer(&result)
}

// get returns the state of the task.
func (f *following) get() (taskState, error) {
	raw, err := f.send(methodTaskGet, nil, maxPollTime)
	if refused, ok := rejection(err); ok && !f.passing(err) {
		return taskState{}, f.refusal(refused)
	}
	if err != nil {
		return taskState{}, err
	}
	s, err := decodeTask(raw)
	if err == nil && s.TaskID != f.id {
		err = &Fault{Reason: "was asked for a task and sent another one, " + quote(s.TaskID)}
	}
	return s, err
}

// refusal is the error of a request about a task that the server rejects for good. An error of HTTP
// says nothing about the task.
func (f *following) refusal(r *Refused) error {
	if refusal(r.Status) && r.Code != jsonrpc.CodeInvalidParams {
		return r
	}
	return &TaskError{Status: TaskUnknown, Code: r.Code, Message: r.Message}
}

// rejection returns the server's rejection of a request. One that means that the session is lost
// is none.
func rejection(err error) (*Refused, bool) {
	if _, lost := errors.AsType[*Lost](err); lost {
		return nil, false
	}
	return errors.AsType[*Refused](err)
}

// send sends a request about the task and returns its result. within bounds the wait for it; zero
// leaves that to the call.
func (f *following) send(method string, given mcp.InputResponseMap,
	within time.Duration) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(f.within)
	defer cancel()
	if within > 0 {
		ctx, cancel = context.WithTimeout(ctx, within)
		defer cancel()
	}
	ctx, x := withExchange(ctx)
	x.taskID = f.id
	result, err := mcp.CallCustomMethod[*TaskParams, *taskResult](ctx, f.conn.session, method,
		&TaskParams{TaskID: f.id, InputResponses: given})
	switch {
	case err == nil:
		return result.raw, nil
	case ctx.Err() != nil && f.within.Err() == nil:
		return nil, errNoAnswer
	}
	failure := f.conn.failed(f.ctx, err, x.now())
	if lost, ok := errors.AsType[*Lost](failure); ok {
		sent := *lost
		sent.Sent = true
		return nil, &sent
	}
	if ended, ok := errors.AsType[*Ended](failure); ok {
		return nil, &Ended{Sent: true, Err: ended.Err}
	}
	return nil, failure
}

// errNoAnswer is the error of a request about a task that the server did not answer in time.
var errNoAnswer = errors.New("the MCP server did not answer a request about a task")

// passing reports whether a request about the task may succeed later, and notes when.
func (f *following) passing(err error) bool {
	f.retryAfter = 0
	if errors.Is(err, errNoAnswer) {
		f.failures++
		return true
	}
	refused, ok := rejection(err)
	internal := ok && refused.Status == 0 && refused.Code == jsonrpc.CodeInternalError
	if !ok || !refused.Busy() && !internal {
		return false
	}
	f.failures++
	f.retryAfter = outbound.RetryAfter(refused.Header, time.Now())
	return true
}

// pause waits until the task is to be polled again.
func (f *following) pause(s taskState) error {
	timer := time.NewTimer(max(s.interval(f.failures), min(f.retryAfter, maxPollInterval)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-f.within.Done():
		return f.over()
	}
}

// over is the error of a call whose context or connection ended between two requests.
func (f *following) over() error {
	if cause := context.Cause(f.ctx); cause != nil {
		return &Ended{Sent: true, Err: cause}
	}
	return &Lost{Sent: true, Err: f.conn.Err()}
}
