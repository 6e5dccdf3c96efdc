package admission

import (
	"context"
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// trustedPart is the fraction of a key's idle timeout, 1/trustedPart, during which admission
// assumes that the key is still open; the run assumes the same for another such period. The
// remaining half covers delays.
const trustedPart = 4

// route decides to which task queue a call goes and by which rules, from the current configuration
// of its lane. The error rejects a call of a keyed lane whose arguments do not determine the key.
func (a *Admitter) route(r api.AdmissionRequest, tool api.Tool,
	arguments json.RawMessage) (api.Route, *api.Error) {
	// Other calls are no activities, or have a queue of their own.
	if r.Base == "" || !tool.Dispatch.TakesSlots() || tool.Lane == api.LaneInline {
		return api.Route{}, nil
	}
	lane, known := a.config.Lanes().Lane(tool.Lane)
	switch {
	case !known:
		return api.Route{}, nil
	case lane.Bypasses(r.Caller.Type):
		return api.Route{Queue: api.BypassQueue(r.Base, lane.Name)}, nil
	}
	route := RouteOf(lane)
	if lane.Limited() && tool.Heartbeat < lane.Lease {
		route.Lease = lane.Lease
	}
	if !lane.Keyed() {
		return route, nil
	}
	return keyed(route, r.Base, lane, arguments)
}

// keyed adds the key of a call to its route.
func keyed(route api.Route, base string, lane api.Lane, arguments json.RawMessage) (api.Route,
	*api.Error) {
	key, fault := lanes.Key(lane, arguments)
	if fault != nil {
		return api.Route{}, fault
	}
	route.Queue, route.Key, route.OpenFor = lane.TaskQueue(base, key), api.KeyPart(key),
		lane.IdleTimeout/trustedPart
	return route, nil
}

// RouteOf returns the lane's rules for a route. It is empty for a lane with default rules, which
// keeps decisions small.
func RouteOf(lane api.Lane) api.Route {
	route := api.Route{
		Queue:        lane.Queue,
		QueueTimeout: lane.QueueTimeout,
		Holds:        lane.Limited() && lane.UsesWaitQueue(),
		FIFO:         lane.Strategy == api.StrategyFIFO,
	}
	if lane.Fairness != api.FairnessConversation && !route.FIFO {
		route.Fairness = lane.Fairness
	}
	return route
}

// openKeys opens the keys of admitted calls, because a call on a queue without a worker would wait
// forever. It returns an error if a key cannot be opened.
func (a *Admitter) openKeys(ctx context.Context, r api.AdmissionRequest,
	decisions []api.AdmissionDecision) error {
	var started []*opening
	for i, v := range decisions {
		if v.Route.Key != "" {
			tool, _ := toolOf(r, r.Calls[i].Tool)
			started = append(started, a.openKey(api.OpenRequest{Base: r.Base, Lane: tool.Lane,
				Key: v.Route.Key}))
		}
	}
	for _, o := range started {
		if err := o.wait(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Open implements the activity api.OpenKeyActivity: it opens a key of a keyed lane for a call that
// starts later after its admission than its Route.OpenFor. It runs as a local activity. It returns
// an error if the server does not accept the request.
func (a *Admitter) Open(ctx context.Context, r api.OpenRequest) error {
	return a.openKey(r).wait(ctx)
}

func (a *Admitter) openKey(r api.OpenRequest) *opening {
	idle := lanes.DefaultIdleTimeout
	if lane, known := a.config.Lanes().Lane(r.Lane); known && lane.IdleTimeout > 0 {
		idle = lane.IdleTimeout
	}
	return a.keys.open(r, idle.Std()/trustedPart)
}
