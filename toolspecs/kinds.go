package toolspecs

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/outbound"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Kind is a kind of tool: the struct of the fields that its entries have besides type, with their
// json, yaml and rule tags, and what follows from them. A new kind is a file with such a struct and
// one line in kinds; its executor is a package and one line in the executors of worker/host.
// Nothing else depends on the kind: runs and the audit depend on its dispatch.
type Kind interface {
	// Name returns the value of entry.type.
	Name() string
	// Common returns what is read of the entries of all kinds.
	Common() Common
	// withDefaults returns the entry with the defaults of the kind filled in, and sets defaults in
	// other parts of its spec. The defaults of all kinds follow.
	withDefaults(s *Spec) Kind
	// check reports the faults of a spec with this entry, defaults filled in.
	check(c *checker, s Spec)
	// dispatch returns how runs execute calls of a tool with this entry, defaults filled in.
	dispatch() api.Dispatch
}

// Common has the fields of an entry that are read whatever the kind; each is zero for kinds that do
// not have it.
type Common struct {
	// Handler names the Go function or the stateful type.
	Handler string
	// Env lists the environment variables that the tool's programs get.
	Env []string
	// Secrets maps names to references. Their values are redacted in results and errors, as that of
	// Auth is.
	Secrets map[string]string
	Auth    *outbound.Auth
	// Address is the URL of the tool's server, and Allow lists non-public hosts that it may be at.
	Address string
	Allow   []string
	// Server is a name of the servers file.
	Server string
	// ServerDefaults is set if the tool's server fills in the defaults of its input schema.
	ServerDefaults bool
	// AnswerWithin bounds the wait for a person's answer; zero if calls cannot ask.
	AnswerWithin api.Duration
	// Instance has the properties of the instance of kinds whose calls run on one.
	Instance InstanceFields
	// Agent or Plan is what the run of a call executes.
	Agent *api.Agent
	Plan  *api.Plan
}

// InstanceFields are the fields of entries whose calls run on an instance.
type InstanceFields struct {
	OnLoss      api.OnLoss
	IdleTimeout api.Duration
	Scope       api.Scope
	Closes      bool
	// AsksAlone is set if a call that may ask a person needs the instance to itself.
	AsksAlone bool
}

// handled is implemented by kinds whose entry names something that programs register.
type handled interface {
	// checkHandler checks that the program of the options registers what the entry names.
	checkHandler(c *checker, o Options)
}

// fileReader is implemented by kinds whose entry names a file.
type fileReader interface {
	// readFiles returns the entry of a spec in file with the content of the file that it names. The
	// faults are those of the file that it reads.
	readFiles(doc *strictyaml.Document, file string, o Options) (Kind, Faults)
}

// instanced is implemented by kinds with tools whose calls run on instances.
type instanced interface {
	// instance returns the name of the instance that the tool shares with others; empty for the
	// tool's own instance.
	instance() string
	// hostWithin returns how long calls wait for a worker of the lane that hosts the instance; zero
	// as long as the run lasts.
	hostWithin(lane string) api.Duration
}

// slotChooser is implemented by kinds whose entry decides whether calls take slots of a lane.
type slotChooser interface {
	// withoutSlots names calls that take none in messages, and says what to write for calls that
	// do.
	withoutSlots() (what, remedy string)
}

// outsideDescriber is implemented by kinds whose entry shows whether calls have effects outside.
type outsideDescriber interface {
	// describeOutside says why calls of the tool have effects outside, and why its results may have
	// been written by others; empty if the entry does not show that.
	describeOutside(s Spec) (writes, reads string)
}

// digestSplitter is implemented by kinds whose entry has a part that does not always have the same
// JSON.
type digestSplitter interface {
	// splitForDigest returns the entry without the part, and what is digested of the part; nil for
	// none.
	splitForDigest() (rest Kind, part any)
}
