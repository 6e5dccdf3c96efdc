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

// lanesFile is a lanes file as written. The comments and tags of its fields, and of laneFile, are
// the tables of docs/lanes-file.md.
type lanesFile struct {
	// Lanes are the lanes by name; {} is a lane without rules. A name has letters, digits, _ and -,
	// at most 64 characters; bypass, host_instance, instance, slots and worker are reserved.
	Lanes map[string]laneFile `yaml:"lanes"`
	// Buckets are limits by category. Each entry declares a lane that has the category's name and
	// is the default of its tools.
	Buckets map[string]int `yaml:"buckets" rule:"min=1,max=100000" hint:"leave the bucket away for no limit"`
}

// laneFile is api.Lane with the rules that files are held to.
type laneFile struct {
	Name string `yaml:"-"`
	// Queue is the lane's task queue, 1 to 200 printable ASCII characters without spaces, which no
	// other lane has; default the workflows' task queue followed by /NAME. With a Key, the lane has
	// 16 task queues, and a number is appended to each name.
	Queue string `yaml:"queue"`
	// Limit is the number of calls that run at a time, over all workers; with a Key, for each key.
	// Without it, each worker runs as many calls as it can; default 1 for a lane with a Key, and
	// for serial.
	Limit int `yaml:"limit" rule:"min=1,max=100000" hint:"omit limit for no limit"`
	// Holders is the number of groups into which the slots or keys are divided: at most the Limit,
	// or 16 with a Key. One worker at a time holds a group. Default 4, also with a Key; the Limit
	// if that is less and there is no Key; 1 with QueueSize or reject.
	Holders int `yaml:"holders" rule:"min=1,max=64"`
	// Key is a template over the arguments of a call, with at least one {{args.name}}. Every tool
	// of the lane declares these arguments, and none of them is sensitive.
	Key string `yaml:"key"`
	// QueueSize is the number of calls that may wait; with a Key, for each key. Further calls fail
	// at once as queue_full. Default no bound; 1,000 with a Key.
	QueueSize *int `yaml:"queue_size" rule:"min=0,max=100000"`
	// Strategy is the order of waiting calls. priority, the default: urgent calls overtake others.
	// fifo: order of arrival. reject: calls do not wait.
	Strategy api.Strategy `yaml:"strategy" rule:"enum=priority|fifo|reject"`
	// QueueTimeout bounds the wait of calls whose tool sets no bound; default as long as their run
	// lasts.
	QueueTimeout api.Duration `yaml:"queue_timeout" rule:"min=1ms,max=8760h" hint:"omit queue_timeout to wait for as long as the run lasts"`
	// Rate is the number of starts per second, over all workers; with a Key, for each key. Default
	// no bound.
	Rate float64 `yaml:"rate" rule:"min=0.01,max=1000000" hint:"omit rate for no bound"`
	// Bypass lists the callers whose calls are exempt from the lane's rules; default none.
	Bypass []api.CallerType `yaml:"bypass" rule:"unique,enum=agent|plan|session|direct"`
	// Categories are those whose tools use this lane unless they name another, each on one lane
	// only.
	Categories []string `yaml:"categories" rule:"unique,enum=http|database|file|ai|notification|custom"`
	// Fairness is what shares the slots equally: conversations, the default, callers, or neither.
	Fairness api.Fairness `yaml:"fairness" rule:"enum=conversation|caller|none"`
	// OnLostLease is what a worker does when its lease expires and a call does not stop: end its
	// own process, the default, or wait for the call.
	OnLostLease api.OnLostLease `yaml:"on_lost_lease" rule:"enum=exit|wait"`
	// Lease is how long a worker may use its slots after its last confirmed heartbeat; default 15s.
	Lease api.Duration `yaml:"lease" rule:"min=2s,max=10m"`
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
