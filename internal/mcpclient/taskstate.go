package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tasksExtension is the extension of the protocol by which servers answer calls with tasks.
const tasksExtension = "io.modelcontextprotocol/tasks"

// TaskSupport says whether a tool is called as a task, in version 2025-11-25 of the protocol.
type TaskSupport string

// The values of TaskSupport that allow tasks.
const (
	TaskOptional TaskSupport = "optional"
	TaskRequired TaskSupport = "required"
)

// The statuses of a task.
const (
	statusWorking       = "working"
	statusInputRequired = "input_required"
	statusCompleted     = "completed"
	statusFailed        = "failed"
	statusCancelled     = "cancelled"
)

// Bounds of what a server may require for a task.
const (
	// maxTaskID bounds the id of a task, in bytes, because it is stored in the history.
	maxTaskID = 1 << 10
	// maxTaskQuestions bounds the questions of one task.
	maxTaskQuestions = 100
	// minPollInterval and maxPollInterval bound the interval that a server asks for;
	// defaultPollInterval is that of servers that ask for none.
	minPollInterval     = 200 * time.Millisecond
	defaultPollInterval = time.Second
	maxPollInterval     = time.Minute
	// maxPollTime bounds the wait for the answer to one request about a task.
	maxPollTime = 30 * time.Second
)

// taskState is a task as a server describes it, in both forms of the protocol.
type taskState struct {
	TaskID         string          `json:"taskId"`
	Status         string          `json:"status"`
	StatusMessage  string          `json:"statusMessage"`
	PollIntervalMS *float64        `json:"pollIntervalMs"`
	PollInterval   *float64        `json:"pollInterval"`
	Result         json.RawMessage `json:"result"`
	InputRequests  json.RawMessage `json:"inputRequests"`
	Error          *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// decodeTask reads a task. The error is a *Fault.
func decodeTask(raw json.RawMessage) (taskState, error) {
	var s taskState
	if text, ok := forwardedTask(raw); ok {
		raw = text
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return s, &Fault{Reason: "sent a task that cannot be read: " + sample([]byte(err.Error()))}
	}
	switch {
	case s.TaskID == "":
		return s, &Fault{Reason: "sent a task without an id"}
	case len(s.TaskID) > maxTaskID:
		return s, &Fault{Reason: fmt.Sprintf("sent a task with an id of %d bytes; at most %d",
			len(s.TaskID), maxTaskID)}
	case !utf8.ValidString(s.TaskID):
		return s, &Fault{Reason: "sent a task with an id that is not text"}
	}
	s.StatusMessage = sample([]byte(s.StatusMessage))
	return s, nil
}

// quote returns a value that a server sent, for an error.
func quote(text string) string { return strconv.Quote(sample([]byte(text))) }

// interval returns the wait before the next poll, after n requests in a row that failed: what the
// server asks for, within bounds and with jitter, so that calls that began together spread.
func (s taskState) interval(n int) time.Duration {
	asked := float64(defaultPollInterval)
	for _, ms := range []*float64{s.PollInterval, s.PollIntervalMS} {
		if ms != nil {
			asked = *ms * float64(time.Millisecond)
		}
	}
	wait := time.Duration(min(max(asked, float64(minPollInterval)), float64(maxPollInterval)))
	wait = min(wait<<min(n, 6), maxPollInterval)
	return wait + time.Duration(rand.Int64N(int64(wait)/5+1))
}

// TaskParams are the parameters of the methods of tasks, of clients and of servers.
type TaskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// taskResult is the result of a method of tasks, as the server sent it.
type taskResult struct {
	mcp.ResultBase
	raw json.RawMessage
}

// UnmarshalJSON implements json.Unmarshaler.
func (r *taskResult) UnmarshalJSON(data []byte) error {
	r.raw = bytes.Clone(data)
	return nil
}

// taskCallParams are those of a call that is to become a task.
type taskCallParams struct {
	*mcp.CallToolParams
	Task struct {
		// TTL is how long the server is to keep the task, in milliseconds.
		TTL int64 `json:"ttl,omitempty"`
	} `json:"task"`
}

type taskKey struct{}

// asTask returns a context in which a call asks for a task that is kept that long.
func asTask(ctx context.Context, keep time.Duration) context.Context {
	return context.WithValue(ctx, taskKey{}, keep)
}

// requestTasks adds to calls that they are to become tasks, which the SDK does not know.
func requestTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		keep, asked := ctx.Value(taskKey{}).(time.Duration)
		call, isCall := r.GetParams().(*mcp.CallToolParams)
		session, isClient := r.GetSession().(*mcp.ClientSession)
		if asked && isCall && isClient {
			params := &taskCallParams{CallToolParams: call}
			params.Task.TTL = keep.Milliseconds()
			r = &mcp.ClientRequest[*taskCallParams]{Session: session, Params: params}
		}
		return next(ctx, method, r)
	}
}

// registerTasks prepares a client for tasks.
func registerTasks(client *mcp.Client) {
	for _, method := range []string{methodTaskGet, methodTaskResult, methodTaskUpdate,
		methodTaskCancel} {
		// It fails only for methods of the protocol that the SDK knows.
		_ = mcp.AddSendingCustomMethod[*TaskParams, *taskResult](client, method)
	}
	client.AddSendingMiddleware(requestTasks)
}

// requestsTask reports whether a call is to ask for a task: the server requires it, or allows it
// and a worker that is lost can leave the task behind. A server that is a program ends with its
// worker.
// In newer versions of the protocol the server decides.
func requestsTask(c *Connection, support TaskSupport) bool {
	return c.takesTasks && (support == TaskRequired ||
		support == TaskOptional && c.serverProcess == nil)
}

// taskPrefix starts a result that is a task and passes through the SDK as text of structured
// content.
const taskPrefix = "switchyard/task:"

// The keys under which a server's capability, and what its tools declare, pass through the SDK.
const (
	capabilityKey = "switchyard/tasks"
	executionKey  = "switchyard/execution"
)

// forwardTask changes the members of a result that the SDK would drop: a task in place of a result,
// the capability of tasks, and which tools take them. It reports whether it changed any.
func forwardTask(result json.RawMessage, members map[string]json.RawMessage) bool {
	kind := string(members["resultType"])
	switch {
	case members["content"] == nil && (members["task"] != nil || kind == `"task"`):
		text, err := json.Marshal(taskPrefix + string(result))
		if err != nil {
			return false
		}
		clear(members)
		members[structuredContent], members["content"] = text, json.RawMessage("[]")
		return true
	case members["protocolVersion"] != nil && members["capabilities"] != nil:
		return moveMember(members, "capabilities", "tasks", "experimental", capabilityKey)
	case members["tools"] != nil:
		return forwardTools(members)
	}
	return false
}

func forwardTools(members map[string]json.RawMessage) bool {
	var tools []map[string]json.RawMessage
	if json.Unmarshal(members["tools"], &tools) != nil {
		return false
	}
	changed := false
	for _, tool := range tools {
		changed = moveInto(tool, "execution", "_meta", executionKey) || changed
	}
	if data, err := json.Marshal(tools); err == nil && changed {
		members["tools"] = data
		return true
	}
	return false
}

// moveMember is moveInto for the object that is a member.
func moveMember(members map[string]json.RawMessage, name, from, into, key string) bool {
	var object map[string]json.RawMessage
	if json.Unmarshal(members[name], &object) != nil || !moveInto(object, from, into, key) {
		return false
	}
	data, err := json.Marshal(object)
	if err == nil {
		members[name] = data
	}
	return err == nil
}

// moveInto moves a member of an object into the object that is another member.
func moveInto(object map[string]json.RawMessage, from, into, key string) bool {
	if object[from] == nil {
		return false
	}
	inner := map[string]json.RawMessage{}
	if object[into] != nil && json.Unmarshal(object[into], &inner) != nil || inner == nil {
		return false
	}
	inner[key] = object[from]
	data, err := json.Marshal(inner)
	if err != nil {
		return false
	}
	delete(object, from)
	object[into] = data
	return true
}

// forwardedTask returns the task in a result of forwardTask, and whether there is one.
func forwardedTask(raw json.RawMessage) (json.RawMessage, bool) {
	var result struct {
		StructuredContent string `json:"structuredContent"`
	}
	if json.Unmarshal(raw, &result) != nil {
		return nil, false
	}
	text, ok := strings.CutPrefix(result.StructuredContent, taskPrefix)
	return json.RawMessage(text), ok
}

// findTask returns the task by which a server answered a call, and whether it did.
func findTask(result *mcp.CallToolResult) (s taskState, isTask bool, err error) {
	text, _ := result.StructuredContent.(string)
	raw, isTask := strings.CutPrefix(text, taskPrefix)
	if !isTask {
		return s, false, nil
	}
	var nested struct {
		Task json.RawMessage `json:"task"`
	}
	task := json.RawMessage(raw)
	if json.Unmarshal(task, &nested) == nil && nested.Task != nil {
		task = nested.Task
	}
	s, err = decodeTask(task)
	return s, true, err
}

// takesTasks reports whether a server of version 2025-11-25 runs calls of tools as tasks.
func takesTasks(server *mcp.InitializeResult) bool {
	if server.Capabilities == nil {
		return false
	}
	tasks, _ := server.Capabilities.Experimental[capabilityKey].(map[string]any)
	requests, _ := tasks["requests"].(map[string]any)
	tools, _ := requests["tools"].(map[string]any)
	return tools["call"] != nil
}

// taskSupport returns what a tool declares about tasks.
func taskSupport(tool *mcp.Tool) TaskSupport {
	execution, _ := tool.Meta[executionKey].(map[string]any)
	support, _ := execution["taskSupport"].(string)
	return TaskSupport(support)
}
