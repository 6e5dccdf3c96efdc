package gateway

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/switchyard/switchyard/gateway/content"
)

// defaultWatch is the default of Config.Watch.
const defaultWatch = 2 * time.Second

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

// watches are the resources that clients have subscribed to, with their stamps.
type watches struct {
	mu     sync.Mutex
	stamps map[string]string
	begin  sync.Once
}

// subscribed notes that a client wants to hear of changes of a resource.
func (g *Gateway) subscribed(uri string) {
	stamp, err := g.contents().Stamp(uri)
	if err != nil {
		return
	}
	w := &g.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stamps == nil {
		w.stamps = map[string]string{}
	}
	if _, known := w.stamps[uri]; !known {
		w.stamps[uri] = stamp
	}
	w.begin.Do(func() { go g.watch() })
}

// watch looks for changes of resources until the gateway drains.
func (g *Gateway) watch() {
	tick := time.NewTicker(g.config.Watch)
	defer tick.Stop()
	for {
		select {
		case <-g.draining:
			return
		case <-tick.C:
		}
		for _, uri := range g.watches.changed(g.contents()) {
			for _, s := range g.mcp.all() {
				_ = s.ResourceUpdated(context.Background(),
					&mcp.ResourceUpdatedNotificationParams{URI: uri}) // it returns no errors
			}
		}
	}
}

// changed returns the resources whose content has changed since the last look.
func (w *watches) changed(set *content.Set) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var changed []string
	for uri, before := range w.stamps {
		stamp, err := set.Stamp(uri)
		if stamp != before {
			changed = append(changed, uri)
		}
		if w.stamps[uri] = stamp; err != nil { // it is no longer declared
			delete(w.stamps, uri)
		}
	}
	slices.Sort(changed)
	return changed
}

// checkSubscription refuses a subscription to a resource that the caller does not get. In the
// revision without sessions it removes those from the request. The SDK does the rest.
func (g *Gateway) checkSubscription(ctx context.Context, req mcp.Request) error {
	switch p := req.GetParams().(type) {
	case *mcp.SubscribeParams:
		p = orNew(p)
		r := g.contentRequest(ctx, req, p)
		if _, err := r.view.Stamp(p.URI); err != nil {
			return r.noResource(p.URI)
		}
	case *mcp.SubscriptionsListenParams:
		if p == nil || p.Notifications == nil {
			return nil
		}
		v := g.contentRequest(ctx, req, p).view
		p.Notifications.ResourceSubscriptions = slices.DeleteFunc(
			p.Notifications.ResourceSubscriptions, func(uri string) bool {
				_, err := v.Stamp(uri)
				return err != nil
			})
	}
	return nil
}
