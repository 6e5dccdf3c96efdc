package mcptools

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard"
)

// onElicit takes a server's question to the call that it belongs to. Servers do not say which one that is, so that there
// has to be exactly one that may ask.
func (c *Connection) onElicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	if r.Params.URL != "" || r.Params.Mode == "url" {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "this client asks people by forms alone, not by URL"}
	}
	request, call := c.asker()
	if request == nil {
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	within, cancel := context.WithCancel(call)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	schema, err := switchyard.EncodeJSON(r.Params.RequestedSchema)
	if err != nil || r.Params.RequestedSchema == nil {
		schema = nil
	}
	reply, err := request.Ask(within, r.Params.Message, schema)
	switch {
	case err != nil:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case reply.Declined:
		return &mcp.ElicitResult{Action: "decline"}, nil
	default:
		return &mcp.ElicitResult{Action: "accept", Content: reply.Content}, nil
	}
}

func (c *Connection) asker() (*Request, context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.asking) != 1 {
		return nil, nil
	}
	for request, ctx := range c.asking {
		return request, ctx
	}
	return nil, nil
}
