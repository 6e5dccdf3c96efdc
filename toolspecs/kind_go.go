package toolspecs

import (
	"cmp"

	"github.com/switchyard/switchyard/api"
)

// The kinds of tools that are written in Go.
const (
	// KindFunction is a stateless Go function that the worker registers.
	KindFunction = "function"
	// KindStateful is a Go type with one instance per run.
	KindStateful = "stateful"
)

// functionKind is the kind of tools that are Go functions registered by the worker.
type functionKind struct{}

func (functionKind) setDefaults(s *Spec) { s.Entry.Handler = cmp.Or(s.Entry.Handler, s.Name) }

func (functionKind) check(*checker, Spec) {}

func (functionKind) dispatch(Entry) api.Dispatch { return api.DispatchLane }

func (functionKind) handlers(o Options) (known []string, what string) {
	return o.Handlers,
		"function"
}

// statefulKind is the kind of tools that are Go objects with state for a run.
type statefulKind struct{}

func (statefulKind) setDefaults(s *Spec) {
	s.Entry.Handler = cmp.Or(s.Entry.Handler, s.Name)
	s.Entry.OnLoss = cmp.Or(s.Entry.OnLoss, api.OnLossFail)
	s.Entry.IdleTimeout = cmp.Or(s.Entry.IdleTimeout, defaultIdleTimeout)
	// Calls of an instance run on its own queue and never delay other calls, whatever their access.
	s.Execution.Access = cmp.Or(s.Execution.Access, api.AccessExclusive)
	s.Execution.Lane = cmp.Or(s.Execution.Lane, api.LaneGeneral)
	if cmp.Or(s.Execution.Effect, api.EffectOnce) != api.EffectOnce {
		s.Execution.Heartbeat = cmp.Or(s.Execution.Heartbeat, defaultStatefulHeartbeat)
	}
}

func (statefulKind) check(*checker, Spec) {}

func (statefulKind) dispatch(Entry) api.Dispatch { return api.DispatchInstance }

func (statefulKind) handlers(o Options) (known []string, what string) {
	return o.Factories, "factory of a stateful tool"
}
