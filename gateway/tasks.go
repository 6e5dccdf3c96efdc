package gateway

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/mcpclient"
)

// Methods of the extension for tasks.
const (
	methodTaskGet    = "tasks/get"
	methodTaskUpdate = "tasks/update"
	methodTaskCancel = "tasks/cancel"
)

var taskMethods = []string{methodTaskGet, methodTaskUpdate, methodTaskCancel}

// Statuses of a task.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskCancelled     = "cancelled"
)

// taskPoll is how often clients are asked to look at a task, in milliseconds.
const taskPoll = 1000

// taskResult is a task, as the result of tools/call and of tasks/get.
type taskResult struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId,omitempty"`
	Status         string              `json:"status,omitempty"`
	StatusMessage  string              `json:"statusMessage,omitempty"`
	CreatedAt      string              `json:"createdAt,omitempty"`
	LastUpdatedAt  string              `json:"lastUpdatedAt,omitempty"`
	TTLMs          *int64              `json:"ttlMs"`
	PollIntervalMs int                 `json:"pollIntervalMs,omitempty"`
	Result         mcp.Result          `json:"result,omitempty"`
	InputRequests  mcp.InputRequestMap `json:"inputRequests,omitempty"`
}

// acknowledged is the result of tasks/update and tasks/cancel.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// addTaskMethods has the server receive the methods of tasks, which the middleware of the gateway
// answers.
func addTaskMethods(s *mcp.Server) {
	for _, method := range taskMethods {
		err := mcp.AddReceivingCustomMethod(s, method, func(context.Context, *mcp.ServerSession,
			*mcpclient.TaskParams) (*acknowledged, error) {
			return &acknowledged{ResultType: resultComplete}, nil
		})
		if err != nil {
			panic(err) // the method would be one of the SDK's own
		}
	}
}

// createTask returns the task of a call. The call is durable already.
func (c *openCall) createTask() mcp.Result {
	t := c.toTask()
	t.ResultType = resultTask
	return t
}

// toTask returns a call as a task.
func (c *openCall) toTask() *taskResult {
	now := time.Now().UTC()
	t := &taskResult{ResultType: resultComplete, TaskID: c.handle(), Status: taskWorking,
		StatusMessage: stateText(c.status), LastUpdatedAt: now.Format(time.RFC3339Nano),
		CreatedAt:      startedAt(c.id, now).UTC().Format(time.RFC3339Nano),
		PollIntervalMs: taskPoll}
	if c.askID() != "" && c.asks() {
		if question := elicitation(c.status); question != nil {
			t.Status = taskInputRequired
			t.InputRequests = mcp.InputRequestMap{c.askID(): question}
		}
	}
	return t
}

// errNoTasks refuses the methods of tasks to clients that do not declare the extension.
var errNoTasks = &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities,
	Message: "the client has not declared the extension " + tasksExtension,
	Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension +
		`":{}}}}`)}

// task serves the methods of tasks.
func (r *request) task(method string, p *mcpclient.TaskParams) (mcp.Result, error) {
	if !r.follows() {
		return nil, errNoTasks
	}
	c, ok := r.parseHandle(p.TaskID)
	if !ok {
		return nil, invalid("task not found")
	}
	if err := c.load(); err != nil {
		return nil, err
	}
	if c.status.State == api.SessionCallUnknown {
		return nil, invalid("task not found")
	}
	switch method {
	case methodTaskCancel:
		if err := c.cancel(r.ctx); err != nil {
			return nil, r.unavailable(err)
		}
	case methodTaskUpdate:
		return c.updateTask(p)
	default:
		return c.getTask()
	}
	return &acknowledged{ResultType: resultComplete}, nil
}

// getTask returns the status of a task, with its result if it has ended.
func (c *openCall) getTask() (mcp.Result, error) {
	if c.status.State != api.SessionCallEnded {
		return c.toTask(), nil
	}
	res, err := c.readResult()
	if err != nil {
		return nil, err
	}
	t := c.toTask()
	t.Status, t.StatusMessage, t.InputRequests, t.PollIntervalMs = taskCompleted, "", nil, 0
	t.Result = res
	if o := c.status.Outcome; o != nil && o.Error != nil && o.Error.Type == api.ErrCancelled {
		t.Status, t.Result = taskCancelled, nil
	}
	return t, nil
}

// updateTask applies the answers to what a task asks. Answers to what it no longer asks are
// ignored.
func (c *openCall) updateTask(p *mcpclient.TaskParams) (mcp.Result, error) {
	ask := c.askID()
	if res, ok := p.InputResponses[ask].(*mcp.ElicitResult); ok && ask != "" {
		if err := c.reply(ask, res); err != nil {
			return nil, err
		}
	}
	return &acknowledged{ResultType: resultComplete}, nil
}
