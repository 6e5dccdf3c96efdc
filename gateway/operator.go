package gateway

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/api"
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
	Reason string `json:"reason,omitempty"`
	Rule   string `json:"rule,omitempty"`
	Asked  string `json:"asked,omitempty"`
	Until  string `json:"until,omitempty"`
	Digest string `json:"digest"`
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
	s := mcp.NewServer(g.implementation(), &mcp.ServerOptions{Logger: g.config.Logger,
		GetSessionID: constant(session), Capabilities: &mcp.ServerCapabilities{
			Tools: &mcp.ToolCapabilities{ListChanged: true}}})
	mcp.AddTool(s, &mcp.Tool{Name: "list_approvals", Annotations: readOnly(),
		Description: "Lists the calls of all runs that wait for approval, oldest first."},
		g.listApprovals)
	mcp.AddTool(s, &mcp.Tool{Name: "approve",
		Description: "Approves a call that waits for approval, so that it runs."},
		g.decider(api.DecisionApprove))
	mcp.AddTool(s, &mcp.Tool{Name: "deny",
		Description: "Denies a call that waits for approval. It does not run."},
		g.decider(api.DecisionDeny))
	return s
}

func (g *Gateway) listApprovals(ctx context.Context, _ *mcp.CallToolRequest, _ noArguments) (
	*mcp.CallToolResult, listedApprovals, error) {
	all, err := g.config.Sessions.Approvals(ctx)
	if err != nil {
		return nil, listedApprovals{}, fmt.Errorf("the approvals cannot be read: %w", err)
	}
	list := listedApprovals{Approvals: []listedApproval{}}
	for _, a := range all[:min(len(all), maxApprovals)] {
		list.Approvals = append(list.Approvals, listedApproval{Run: a.Run, Call: a.Call,
			Tool: a.Tool, Caller: a.Caller.ID, Text: a.Text, Reason: a.Reason, Rule: a.Rule,
			Asked: a.Asked.UTC().Format(timeLayout), Until: a.Until.UTC().Format(timeLayout),
			Digest: a.Digest})
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
		if err := g.othersCall(r, in); err != nil {
			return nil, decided{}, err
		}
		err := g.config.Sessions.Decide(ctx, in.Run, api.Decision{Call: in.Call,
			Digest: in.Digest, Kind: kind, By: r.caller.ID, Auth: r.caller.Auth,
			Reason: in.Reason})
		return nil, decided{Decision: string(kind), By: r.caller.ID}, err
	}
}

// othersCall returns an error unless the call waits for approval and was made by someone else. A
// caller that may approve its own call is asked directly.
func (g *Gateway) othersCall(r *request, in decideArguments) error {
	all, err := g.config.Sessions.Approvals(r.ctx)
	if err != nil {
		return fmt.Errorf("the approvals cannot be read: %w", err)
	}
	for _, a := range all {
		if a.Run != in.Run || a.Call != in.Call {
			continue
		}
		if a.Caller.ID == r.caller.ID && a.Caller.Type == api.CallerSession {
			return errors.New("you made this call: another person has to decide about it")
		}
		return nil
	}
	return fmt.Errorf("no call %s of run %s waits for approval", api.Shorten(in.Call, 100),
		api.Shorten(in.Run, 200))
}
