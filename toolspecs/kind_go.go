package toolspecs

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// functionKind is the kind of tools that are Go functions registered by the worker.
type functionKind struct{}

func (functionKind) setDefaults(s *Spec) { s.Entry.Handler = cmp.Or(s.Entry.Handler, s.Name) }

func (functionKind) check(*checker, Spec) {}

func (functionKind) dispatch(Entry) api.Dispatch { return api.DispatchLane }

func (functionKind) registered(c *checker, e Entry, o Options) {
	if o.Handlers != nil && e.Handler != "" {
		c.named("$.entry.handler", "function", e.Handler, o.Handlers)
	}
}

// statefulKind is the kind of tools that are methods of Go objects with state for a run.
type statefulKind struct{}

func (statefulKind) setDefaults(s *Spec) {
	s.Entry.Handler = cmp.Or(s.Entry.Handler, s.Entry.Instance, s.Name)
	// Calls of an instance run on its own queue and never delay other calls, whatever their access.
	s.Execution.Lane = cmp.Or(s.Execution.Lane, api.LaneGeneral)
	s.instanceDefaults()
}

// instanceDefaults fills in the defaults of tools whose calls run on instances.
func (s *Spec) instanceDefaults() {
	e, x := &s.Entry, &s.Execution
	e.OnLoss = cmp.Or(e.OnLoss, api.OnLossFail)
	e.IdleTimeout = cmp.Or(e.IdleTimeout, defaultIdleTimeout)
	if x.Effect == api.EffectRead && !e.Closes {
		x.Access = cmp.Or(x.Access, api.AccessShared)
	}
	x.Access = cmp.Or(x.Access, api.AccessExclusive)
	if cmp.Or(x.Effect, api.EffectOnce) != api.EffectOnce {
		x.Heartbeat = cmp.Or(x.Heartbeat, defaultStatefulHeartbeat)
	}
}

func (statefulKind) check(c *checker, s Spec) {
	if name := s.Entry.Instance; name != "" && api.CheckToolName(name) != nil {
		c.Add("$.entry.instance", "use at most 64 letters, digits, _ and -",
			"%q cannot name an instance", name)
	}
	c.closes(s)
}

// closes checks a tool whose calls close their instance.
func (c *checker) closes(s Spec) {
	if s.Entry.Closes && s.Execution.Access == api.AccessShared {
		c.Add("$.execution.access", "remove it",
			"a call that closes its instance overlaps no other call of the instance")
	}
}

func (statefulKind) dispatch(Entry) api.Dispatch { return api.DispatchInstance }

func (statefulKind) instance(s *Spec) string { return s.Entry.Instance }

func (statefulKind) hostWithin(string) api.Duration { return 0 }

func (statefulKind) registered(c *checker, e Entry, o Options) {
	if o.Stateful == nil || e.Handler == "" {
		return
	}
	path := "$.entry.handler"
	if e.Handler == e.Instance {
		path = "$.entry.instance"
	}
	methods, known := o.Stateful[e.Handler]
	if !known {
		c.named(path, "stateful type", e.Handler, slices.Sorted(maps.Keys(o.Stateful)))
	} else if _, fault := e.StatefulMethod(methods); fault != nil {
		c.All = append(c.All, *fault)
	}
}

// StatefulMethod returns which of the methods of the registered type executes the calls of a
// stateful tool, or why there is none.
func (e Entry) StatefulMethod(methods []string) (string, *strictyaml.Finding) {
	var c strictyaml.Findings
	switch {
	case slices.Contains(methods, e.Method):
		return e.Method, nil
	case e.Method != "":
		c.Add("$.entry.method", spelling.Hint(e.Method, methods), "the stateful type %q has no method %q",
			e.Handler, e.Method)
	case len(methods) == 1:
		return methods[0], nil
	default:
		c.Add("$.entry", "write method: and one of "+strings.Join(methods, ", "),
			"the stateful type %q has %d methods, and the entry names none", e.Handler,
			len(methods))
	}
	return "", &c.All[0]
}
