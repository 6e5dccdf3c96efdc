package toolspecs

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// The kinds of tools that programs register.
const (
	// KindFunction is a stateless Go function.
	KindFunction = "function"
	// KindStateful is a Go type with one instance per run.
	KindStateful = "stateful"
)

const (
	// defaultStatefulHeartbeat is that of stateful tools whose calls are safe to repeat. A false
	// alarm loses the instance, and a late one blocks the run.
	defaultStatefulHeartbeat = api.Duration(15 * time.Second)
	defaultIdleTimeout       = api.Duration(10 * time.Minute)
)

// FunctionEntry is the entry of tools that call Go functions which the worker registers.
//
// The function gets the idempotency key of the call and the fencing number of its slot as Key and
// Fence of tool.CallFromContext(ctx). Any error is a failure, tool.Transient(err, after) a
// transient one.
type FunctionEntry struct {
	// Handler names the function; default the tool's name.
	Handler string `json:"handler,omitempty" yaml:"handler"`
	// Secrets maps names to references, env:NAME or file:/path. The function calls tool.Secret.
	// Their values are redacted in the tool's results and errors.
	Secrets map[string]string `json:"secrets,omitempty" yaml:"secrets" rule:"secret"`
	// AnswerWithin allows tool.Ask, and bounds the wait for a person's answer.
	AnswerWithin api.Duration `json:"answer_within,omitzero" yaml:"answer_within" rule:"above=0s,max=8760h"`
}

// Name implements Kind.
func (FunctionEntry) Name() string { return KindFunction }

// Common implements Kind.
func (e FunctionEntry) Common() Common {
	return Common{Handler: e.Handler, Secrets: e.Secrets, AnswerWithin: e.AnswerWithin}
}

func (e FunctionEntry) withDefaults(s *Spec) Kind {
	e.Handler = cmp.Or(e.Handler, s.Name)
	return e
}

func (e FunctionEntry) check(c *checker, _ Spec) { c.environment(nil, nil, e.Secrets) }

func (FunctionEntry) dispatch() api.Dispatch { return api.DispatchLane }

// checkHandler implements handled.
func (e FunctionEntry) checkHandler(c *checker, o Options) {
	if o.Handlers != nil && e.Handler != "" {
		c.checkRegistered("$.entry.handler", "function", e.Handler, o.Handlers)
	}
}

// StatefulEntry is the entry of tools that call methods of Go objects which hold state for a run.
//
// The method gets the idempotency key of the call and the number of its instance, for fencing, as
// Key and Generation of tool.CallFromContext(ctx). Any error is a failure, tool.Transient(err,
// after) a
// transient one.
type StatefulEntry struct {
	// Handler names the stateful type; default Instance, or else the tool's name.
	Handler string `json:"handler,omitempty" yaml:"handler"`
	// Secrets are those of a FunctionEntry.
	Secrets map[string]string `json:"secrets,omitempty" yaml:"secrets" rule:"secret"`
	// Instance is the name of the instance that tools of a run share; empty for the tool's own
	// instance.
	Instance string `json:"instance,omitempty" yaml:"instance"`
	// OnLoss is what follows the loss of the instance's worker: fail (the default) or recreate.
	OnLoss api.OnLoss `json:"on_loss,omitempty" yaml:"on_loss" rule:"enum=fail|recreate"`
	// IdleTimeout is the time without calls after which an instance is closed; default 10m.
	IdleTimeout api.Duration `json:"idle_timeout,omitzero" yaml:"idle_timeout" rule:"min=1s,max=24h"`
	// Scope is run (the default) or conversation: whether each run has its own instance, or the
	// runs of a conversation use one after the other.
	Scope api.Scope `json:"scope,omitempty" yaml:"scope" rule:"enum=run|conversation"`
	// Closes says that a successful call closes the instance.
	Closes bool `json:"closes,omitempty" yaml:"closes"`
	// Method is the method of the type; default the only one.
	Method string `json:"method,omitempty" yaml:"method"`
	// AnswerWithin is that of a FunctionEntry.
	AnswerWithin api.Duration `json:"answer_within,omitzero" yaml:"answer_within" rule:"above=0s,max=8760h"`
}

// Name implements Kind.
func (StatefulEntry) Name() string { return KindStateful }

// Common implements Kind.
func (e StatefulEntry) Common() Common {
	return Common{Handler: e.Handler, Secrets: e.Secrets, AnswerWithin: e.AnswerWithin,
		Instance: InstanceFields{OnLoss: e.OnLoss, IdleTimeout: e.IdleTimeout, Scope: e.Scope,
			Closes: e.Closes}}
}

func (e StatefulEntry) withDefaults(s *Spec) Kind {
	e.Handler = cmp.Or(e.Handler, e.Instance, s.Name)
	e.OnLoss = cmp.Or(e.OnLoss, api.OnLossFail)
	e.IdleTimeout = cmp.Or(e.IdleTimeout, defaultIdleTimeout)
	// Calls of an instance run on its own queue and never delay other calls, whatever their access.
	s.Execution.Lane = cmp.Or(s.Execution.Lane, api.LaneGeneral)
	s.instanceDefaults(e.Closes)
	return e
}

// instanceDefaults fills in how calls on instances are executed by default. closes says that a call
// closes its instance.
func (s *Spec) instanceDefaults(closes bool) {
	x := &s.Execution
	if x.Effect == api.EffectRead && !closes {
		x.Access = cmp.Or(x.Access, api.AccessShared)
	}
	x.Access = cmp.Or(x.Access, api.AccessExclusive)
	if cmp.Or(x.Effect, api.EffectOnce) != api.EffectOnce {
		x.Heartbeat = cmp.Or(x.Heartbeat, defaultStatefulHeartbeat)
	}
}

func (e StatefulEntry) check(c *checker, s Spec) {
	c.environment(nil, nil, e.Secrets)
	if name := e.Instance; name != "" && api.CheckToolName(name) != nil {
		c.Add("$.entry.instance", "use at most 64 letters, digits, _ and -",
			"%q cannot name an instance", name)
	}
	c.closes(e.Closes, s)
}

// closes checks a tool whose calls close their instance, if closes is set.
func (c *checker) closes(closes bool, s Spec) {
	if closes && s.Execution.Access == api.AccessShared {
		c.Add("$.execution.access", "remove it",
			"a call that closes its instance overlaps no other call of the instance")
	}
}

func (StatefulEntry) dispatch() api.Dispatch { return api.DispatchInstance }

func (e StatefulEntry) instance() string { return e.Instance }

func (StatefulEntry) hostWithin(string) api.Duration { return 0 }

// checkHandler implements handled.
func (e StatefulEntry) checkHandler(c *checker, o Options) {
	if o.Stateful == nil || e.Handler == "" {
		return
	}
	path := "$.entry.handler"
	if e.Handler == e.Instance {
		path = "$.entry.instance"
	}
	methods, known := o.Stateful[e.Handler]
	if !known {
		c.checkRegistered(path, "stateful type", e.Handler, slices.Sorted(maps.Keys(o.Stateful)))
	} else if _, fault := e.SelectMethod(methods); fault != nil {
		c.All = append(c.All, *fault)
	}
}

// SelectMethod returns which of the methods of the registered type executes the tool's calls, or
// why there is none.
func (e StatefulEntry) SelectMethod(methods []string) (string, *strictyaml.Finding) {
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
