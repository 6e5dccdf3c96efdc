package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

const asksUsers = `{"elicitation":{}}`

func TestQuestion_ReachesTheUserOfAnOlderClient(t *testing.T) {
	l := newLab(t, nil)
	s := l.connect(l.url+Path, &mcp.ClientOptions{ElicitationHandler: func(_ context.Context,
		r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		if r.Params.Message != "Which colour?" {
			t.Errorf("asked %s", r.Params.Message)
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "red"}}, nil
	}})
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask"})
	if err != nil || res.Content[0].(*mcp.TextContent).Text != "red" {
		t.Fatalf("%+v, %v", res, err)
	}
	if r := l.replies[0]; r.By != "ann" || r.Auth != api.AuthKey {
		t.Errorf("the reply is %+v", r)
	}
}

// In the revision without sessions a question is the result of the call, and the call is repeated
// with the answer. The state is of no use for another caller or another request.
func TestQuestion_ReturnsAsInputRequired(t *testing.T) {
	l := newLab(t, nil)
	var got asked
	r := l.callModern("ask", asksUsers)
	if err := json.Unmarshal(r.Result, &struct {
		ResultType   *string
		RequestState *string
	}{&got.ResultType, &got.RequestState}); err != nil || got.ResultType != resultInputRequired {
		t.Fatalf("%+v: %v", r, err)
	}
	repeat := func(tool, state string) reply {
		return l.modern(t.Context(), "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{},`+
			`"requestState":%q,"inputResponses":{"reply":{"action":"accept","content":{"answer":`+
			`"red"}}}`, tool, state), asksUsers)
	}
	const refused = "requestState is not that of a question about this call"
	if r := repeat("slow", got.RequestState); r.Error == nil || r.Error.Message != refused {
		t.Errorf("another tool: %+v", r)
	}
	if r := repeat("ask", "x"+got.RequestState); r.Error == nil || r.Error.Message != refused {
		t.Errorf("changed state: %+v", r)
	}
	l.caller = "bob"
	if r := repeat("ask", got.RequestState); r.Error == nil || r.Error.Message != refused {
		t.Errorf("another caller: %+v", r)
	}
	l.caller = "ann"
	for range 2 {
		if r := repeat("ask", got.RequestState); text(t, r.Result) != "red" {
			t.Errorf("got %+v", r)
		}
	}
	if len(l.replies) != 1 {
		t.Errorf("the session got %d replies", len(l.replies))
	}
}

// A question has the name that its tool gives it. An answer of that name that comes with the call
// itself is taken, for questions of this caller's call only, and never for approvals.
func TestQuestion_HasTheNameOfItsTool(t *testing.T) {
	l := newLab(t, nil)
	l.named = "colour"
	call := func(tool, name, content string) reply {
		return l.modern(t.Context(), "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{},`+
			`"inputResponses":{%q:{"action":"accept","content":%s},"extra":{"action":"accept",`+
			`"content":{}}}`, tool, name, content), asksUsers)
	}
	for _, tt := range []struct{ tool, name, content, asks string }{
		{"ask", "other", `{"answer":"red"}`, "colour"},
		{"ask", "colour", `{"answer":"red"}`, ""},
		{"mine", "reply", `{"decision":"approve"}`, "reply"},
	} {
		r := call(tt.tool, tt.name, tt.content)
		var got struct {
			InputRequests map[string]any
			RequestState  string
		}
		if err := json.Unmarshal(r.Result, &got); err != nil {
			t.Fatalf("%+v: %v", r, err)
		}
		if asks := got.InputRequests[tt.asks] != nil && got.RequestState != ""; asks !=
			(tt.asks != "") || tt.asks == "" && text(t, r.Result) != "red" {
			t.Errorf("%+v: %s", tt, r.Result)
		}
	}
	if len(l.replies) != 1 || len(l.decisions) != 0 {
		t.Errorf("the session took %+v and %+v", l.replies, l.decisions)
	}
}

// A caller is asked to approve its own call only if the toolspec says so.
func TestApproval_AsksTheCallerOnlyIfTheToolspecAllowsIt(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Wait = c.Direct })
	s := l.connect(l.url+Path, &mcp.ClientOptions{ElicitationHandler: func(context.Context,
		*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}},
			nil
	}})
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "theirs"})
	if err != nil || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text,
		"The call is pending: a person has to approve it.") {
		t.Errorf("%+v, %v", res, err)
	}
	l.gateway.config.Wait = DefaultWait
	if res, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "mine"}); err != nil ||
		res.Content[0].(*mcp.TextContent).Text != "paid" {
		t.Errorf("%+v, %v", res, err)
	}
	if len(l.decisions) != 1 || l.decisions[0].By != "ann" || l.decisions[0].Auth != api.AuthKey {
		t.Errorf("decisions: %+v", l.decisions)
	}
}

// A caller is not asked to approve what the question would not show in full.
func TestApproval_IsNotAskedByATextThatShowsAPart(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Wait = c.Direct })
	l.partial = true
	s := l.connect(l.url+Path, &mcp.ClientOptions{ElicitationHandler: func(context.Context,
		*mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		t.Error("the caller is asked")
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}},
			nil
	}})
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "mine"})
	if err != nil || !strings.HasPrefix(res.Content[0].(*mcp.TextContent).Text,
		"The call is pending: a person has to approve it.") || len(l.decisions) > 0 {
		t.Errorf("%+v, %v, decisions %+v", res, err, l.decisions)
	}
}

// asked calls a tool that asks the caller, and returns the call and the state to answer with.
func (l *lab) asked(tool string) (call, state string) {
	l.Helper()
	var got struct {
		State string `json:"requestState"`
	}
	r := l.callModern(tool, asksUsers)
	if err := json.Unmarshal(r.Result, &got); err != nil || got.State == "" {
		l.Fatalf("%s did not ask: %+v, %v", tool, r, err)
	}
	return <-l.submitted, got.State
}

// answered repeats a call with an answer.
func (l *lab) answered(tool, state, action, content string) reply {
	l.Helper()
	return l.modern(l.Context(), "tools/call", tool, fmt.Sprintf(`"name":%q,"arguments":{},`+
		`"requestState":%q,"inputResponses":{"reply":{"action":%q,"content":%s}}`, tool, state,
		action, content), asksUsers)
}

// An answer that the protocol does not have leaves the question open.
func TestQuestion_StaysOpenAfterAnAnswerThatIsInvalid(t *testing.T) {
	l := newLab(t, nil)
	for _, tool := range []string{"ask", "mine"} {
		call, state := l.asked(tool)
		r := l.answered(tool, state, "agree", `{}`)
		if r.Error == nil || r.Error.Code != -32602 || r.Error.Message !=
			`the action "agree" is unknown: use accept, decline or cancel` {
			t.Errorf("%s: %+v", tool, r)
		}
		if st := l.calls[call]; st.State == api.SessionCallEnded {
			t.Errorf("%s: the call is %+v", tool, st)
		}
	}
	_, state := l.asked("mine")
	if r := l.answered("mine", state, "accept", `{"decision":"maybe"}`); r.Error == nil ||
		r.Error.Message != "the answer has no decision: use approve or deny" {
		t.Errorf("a decision that does not exist: %+v", r)
	}
	if len(l.replies)+len(l.decisions) != 0 {
		t.Errorf("the session took %+v and %+v", l.replies, l.decisions)
	}
}

// The handle of a call that was answered names its execution, so that get_result finds the call
// after the end of its session.
func TestQuestion_KeepsTheExecutionOfTheCall(t *testing.T) {
	l := newLab(t, func(c *Config) { c.Wait = c.Direct })
	call, state := l.asked("mine")
	l.stays = true
	r := l.answered("mine", state, "accept", `{"decision":"approve"}`)
	var got struct {
		Meta map[string]struct {
			ID string `json:"call_id"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(r.Result, &got); err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(call, "session/ann/") + ".execution"
	if handle := got.Meta[callKey].ID; handle != want {
		t.Errorf("the handle is %q, want %q: %s", handle, want, r.Result)
	}
}

// The tools for approvals check their sender themselves: a request that has reached them without
// authorization lists and decides nothing.
func TestOperator_ToolsRefuseWhoeverMayNotUseThem(t *testing.T) {
	l := newLab(t, func(c *Config) {
		c.Operates = func(context.Context) bool { return false }
	})
	l.approvals = []OpenApproval{{Run: "run", Caller: api.Caller{ID: "bob"},
		Approval: api.Approval{Call: "1", Tool: "pay", ApprovalNeed: api.ApprovalNeed{
			Text: "pay 5", Digest: "d"}}}}
	l.calls["run.1"] = &api.SessionCallStatus{}
	for _, tool := range []string{"list_approvals", "approve", "deny"} {
		r := l.post(l.url+OperatorPath, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
			`"params":{"name":%q,"arguments":{"run_id":"run","call_id":"1","digest":"d"},%s}}`, tool,
			modernMeta("{}")), versionHeader, stateless, "Mcp-Method", "tools/call", "Mcp-Name", tool)
		if r.Error == nil || r.Error.Message != "deciding about approvals is not allowed to this "+
			"identity" || len(r.Result) > 0 {
			t.Errorf("%s: %+v", tool, r)
		}
	}
	if len(l.decisions) > 0 {
		t.Errorf("decided: %+v", l.decisions)
	}
}
