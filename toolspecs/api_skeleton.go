package toolspecs

import (
	"encoding/json"
	"errors"

	"github.com/switchyard/switchyard"
)

var errNotBuilt = errors.New("not built yet")

// Fault is one thing wrong in a file.
type Fault struct {
	File          string
	Line, Column  int
	Message, Hint string
}

// Faults are all things wrong in a file or folder; it is an error.
type Faults []Fault

func (f Fault) String() string { return f.Message }
func (f Faults) Error() string { return "" }

// Options say what surrounds the specs.
type Options struct {
	Lanes    []string
	Handlers []string
	Mode     switchyard.Mode
}

// Query selects tools.
type Query struct {
	Category, Tag string
	Status        switchyard.Status
	NamePart      string
}

// Catalog is a set of compiled tools.
type Catalog struct{}

// Compiled is a spec ready for use.
type Compiled struct {
	Spec   Spec
	Digest string
}

func Decode(file string, data []byte, o Options) ([]Spec, error)           { return nil, errNotBuilt }
func Load(dir string, o Options) (*Catalog, error)                         { return nil, errNotBuilt }
func NewCatalog(specs []Spec) (*Catalog, error)                            { return nil, errNotBuilt }
func Shipped() []Spec                                                      { return nil }
func (c *Catalog) Get(name string) (*Compiled, bool)                       { return nil, false }
func (c *Catalog) All() []*Compiled                                        { return nil }
func (c *Catalog) Select(q Query) []*Compiled                              { return nil }
func (c *Catalog) Near(name string) []string                               { return nil }
func (c *Catalog) Active() []string                                        { return nil }
func (c *Catalog) Merge(other *Catalog) (*Catalog, error)                  { return nil, errNotBuilt }
func (s Spec) Compile() (*Compiled, error)                                 { return nil, errNotBuilt }
func (c *Compiled) Tool() switchyard.Tool                                  { return switchyard.Tool{} }
func FromTool(t switchyard.Tool) (*Compiled, error)                        { return nil, errNotBuilt }
func (c *Compiled) InputSchema() json.RawMessage                           { return nil }
func (c *Compiled) OutputSchema() json.RawMessage                          { return nil }
func (c *Compiled) CheckOutput(value json.RawMessage) []switchyard.Problem { return nil }
func (c *Compiled) Summary(args json.RawMessage) string                    { return "" }
func CanonicalJSON(text string) (json.RawMessage, error)                   { return nil, errNotBuilt }
func (c *Compiled) Arguments(text string, mode switchyard.Mode) (args json.RawMessage, notes []string, problems []switchyard.Problem) {
	return nil, nil, nil
}
func DecodeAgent(file string, data []byte, known []string) (*switchyard.Agent, error) {
	return nil, errNotBuilt
}
func LoadAgent(path string, known []string) (*switchyard.Agent, error) { return nil, errNotBuilt }
func DecodePlan(file string, data []byte, known []string) (*switchyard.Plan, error) {
	return nil, errNotBuilt
}
func LoadPlan(path string, known []string) (*switchyard.Plan, error) { return nil, errNotBuilt }
func DecodeScript(file string, data []byte, known []string) (*switchyard.Script, error) {
	return nil, errNotBuilt
}
func LoadScript(path string, known []string) (*switchyard.Script, error) { return nil, errNotBuilt }
