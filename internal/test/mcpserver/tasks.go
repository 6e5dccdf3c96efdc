package mcpserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Tasks is an MCP server over HTTP that answers calls with tasks, in the form of version 2025-11-25
// or, if Newer is set, in that of the extension. Its tools are job, which takes tasks, and must,
// which requires them. The argument text says what becomes of the task, see status.
type Tasks struct {
	Newer bool

	mu       sync.Mutex
	sessions map[string]bool
	issued   int
	tasks    map[string]*task
	// Requests counts the requests by method.
	requests map[string]int
	// names are the headers Mcp-Name of requests about tasks.
	names []string
	ttl   float64
}

type task struct {
	id, text  string
	polls     int
	cancelled bool
	released  bool
	reply     json.RawMessage
	replied   chan struct{}
}

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method"`
	Params struct {
		Name      string                     `json:"name"`
		Arguments arguments                  `json:"arguments"`
		Task      *map[string]any            `json:"task"`
		TaskID    string                     `json:"taskId"`
		Input     map[string]json.RawMessage `json:"inputResponses"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type object = map[string]any

// Executions returns how many calls were executed.
func (s *Tasks) Executions() int { return s.Requests("tools/call") }

// Requests returns how many requests of a method arrived.
func (s *Tasks) Requests(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[method]
}

// Release ends the tasks with the text "wait" that there are.
func (s *Tasks) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		t.released = true
	}
}

// Forget forgets all sessions, and with tasks all tasks, as a server that is restarted.
func (s *Tasks) Forget(tasks bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = nil
	if tasks {
		s.tasks = nil
	}
}

// Sessions returns how many sessions are open.
func (s *Tasks) Sessions() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

// Names returns the headers Mcp-Name of the requests about tasks.
func (s *Tasks) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.names...)
}

// TTL returns how long the client of the last call asked to keep its task.
func (s *Tasks) TTL() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Duration(s.ttl) * time.Millisecond
}

// ServeHTTP implements http.Handler.
func (s *Tasks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	if r.Method == http.MethodDelete {
		s.mu.Lock()
		delete(s.sessions, session)
		s.mu.Unlock()
		return
	}
	var m message
	if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	switch {
	case !s.countRequest(session, r.Header.Get("Mcp-Name"), m.Method):
		w.WriteHeader(http.StatusNotFound)
	case m.Method == "":
		s.reply(string(m.ID), m.Result)
		w.WriteHeader(http.StatusAccepted)
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tasks/result" && s.asks(m.Params.TaskID):
		s.stream(w, m)
	default:
		s.answer(w, m)
	}
}

// countRequest counts a request, and reports whether its session is known.
func (s *Tasks) countRequest(session, name, method string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session != "" && !s.sessions[session] {
		return false
	}
	if s.requests == nil {
		s.requests = map[string]int{}
	}
	s.requests[method]++
	if strings.HasPrefix(method, "tasks/") {
		s.names = append(s.names, name)
	}
	return true
}

func (s *Tasks) answer(w http.ResponseWriter, m message) {
	result, refused := s.result(w, m)
	if refused != nil && refused.Code == http.StatusServiceUnavailable {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	response := object{"jsonrpc": "2.0", "id": m.ID, "result": result}
	if refused != nil {
		response = object{"jsonrpc": "2.0", "id": m.ID, "error": refused}
	}
	_ = json.NewEncoder(w).Encode(response)
}

func (s *Tasks) result(w http.ResponseWriter, m message) (any, *failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "server/discover":
		if !s.Newer {
			break
		}
		return object{"resultType": "complete", "supportedVersions": []string{"2026-07-28"},
			"serverInfo": object{"name": "tasks", "version": "1"},
			"capabilities": object{"tools": object{},
				"extensions": object{"io.modelcontextprotocol/tasks": object{}}}}, nil
	case "initialize":
		s.issued++
		session := fmt.Sprint("session-", s.issued)
		if s.sessions == nil {
			s.sessions = map[string]bool{}
		}
		s.sessions[session] = true
		w.Header().Set("Mcp-Session-Id", session)
		return object{"protocolVersion": "2025-11-25",
			"serverInfo": object{"name": "tasks", "version": "1"},
			"capabilities": object{"tools": object{}, "tasks": object{"cancel": object{},
				"requests": object{"tools": object{"call": object{}}}}}}, nil
	case "ping":
		return object{}, nil
	case "tools/list":
		tool := func(name, support string) object {
			return object{"name": name, "description": "Does a job.",
				"inputSchema": json.RawMessage(schema),
				"execution":   object{"taskSupport": support}}
		}
		return object{"resultType": "complete", "ttlMs": 0, "cacheScope": "private",
			"tools": []any{tool("job", "optional"), tool("must", "required")}}, nil
	case "tools/call":
		return s.call(m)
	case "tasks/get", "tasks/update", "tasks/cancel", "tasks/result":
		return s.aboutTask(m)
	}
	return nil, &failure{Code: -32601, Message: "method not found"}
}

// call executes a call. The caller holds mu.
func (s *Tasks) call(m message) (any, *failure) {
	text := m.Params.Arguments.Text
	if text == "plain" || !s.Newer && m.Params.Task == nil {
		return s.withoutTask(m)
	}
	if m.Params.Task != nil {
		s.ttl, _ = (*m.Params.Task)["ttl"].(float64)
	}
	id := fmt.Sprint("täsk ", len(s.tasks)+1)
	if text == "long id" {
		id = strings.Repeat("x", 1<<20)
	}
	t := &task{id: id, text: text, replied: make(chan struct{})}
	if s.tasks == nil {
		s.tasks = map[string]*task{}
	}
	s.tasks[id] = t
	if s.Newer {
		state := s.state(t)
		state["resultType"] = "task"
		return state, nil
	}
	return object{"task": s.state(t)}, nil
}

// withoutTask answers a call directly.
func (s *Tasks) withoutTask(m message) (any, *failure) {
	if m.Params.Name == "must" && !s.Newer {
		return nil, &failure{Code: -32601, Message: "must be called as a task"}
	}
	return done("done at once"), nil
}

// aboutTask answers a request about a task. The caller holds mu.
func (s *Tasks) aboutTask(m message) (any, *failure) {
	t := s.tasks[m.Params.TaskID]
	if t == nil || t.text == "unknown" {
		return nil, &failure{Code: -32602, Message: "task not found"}
	}
	switch m.Method {
	case "tasks/get":
		return s.answerPoll(t)
	case "tasks/update":
		if t.reply == nil {
			t.reply = m.Params.Input["name"]
		}
	case "tasks/cancel":
		t.cancelled = true
		if !s.Newer {
			return s.state(t), nil
		}
	case "tasks/result":
		return s.outcome(t)
	}
	return object{"resultType": "complete"}, nil
}

// answerPoll answers a poll for a task. The caller holds mu.
func (s *Tasks) answerPoll(t *task) (any, *failure) {
	t.polls++
	if t.text == "flaky" && t.polls%2 == 1 {
		return nil, &failure{Code: http.StatusServiceUnavailable}
	}
	state := s.state(t)
	if t.text == "other id" {
		state["taskId"] = "another"
	}
	return state, nil
}

// state returns a task as the protocol describes it. The caller holds mu.
func (s *Tasks) state(t *task) object {
	status := s.status(t)
	interval, ttl := "pollInterval", "ttl"
	if s.Newer {
		interval, ttl = "pollIntervalMs", "ttlMs"
	}
	state := object{"taskId": t.id, "status": status, "createdAt": "2026-11-23T10:00:00Z",
		"lastUpdatedAt": "2026-11-23T10:00:00Z", ttl: nil, interval: 10,
		"statusMessage": fmt.Sprint("poll ", t.polls)}
	switch t.text {
	case "year":
		state[interval] = 365 * 24 * 3600 * 1000
	case "zero":
		state[interval] = 0
	case "words":
		state[interval] = "soon"
	}
	if s.Newer {
		s.complete(state, t, status)
	}
	return state
}

// complete adds what the newer protocol sends with the status of a task. The caller holds mu.
func (s *Tasks) complete(state object, t *task, status string) {
	result, refused := s.outcome(t)
	switch {
	case status == "input_required":
		state["inputRequests"] = object{"name": object{"method": "elicitation/create",
			"params": question()}}
	case status == "failed":
		state["error"] = refused
	case status == "completed" && t.text != "no result":
		state["result"] = result
	}
}

// status returns the status of a task after its polls. The caller holds mu.
func (s *Tasks) status(t *task) string {
	switch {
	case t.cancelled:
		return "cancelled"
	case t.polls == 0, t.text == "never", t.text == "wait" && !t.released:
		return "working"
	case t.text == "ask" && t.reply == nil:
		return "input_required"
	}
	switch t.text {
	case "odd":
		return "resting"
	case "fail", "fail internally":
		return "failed"
	case "cancelled":
		return "cancelled"
	}
	return "completed"
}

func (s *Tasks) asks(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	return t != nil && t.text == "ask" && t.reply == nil
}

// stream asks the question of a task and then sends its result, as a stream of events.
func (s *Tasks) stream(w http.ResponseWriter, m message) {
	s.mu.Lock()
	t := s.tasks[m.Params.TaskID]
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(message object) {
		data, _ := json.Marshal(message)
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
		_ = http.NewResponseController(w).Flush()
	}
	asked := question()
	asked["_meta"] = object{"io.modelcontextprotocol/related-task": object{"taskId": t.id}}
	send(object{"jsonrpc": "2.0", "id": t.id, "method": "elicitation/create", "params": asked})
	select {
	case <-t.replied:
	case <-time.After(time.Minute):
		return
	}
	result, _ := s.outcome(t)
	send(object{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// reply takes the reply to the question of a task, whose id is that of the question.
func (s *Tasks) reply(id string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tasks {
		if quoted, _ := json.Marshal(t.id); string(quoted) == id && t.reply == nil {
			t.reply = result
			close(t.replied)
		}
	}
}
