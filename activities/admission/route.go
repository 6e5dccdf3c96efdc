package admission

import (
	"encoding/json"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/queues"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// route decides to which task queue a call goes and by which rules, from the current configuration
// of its lane. The error rejects a call of a keyed lane whose arguments do not determine the key.
func (a *Admitter) route(c *oneCall) (fault *api.Error) {
	c.decision.Route, fault = a.routeTo(c.AdmissionRequest, c.tool, c.arguments)
	return fault
}

func (a *Admitter) routeTo(r api.AdmissionRequest, tool api.Tool,
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
		return api.Route{Queue: queues.Bypass(r.Base, lane.Name)}, nil
	}
	route := RouteFromLane(lane)
	if lane.HasLimit() && tool.Heartbeat < lane.Lease {
		route.Lease = lane.Lease
	}
	if !lane.HasKey() {
		return route, nil
	}
	return addKey(route, r.Base, lane, arguments)
}

// addKey adds the key of a call to its route.
func addKey(route api.Route, base string, lane api.Lane, arguments json.RawMessage) (api.Route,
	*api.Error) {
	key, fault := lanes.Key(lane, arguments)
	if fault != nil {
		return api.Route{}, fault
	}
	route.Queue, route.Key = lanerules.TaskQueue(lane, base, key), lanerules.KeyPart(key)
	return route, nil
}

// RouteFromLane returns the lane's rules for a route. It is empty for a lane with default rules,
// which
// keeps decisions small.
func RouteFromLane(lane api.Lane) api.Route {
	route := api.Route{
		Queue:        lane.Queue,
		QueueTimeout: lane.QueueTimeout,
		Holds:        lane.HasLimit() && lane.UsesWaitQueue(),
		FIFO:         lane.Strategy == api.StrategyFIFO,
	}
	if lane.Fairness != api.FairnessConversation && !route.FIFO {
		route.Fairness = lane.Fairness
	}
	return route
}
