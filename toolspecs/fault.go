package toolspecs

import (
	"path"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// Fault is one fault in a file: its place, a message and a hint.
type Fault = strictyaml.Fault

// Faults are all faults of a file or folder. It is an error type for errors.As.
type Faults = strictyaml.Faults

// MaxFileBytes bounds a toolspec file, in bytes.
const MaxFileBytes = 1 << 20

// NewVersionEnding ends the names of the files with a new version of a tool whose file people
// edited. Folders are loaded without them.
const NewVersionEnding = ".new.yaml"

// IsSpecFile reports whether a file of a folder has toolspecs, by its name.
func IsSpecFile(name string) bool {
	ending := path.Ext(name)
	return (ending == ".yaml" || ending == ".yml") && !strings.HasSuffix(name, NewVersionEnding)
}

// Options describe the environment of the toolspecs that are read.
type Options struct {
	// Lanes are the known lanes; nil means only the built-in ones.
	Lanes *lanes.Set
	// Handlers are the names of the registered functions; nil skips the check of handlers.
	Handlers []string
	// Stateful maps the names of the registered stateful types to those of their methods, sorted;
	// nil skips their check.
	Stateful map[string][]string
	// Mode is the argument mode of specs that set none; empty leaves it to the run.
	Mode api.Mode

	// Servers has the servers files that were decoded already; nil decodes them for each toolspec.
	Servers *ServersCache

	// ReadFile reads files that toolspecs name, up to a limit in bytes; default
	// strictyaml.ReadFile.
	ReadFile func(path string, limit int) ([]byte, error)
}

func (o Options) read(path string, limit int) ([]byte, error) {
	if o.ReadFile == nil {
		return strictyaml.ReadFile(path, limit)
	}
	return o.ReadFile(path, limit)
}

// KnownLanes returns the lanes of the options, or the built-in ones.
func (o Options) KnownLanes() *lanes.Set {
	if o.Lanes == nil {
		return lanes.NewSet()
	}
	return o.Lanes
}
