package host

import (
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// queueLabels maps task queues to labels of metrics: a queue to its name, the queues of all
// instances to one label, and the queues of all keys of a lane to one label. Instances and keys are
// unbounded.
type queueLabels struct {
	base    string
	current func() *lanes.Set

	mu sync.Mutex
	// seen is the last set that extended keyed. keyed has the prefixes of the queues of keys,
	// including those of removed lanes, whose last calls may still run.
	seen  *lanes.Set
	keyed []string
}

func (l *queueLabels) of(queue string) string {
	if api.IsInstanceQueue(queue) {
		return "instance"
	}
	for _, prefix := range l.prefixes() {
		if strings.HasPrefix(queue, prefix) {
			return prefix + "key"
		}
	}
	return queue
}

func (l *queueLabels) prefixes() []string {
	set := l.current()
	l.mu.Lock()
	defer l.mu.Unlock()
	if set == l.seen {
		return l.keyed
	}
	l.seen = set
	for _, lane := range set.All() {
		if prefix := lane.QueueOfPart(l.base, ""); lane.Keyed() && !slices.Contains(l.keyed,
			prefix) {
			l.keyed = append(slices.Clip(l.keyed), prefix)
		}
	}
	return l.keyed
}
