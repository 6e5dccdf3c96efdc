package toolspecs

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
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

// kinds maps entry.type to the kind of tool.
var kinds = map[string]kind{
	KindFunction: functionKind{},
	KindStateful: statefulKind{},
	KindCommand:  commandKind{},
	KindREST:     restKind{},
	KindMCP:      mcpKind{},
	KindAgent:    agentKind{},
	KindHuman:    humanKind{},
}

// handled is implemented by kinds whose entry names something that programs register.
type handled interface {
	// handlers returns the registered names, nil if unknown, and what they name.
	handlers(o Options) (known []string, what string)
}

// fileReader is implemented by kinds whose entry names a file.
type fileReader interface {
	// readFiles reads the file that the entry of a spec in file names. The faults are those of the
	// file that it reads.
	readFiles(e *Entry, doc *strictyaml.Document, file string, o Options) Faults
}

// instanced is implemented by kinds whose tools can share an instance.
type instanced interface {
	// instance returns the name of the tool's instance.
	instance(s *Spec) string
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

// handler checks that the worker registers the entry's name.
func (c *checker) handler(e Entry, o Options) {
	k, ok := kinds[e.Type].(handled)
	if !ok {
		return
	}
	known, what := k.handlers(o)
	if known != nil && e.Handler != "" && !slices.Contains(known, e.Handler) {
		c.Add("$.entry.handler", spelling.Hint(e.Handler, known), "no %s is registered as %q", what,
			e.Handler)
	}
}

// checkInstances returns the faults of tools that share an instance and declare it differently.
func checkInstances(specs []Spec) (faults Faults) {
	first := map[string]Spec{}
	for _, s := range specs {
		k, ok := kinds[s.Entry.Type].(instanced)
		if !ok || s.dispatch() != api.DispatchInstance {
			continue
		}
		name := k.instance(&s)
		other, known := first[name]
		if !known {
			first[name] = s
			continue
		}
		for _, field := range []struct{ path, ours, theirs string }{
			{"$.entry.on_loss", string(s.Entry.OnLoss), string(other.Entry.OnLoss)},
			{"$.entry.idle_timeout", s.Entry.IdleTimeout.String(), other.Entry.IdleTimeout.String()},
			{"$.execution.lane", s.Execution.Lane, other.Execution.Lane},
		} {
			if field.ours != field.theirs {
				_, name, _ := strings.Cut(field.path[2:], ".")
				faults = append(faults, s.placed(strictyaml.Finding{Path: field.path,
					Message: fmt.Sprintf("%s is %s, but %s is %s for %s, which shares its session",
						name, field.ours, name, field.theirs, other.Name),
					Hint: "declare the same for all tools of a server"}))
			}
		}
	}
	return faults
}
