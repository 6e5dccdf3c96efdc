package toolspecs

import (
	"maps"
	"slices"

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
	// dispatch returns how runs execute calls of the kind.
	dispatch() api.Dispatch
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

// takesSlots reports whether calls of a kind take slots of a lane.
func takesSlots(name string) bool {
	k, known := kinds[name]
	return known && k.dispatch().TakesSlots()
}

// slotKinds returns the names of the kinds whose calls take slots of a lane, sorted.
func slotKinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)),
		func(name string) bool { return !takesSlots(name) })
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
