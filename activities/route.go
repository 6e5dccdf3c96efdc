package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// trustedPart is what part of a key's idle timeout admission takes the key for open without asking
// again, and then the run takes it for open once more: half of the timeout is left for what takes
// longer than it should.
const trustedPart = 4

// route decides where a call goes and by which rules, as its lane is configured now. The error is
// one that refuses the call: on a keyed lane, its arguments do not say which key.
func (a *Activities) route(r api.AdmissionRequest, tool api.Tool,
	arguments json.RawMessage) (api.Route, *api.Error) {
	// Calls of the other kinds are no activity of their lane, or have a queue of their own.
	if r.Base == "" || tool.Kind != "" || tool.Lane == api.LaneInline {
		return api.Route{}, nil
	}
	lane, known := a.config.Lanes().Lane(tool.Lane)
	switch {
	case !known:
		return api.Route{}, nil
	case lane.Bypasses(r.Caller.Type):
		return api.Route{Queue: api.BypassQueue(r.Base, lane.Name)}, nil
	}
	route := rulesOf(lane)
	if lane.Keyed() {
		key, fault := lanes.Key(lane, arguments)
		if fault != nil {
			return api.Route{}, fault
		}
		route.Queue, route.Key, route.OpenFor = lane.TaskQueue(r.Base, key), api.KeyPart(key),
			lane.IdleTimeout/trustedPart
	}
	return route, nil
}

// rulesOf is what a route takes over from its lane. Of a lane with default rules it is nothing, so
// that verdicts do not grow.
func rulesOf(lane api.Lane) api.Route {
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

// model decides where the steps of a run's model go. Only calls have the arguments that keys are
// made of.
func (p *pinning) model(m api.Model) {
	lane, known := p.activities.config.Lanes().Lane(m.Lane)
	switch {
	case !known || m.Lane == api.LaneInline:
	case lane.Keyed():
		p.Problems = append(p.Problems, api.Problem{Path: "$.agent.model.lane", Rule: "lane",
			Message: fmt.Sprintf(
				"the lane %s has a queue for each %s, and a model step has no arguments; name a lane without a key",
				lane.Name, lane.Key)})
	default:
		p.Model = rulesOf(lane)
	}
}

// openKeys has those keys open that admitted calls are about to be made with: a call on a queue
// that nobody serves would wait for ever. The error says that this cannot be made sure.
func (a *Activities) openKeys(ctx context.Context, r api.AdmissionRequest,
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

// Open has a key of a keyed lane served, for a call that starts longer after its admission than its
// Route.OpenFor. It runs as a local activity. The error says that the server did not take it.
func (a *Activities) Open(ctx context.Context, r api.OpenRequest) error {
	return a.openKey(r).wait(ctx)
}

func (a *Activities) openKey(r api.OpenRequest) *opening {
	idle := lanes.DefaultIdleTimeout
	if lane, known := a.config.Lanes().Lane(r.Lane); known && lane.IdleTimeout > 0 {
		idle = lane.IdleTimeout
	}
	return a.keys.open(r, idle.Std()/trustedPart)
}
