package gateway

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/gateway/console/arguments"
	"github.com/switchyard/switchyard/gateway/wire"
)

// maxApprovals bounds the approvals of one list.
const maxApprovals = 100

// listedApproval is a call that waits for approval, as the operator tools show it.
type listedApproval struct {
	Run    string `json:"run_id"`
	Call   string `json:"call_id"`
	Tool   string `json:"tool"`
	Caller string `json:"caller,omitempty"`
	Text   string `json:"text"`
	// Partial says that Text does not show all arguments in full, so that the call can be denied
	// here and not approved.
	Partial bool   `json:"partial,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Rule    string `json:"rule,omitempty"`
	Asked   string `json:"asked,omitempty"`
	Until   string `json:"until,omitempty"`
	Digest  string `json:"digest"`
	// Approvers are who may decide; empty is everyone but the caller.
	Approvers []string `json:"approvers,omitempty"`
}

type listedApprovals struct {
	Approvals []listedApproval `json:"approvals"`
	// Left is how many more there are.
	Left int `json:"left"`
}

type noArguments struct{}

// decideArguments name the call to decide about. The digest makes sure that the person has seen the
// call as it is.
type decideArguments struct {
	Run    string `json:"run_id" jsonschema:"the run of the call"`
	Call   string `json:"call_id" jsonschema:"the call"`
	Digest string `json:"digest" jsonschema:"the digest of the call in list_approvals"`
	Reason string `json:"reason,omitempty" jsonschema:"why"`
}

type decided struct {
	Decision string `json:"decision"`
	By       string `json:"by"`
}

// newOperatorServer returns the server of the tools that decide about approvals.
func (g *Gateway) newOperatorServer(session string) *mcp.Server {
	s := mcp.NewServer(g.implementation(), &mcp.ServerOptions{Logger: wire.Quiet(g.config.Logger),
		GetSessionID: constant(session), Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	s.AddReceivingMiddleware(g.guard, g.operatorsOnly)
	mcp.AddTool(s, &mcp.Tool{Name: "list_approvals", Annotations: readOnly(),
		Description: "Lists the calls of all runs that wait for approval, oldest first."},
		g.listApprovals)
	mcp.AddTool(s, &mcp.Tool{Name: "approve",
		Description: "Approves a call that waits for approval, so that it runs. A call that " +
			"list_approvals shows as partial can be denied here, and is approved elsewhere."},
		g.decider(api.DecisionApprove))
	mcp.AddTool(s, &mcp.Tool{Name: "deny",
		Description: "Denies a call that waits for approval. It does not run."},
		g.decider(api.DecisionDeny))
	return s
}

// operatorsOnly is the middleware that refuses requests of senders who may not use the tools for
// approvals, whichever way they came. Notifications pass: they cause nothing, and their HTTP
// request may have ended already.
func (g *Gateway) operatorsOnly(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, req)
		}
		if h := g.httpRequest(ctx, req); h.header == nil || !g.config.Operates(h.ctx) {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
				Message: "deciding about approvals is not allowed to this identity"}
		}
		return next(ctx, method, req)
	}
}

func (g *Gateway) listApprovals(ctx context.Context, _ *mcp.CallToolRequest, _ noArguments) (
	*mcp.CallToolResult, listedApprovals, error) {
	all, err := g.config.Sessions.Approvals(ctx)
	if err != nil {
		return nil, listedApprovals{}, fmt.Errorf("the approvals cannot be read: %w", err)
	}
	list := listedApprovals{Approvals: []listedApproval{}}
	for _, a := range all[:min(len(all), maxApprovals)] {
		listed := listedApproval{Run: a.Run, Call: a.Call,
			Tool: a.Tool, Caller: a.Caller.ID, Text: arguments.Visible(a.Text), Partial: a.Partial,
			Reason: arguments.Visible(a.Reason), Rule: a.Rule,
			Asked: a.Asked.UTC().Format(timeLayout), Until: a.Until.UTC().Format(timeLayout),
			Digest: a.Digest}
		for _, rule := range a.Approvers {
			listed.Approvers = append(listed.Approvers, rule.String())
		}
		list.Approvals = append(list.Approvals, listed)
	}
	list.Left = len(all) - len(list.Approvals)
	return nil, list, nil
}

const timeLayout = "2006-01-02T15:04:05Z07:00"

// decider returns the handler of a tool that decides in that way.
func (g *Gateway) decider(kind api.DecisionKind) mcp.ToolHandlerFor[decideArguments, decided] {
	return func(ctx context.Context, req *mcp.CallToolRequest, in decideArguments) (
		*mcp.CallToolResult, decided, error) {
		r := g.request(ctx, req, req.Params)
		err := g.config.Sessions.Decide(ctx, in.Run, api.Decision{Call: in.Call,
			Digest: in.Digest, Kind: kind, ByText: true, By: r.caller.ID, Auth: r.caller.Auth,
			Claims: r.caller.Claims, Roles: r.http.roles, Reason: in.Reason})
		if err != nil {
			g.config.Logger.Warn("a decision was not accepted", "by", r.caller.ID, "auth",
				r.caller.Auth, "run", in.Run, "call", in.Call, "error", err)
		}
		return nil, decided{Decision: string(kind), By: r.caller.ID}, err
	}
}
