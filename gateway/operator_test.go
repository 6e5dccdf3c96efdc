package gateway

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
)

// The tools for approvals approve nothing that they do not show, and show what would be hidden.
func TestOperator_ApprovesOnlyWhatItShows(t *testing.T) {
	l := newLab(t, nil)
	l.approvals = []OpenApproval{{Run: "run", Caller: api.Caller{Type: api.CallerSession,
		ID: "bob", Auth: api.AuthKey}, Approval: api.Approval{Call: "1", Tool: "pay",
		ApprovalNeed: api.ApprovalNeed{Text: "pay\u202e 5… (cut)", Digest: "d", Partial: true}}}}
	l.calls["run.1"] = &api.SessionCallStatus{}
	s := l.connect(l.url+OperatorPath, nil)
	use := func(tool string) (text string, failed bool) {
		arguments := map[string]any{"run_id": "run", "call_id": "1", "digest": "d"}
		if tool == "list_approvals" {
			arguments = nil
		}
		res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatal(err)
		}
		return res.Content[0].(*mcp.TextContent).Text, res.IsError
	}
	if text, failed := use("list_approvals"); failed || !strings.Contains(text,
		`"partial":true`) || !strings.Contains(text, "pay\ufffd 5… (cut)") {
		t.Errorf("list_approvals: %s", text)
	}
	if text, failed := use("approve"); !failed || !strings.Contains(text,
		"does not show all arguments in full") || len(l.decisions) > 0 {
		t.Errorf("approve: %s, decisions %+v", text, l.decisions)
	}
	if text, failed := use("deny"); failed || len(l.decisions) != 1 {
		t.Errorf("deny: %s, decisions %+v", text, l.decisions)
	}
}
