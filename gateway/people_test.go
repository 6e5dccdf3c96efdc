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

func TestOperator_DecidesAboutCallsOfOthers(t *testing.T) {
	l := newLab(t, nil)
	l.approvals = []OpenApproval{{Run: "run", Caller: api.Caller{Type: api.CallerSession,
		ID: "bob"}, Approval: api.Approval{Call: "1", Tool: "pay", ApprovalNeed: api.ApprovalNeed{
		Text: "pay 5", Digest: "d"}}}}
	l.calls["run.1"] = &api.SessionCallStatus{}
	s := l.connect(l.url+OperatorPath, nil)
	decide := func(caller string) *mcp.CallToolResult {
		l.mu.Lock()
		l.caller = caller
		l.mu.Unlock()
		s := l.connect(l.url+OperatorPath, nil)
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "approve",
			Arguments: map[string]any{"run_id": "run", "call_id": "1", "digest": "d"}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	list, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_approvals"})
	if err != nil || !strings.Contains(list.Content[0].(*mcp.TextContent).Text, `"pay 5"`) {
		t.Errorf("%+v, %v", list, err)
	}
	res := decide("bob")
	if got := res.Content[0].(*mcp.TextContent).Text; !res.IsError ||
		got != "you made this call: another person has to decide about it" {
		t.Errorf("bob: %s", got)
	}
	if res = decide("ann"); res.IsError || len(l.decisions) != 1 || l.decisions[0].By != "ann" {
		t.Errorf("ann: %+v, %+v", res, l.decisions)
	}
}
