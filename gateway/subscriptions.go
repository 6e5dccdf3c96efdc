package gateway

import (
	"context"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Names that no client sees: middleware answers the lists. The SDK offers prompts and resources to
// clients only if a server has some, and announces changes when one is added.
const (
	hiddenPrompt   = "switchyard_prompts"
	hiddenResource = "switchyard://resources"
)

// declare has a server offer prompts and resources if there are any. It announces that the lists
// may have changed.
func (g *Gateway) declare(s *mcp.Server) {
	set := g.contents()
	if set.HasPrompts() {
		s.AddPrompt(&mcp.Prompt{Name: hiddenPrompt}, nil)
	} else {
		s.RemovePrompts(hiddenPrompt)
	}
	if set.HasResources() {
		s.AddResource(&mcp.Resource{Name: hiddenPrompt, URI: hiddenResource}, nil)
	} else {
		s.RemoveResources(hiddenResource)
	}
}

// ContentChanged tells connected clients that the lists of prompts and resources may have changed.
func (g *Gateway) ContentChanged() {
	for _, s := range g.mcp.all() {
		g.declare(s)
	}
}

// checkSubscription refuses a subscription to a resource that the caller does not get. In the
// revision without sessions it removes those from the request. The SDK does the rest. Clients hear
// of changes of gateway.yaml; contents of resources are not watched.
func (g *Gateway) checkSubscription(ctx context.Context, req mcp.Request) error {
	switch p := req.GetParams().(type) {
	case *mcp.SubscribeParams:
		p = orNew(p)
		r := g.contentRequest(ctx, req, p)
		if !r.view.Has(p.URI) {
			return r.noResource(p.URI)
		}
	case *mcp.SubscriptionsListenParams:
		if p == nil || p.Notifications == nil {
			return nil
		}
		v := g.contentRequest(ctx, req, p).view
		p.Notifications.ResourceSubscriptions = slices.DeleteFunc(
			p.Notifications.ResourceSubscriptions, func(uri string) bool { return !v.Has(uri) })
	}
	return nil
}
