package toolspecs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// The kinds of tools.
const (
	// KindFunction is a stateless Go function that the worker registers.
	KindFunction = "function"
	// KindStateful is a Go type with one instance per run.
	KindStateful = "stateful"
	// KindCommand is a program.
	KindCommand = "command"
	// KindREST is an HTTP API, by configuration only.
	KindREST = "rest"
	// KindMCP is a tool of an MCP server, by configuration only.
	KindMCP = "mcp"
	// KindAgent is another agent, a sub-agent with a run of its own.
	KindAgent = "agent"
	// KindHuman is a question to a person.
	KindHuman = "human"
	// KindPlan is a plan, whose calls run in a run of their own.
	KindPlan = "plan"
)

// kind is a kind of tool: one value of entry.type. A new kind is a file with a type that implements
// kind, one entry of kinds and, for its fields, the tag kinds in Entry. Its executor is a package
// below activities/executor and one entry of the executors of worker/host. Nothing else depends on
// the kind: runs and the audit depend on its dispatch.
type kind interface {
	// setDefaults fills in the defaults of the kind. The defaults of all kinds follow.
	setDefaults(s *Spec)
	// check reports the faults of a spec with defaults filled in.
	check(c *checker, s Spec)
	// dispatch returns how runs execute calls of a tool with that entry, defaults filled in.
	dispatch(e Entry) api.Dispatch
}

// handled is implemented by kinds whose entry names something that programs register.
type handled interface {
	// registered checks that the program of the options registers what an entry names.
	registered(c *checker, e Entry, o Options)
}

// fileReader is implemented by kinds whose entry names a file.
type fileReader interface {
	// readFiles reads the file that the entry of a spec in file names. The faults are those of the
	// file that it reads.
	readFiles(e *Entry, doc *strictyaml.Document, file string, o Options) Faults
}

// instanced is implemented by kinds with tools whose calls run on instances.
type instanced interface {
	// instance returns the name of the instance that the tool shares with others; empty for the
	// tool's own instance.
	instance(s *Spec) string
	// hostWithin returns how long calls wait for a worker of the lane that hosts the instance; zero
	// as long as the run lasts.
	hostWithin(lane string) api.Duration
}

// dispatch returns how runs execute calls of the tool. Its kind must be known.
func (s *Spec) dispatch() api.Dispatch { return kinds[s.Entry.Type].dispatch(s.Entry) }

// takesSlots reports whether calls of a tool take slots of a lane.
func takesSlots(e Entry) bool {
	k, known := kinds[e.Type]
	return known && k.dispatch(e).TakesSlots()
}

// slotKinds returns the names of the kinds whose calls can take slots of a lane, sorted.
func slotKinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool {
		return !takesSlots(Entry{Type: name, Session: SessionShared})
	})
}

// withoutSlots names a tool's calls in messages about what is only for calls that take slots, with
// the hint to the remedy.
func withoutSlots(e Entry, hint string) (what, remedy string) {
	if e.Type == KindMCP {
		return "MCP tools with a session of the run",
			"write session: shared if the server keeps no state, or " + hint
	}
	return "the kind " + e.Type, hint
}

// scheduled reports whether a run schedules the calls of a tool as activities, so that it can
// schedule them again, verify them, and make them itself.
func scheduled(e Entry) bool {
	k, known := kinds[e.Type]
	return known && k.dispatch(e).Schedules()
}

// scheduledKinds returns the names of the kinds whose calls are scheduled, sorted.
func scheduledKinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)),
		func(name string) bool { return !scheduled(Entry{Type: name}) })
}

// handler checks that the worker registers what the entry names.
func (c *checker) handler(e Entry, o Options) {
	if k, ok := kinds[e.Type].(handled); ok {
		k.registered(c, e, o)
	}
}

// named checks that a name at path is registered. what says what it names.
func (c *checker) named(path, what, name string, known []string) {
	if !slices.Contains(known, name) {
		c.Add(path, spelling.Hint(name, known), "no %s is registered as %q", what, name)
	}
}

// instanceFact is something that all tools of an instance declare equally.
type instanceFact struct{ path, value string }

// instanced returns the kind of a tool whose calls run on instances; nil for other tools.
func (s Spec) instanced() instanced {
	k, known := kinds[s.Entry.Type]
	if !known || k.dispatch(s.Entry) != api.DispatchInstance {
		return nil
	}
	return k.(instanced)
}

// instanceFacts returns the facts of the instance that serves the tool; nil for other tools.
func (s Spec) instanceFacts() []instanceFact {
	if s.instanced() == nil {
		return nil
	}
	e := s.Entry
	return []instanceFact{
		{"$.entry.type", e.Type},
		{"$.entry.handler", e.Handler},
		{"$.entry.secrets", fmt.Sprint(e.Secrets)},
		{"$.entry.on_loss", string(e.OnLoss)},
		{"$.entry.idle_timeout", e.IdleTimeout.String()},
		{"$.entry.scope", string(cmp.Or(e.Scope, api.ScopeRun))},
		{"$.execution.lane", s.Execution.Lane},
	}
}

// InstanceName returns the name of the instance that serves the tool: the shared one, or else the
// tool's own, which has its name. It is empty for tools without instances.
func (s Spec) InstanceName() string {
	k := s.instanced()
	if k == nil {
		return ""
	}
	return cmp.Or(k.instance(&s), s.Name)
}

// CheckInstances returns the faults of tools that share an instance and declare it differently.
func CheckInstances(specs []Spec) (faults Faults) {
	first := map[string]Spec{}
	for _, s := range specs {
		name := s.InstanceName()
		if name == "" {
			continue
		}
		other, known := first[name]
		if !known {
			first[name] = s
			continue
		}
		theirs := other.instanceFacts()
		for i, fact := range s.instanceFacts() {
			if fact.value != theirs[i].value {
				faults = append(faults, s.contradicts(other, fact, theirs[i].value))
			}
		}
	}
	return faults
}

// contradicts returns the fault of a tool that declares a fact of its instance otherwise than
// another tool does.
func (s Spec) contradicts(other Spec, fact instanceFact, theirs string) Fault {
	field := fact.path[strings.LastIndex(fact.path, ".")+1:]
	message := fmt.Sprintf("%s is %s, but it is %s for %s%s, which shares the instance %s", field,
		fact.value, theirs, other.Name, other.placeOf(fact.path), s.InstanceName())
	if field == "secrets" {
		message = fmt.Sprintf("secrets differ from those of %s%s, which shares the instance %s",
			other.Name, other.placeOf(fact.path), s.InstanceName())
	}
	return s.placed(strictyaml.Finding{Path: fact.path, Message: message,
		Hint: "declare the same for all tools of an instance, or name another instance"})
}

// placeOf returns where a part of the spec is written; empty if it comes from no file.
func (s Spec) placeOf(path string) string {
	if at, ok := s.places[path]; ok {
		return fmt.Sprintf(" at %s:%d:%d", at.file, at.line, at.column)
	}
	return ""
}
