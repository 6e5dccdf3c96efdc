package lanes

import (
	"reflect"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// maxFileBytes bounds a lanes file.
const maxFileBytes = 1 << 20

// Categories are the kinds of work that a tool may declare. A category may have a default lane.
var Categories = []string{"http", "database", "file", "ai", "notification", "custom"}

// lanesFile is a lanes file as written.
type lanesFile struct {
	Lanes map[string]laneFile `yaml:"lanes"`
	// Buckets are limits by category, each a lane of that name.
	Buckets map[string]int `yaml:"buckets" rule:"min=1,max=100000" hint:"leave the bucket away for no limit"`
}

// laneFile is api.Lane with the rules that files are held to.
type laneFile struct {
	Name         string           `yaml:"-"`
	Queue        string           `yaml:"queue"`
	Limit        int              `yaml:"limit" rule:"min=1,max=100000" hint:"omit limit for no limit"`
	Holders      int              `yaml:"holders" rule:"min=1,max=64"`
	Key          string           `yaml:"key"`
	QueueSize    *int             `yaml:"queue_size" rule:"min=0,max=100000"`
	Strategy     api.Strategy     `yaml:"strategy" rule:"enum=priority|fifo|reject"`
	QueueTimeout api.Duration     `yaml:"queue_timeout" rule:"min=1ms,max=8760h" hint:"omit queue_timeout to wait for as long as the run lasts"`
	Rate         float64          `yaml:"rate" rule:"min=0.01,max=1000000" hint:"omit rate for no bound"`
	Bypass       []api.CallerType `yaml:"bypass" rule:"enum=agent|plan|session|direct"`
	Categories   []string         `yaml:"categories"`
	Fairness     api.Fairness     `yaml:"fairness" rule:"enum=conversation|caller|none"`
	OnLostLease  api.OnLostLease  `yaml:"on_lost_lease" rule:"enum=exit|wait"`
	Lease        api.Duration     `yaml:"lease" rule:"min=2s,max=10m"`
}

// ruleNames are the names of all rules that a lane can have.
var ruleNames = namesOfRules()

func namesOfRules() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[laneFile]()) {
		if name := f.Tag.Get("yaml"); name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// Decode reads a lanes file: lanes by name with their rules, and buckets, the limits of categories.
// The set holds the lanes that always exist too. The error is strictyaml.Faults and lists
// everything that is wrong in the file.
func Decode(file string, data []byte) (*Set, error) { return decode(file, data, nil) }

// decode is Decode of a file that has been edited while the lanes before were in effect; nil for
// one that has not.
func decode(file string, data []byte, before *Set) (*Set, error) {
	doc, faults := strictyaml.ParseOne(file, data, maxFileBytes)
	if err := faults.Err(); err != nil {
		return nil, err
	}
	var f lanesFile
	doc.Decode(&f)
	given := f.inOrder(doc)
	c := &checker{doc: doc, lanes: given, buckets: doc.Keys(bucketsPath)}
	c.check()
	c.reportMoved(before)
	if err := doc.Faults().Err(); err != nil {
		return nil, err
	}
	for _, category := range c.buckets {
		given = append(given, api.Lane{Name: category, Limit: f.Buckets[category],
			Categories: []string{category}})
	}
	return NewSet(given...), nil
}

// inOrder returns the lanes in the order of the file.
func (f lanesFile) inOrder(doc *strictyaml.Document) []api.Lane {
	var given []api.Lane
	for _, name := range doc.Keys(lanesPath) {
		l := api.Lane(f.Lanes[name])
		l.Name = name
		given = append(given, l)
	}
	return given
}

// Load reads the lanes file at path, as Decode does. That it cannot be read is a fault too.
func Load(path string) (*Set, error) {
	data, err := read(path)
	if err != nil {
		return nil, err
	}
	return Decode(path, data)
}

func read(path string) ([]byte, error) { return strictyaml.ReadFile(path, maxFileBytes) }

// ReadNames returns the names of the lanes in the file at path, even if it has other faults, so
// that
// further checks can continue. An unreadable file gives none.
func ReadNames(path string) []string {
	data, err := read(path)
	if err != nil {
		return nil
	}
	return decodeNames(path, data)
}

func decodeNames(file string, data []byte) []string {
	doc, faults := strictyaml.ParseOne(file, data, maxFileBytes)
	if len(faults) > 0 {
		return nil
	}
	return append(doc.Keys(lanesPath), doc.Keys(bucketsPath)...)
}
