package toolspecs

import (
	"fmt"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// specFile is a toolspec as written in YAML, including the alternative keys that Spec does not
// have.
type specFile struct {
	Spec
	Execution executionFile `yaml:"execution"`
}

type executionFile struct {
	ExecutionSpec
	// Parallelizable is another form of Access: true is shared, false exclusive.
	Parallelizable *bool `yaml:"parallelizable"`
	// Retry has max_attempts, initial_interval, backoff and max_interval; default 3, 200ms, 2 and
	// 10s. Calls with the effect once have one attempt, and reads of REST and MCP tools are spread
	// over 30 s.
	Retry retryFile `yaml:"retry"`
}

// retryFile is api.Retry with the validation rules of files.
type retryFile struct {
	MaxAttempts     int          `yaml:"max_attempts" rule:"min=1,max=1000"`
	InitialInterval api.Duration `yaml:"initial_interval" rule:"above=0s,max=1h"`
	Backoff         float64      `yaml:"backoff" rule:"min=1,max=100"`
	MaxInterval     api.Duration `yaml:"max_interval" rule:"above=0s,max=24h"`
}

// Decode reads a toolspec file with one YAML document per tool. The specs have all defaults filled
// in. The error is Faults and lists every fault of the file.
func Decode(file string, data []byte, o Options) ([]Spec, error) {
	located, faults := DecodeLocated(file, data, o)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	specs := make([]Spec, len(located))
	for i, l := range located {
		specs[i] = l.Spec
	}
	return specs, nil
}

// Located is a spec with the place of its name.
type Located struct {
	Spec         Spec
	File         string
	Line, Column int

	checked checkedSchemas
}

// Compile is Spec.Compile for a spec that was decoded without faults: it does not check again.
func (l Located) Compile() (*Compiled, error) { return l.Spec.compile(l.checked) }

// Fault returns a fault at the place of the spec's name.
func (l Located) Fault(message, hint string) Fault {
	return Fault{File: l.File, Line: l.Line, Column: l.Column, Message: message, Hint: hint}
}

// ConflictWith returns the fault of a spec whose name the spec other already has.
func (l Located) ConflictWith(other Located) Fault {
	return l.Fault(fmt.Sprintf("there is another tool %q, at %s:%d:%d", l.Spec.Name, other.File,
		other.Line, other.Column), hintTaken)
}

// ConflictWithWorker returns the fault of a spec that has the name of another tool of the worker.
func (l Located) ConflictWithWorker() Fault {
	return l.Fault(fmt.Sprintf("there is another tool %q, which the worker provides", l.Spec.Name),
		"rename it: starter tools import takes --prefix")
}

// DecodeLocated is Decode with the place of each spec's name. It returns valid specs together with
// the faults.
func DecodeLocated(file string, data []byte, o Options) ([]Located, Faults) {
	docs, faults := strictyaml.Parse(file, data, MaxFileBytes)
	var specs []Located
	for _, doc := range docs {
		l := Located{File: file}
		l.Line, l.Column = doc.Position("$.name")
		agentFaults := l.decode(doc, o)
		faults = append(append(faults, doc.Faults()...), agentFaults...)
		specs = append(specs, l)
	}
	return specs, append(faults, FindDuplicates(specs)...)
}

// FindDuplicates returns the faults of tools that have the name of an earlier tool.
func FindDuplicates(specs []Located) Faults {
	var faults Faults
	first := map[string]Located{}
	for _, l := range specs {
		name := l.Spec.Name
		if other, ok := first[name]; ok && name != "" {
			faults = append(faults, l.ConflictWith(other))
			continue
		}
		first[name] = l
	}
	return faults
}

// decode reads the spec. The returned faults are those of an agent file that it names.
func (l *Located) decode(doc *strictyaml.Document, o Options) Faults {
	if reportOther(doc) {
		return nil
	}
	var f specFile
	reportMisplaced(doc)
	doc.Decode(&f)
	f.takeServer(doc, l.File, o)
	s := f.Spec
	var faults Faults
	if k, ok := s.Entry.Kind.(fileReader); ok {
		s.Entry.Kind, faults = k.readFiles(doc, l.File, o)
	}
	s.Execution = f.Execution.ExecutionSpec
	s.Execution.Retry = api.Retry(f.Execution.Retry)
	f.Execution.readParallelizable(doc, &s.Execution)
	if s.Execution.Arguments == "" {
		s.Execution.Arguments = o.Mode
	}
	s = s.withDefaults().onLane(o.KnownLanes())
	s.keepPlaces(doc, l.File)
	c := checker{}
	c.spec(s)
	c.surroundings(s, o)
	doc.ReportAll(c.All)
	l.Spec, l.checked = s, c.checked
	return faults
}

// readParallelizable sets access from its alternative spelling, the key parallelizable.
func (f executionFile) readParallelizable(doc *strictyaml.Document, into *ExecutionSpec) {
	p := f.Parallelizable
	if p == nil {
		return
	}
	access := api.AccessExclusive
	if *p {
		access = api.AccessShared
	}
	if into.Access != "" && into.Access != access {
		doc.Report("$.execution.parallelizable",
			fmt.Sprintf("parallelizable: %t contradicts access: %s", *p, into.Access),
			"give only access")
	}
	into.Access = access
}

// otherFiles lists the top-level keys that identify other kinds of files.
var otherFiles = []struct{ key, what string }{{"$.model", "an agent"}, {"$.steps", "a script"},
	{"$.calls", "a plan"},
	{"$.servers", "a servers file, whose name must be servers.yaml"},
	{"$.lanes", "a lanes file"}, {"$.buckets", "a lanes file"}, {"$.policies[0].when",
		"a file of policies"}}

// reportOther reports a file of another kind in a folder of toolspecs.
func reportOther(doc *strictyaml.Document) bool {
	for _, other := range otherFiles {
		if doc.Has(other.key) && !doc.Has("$.entry") {
			doc.Report("$", "this is "+other.what+", not a toolspec",
				"keep such files outside of the folder of toolspecs, beside it")
			return true
		}
	}
	return false
}

// hintTaken is the hint of faults about duplicate tool names.
const hintTaken = "rename or remove one of them"
