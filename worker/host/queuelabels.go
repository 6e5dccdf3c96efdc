package host

import (
	"slices"
	"strings"
	"sync"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// queueLabels says what stands for a task queue in the labels of metrics: its name, but one label for the queues of all
// instances, and one for those of all keys of a lane, because there is no bound on how many come and go.
type queueLabels struct {
	base    string
	current func() *lanes.Set

	mu sync.Mutex
	// seen is the set that keyed was last extended by; keyed has what the queues of keys begin with, of lanes that were
	// configured before too: their last calls may still run.
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
		if prefix := lane.QueueOfPart(l.base, ""); lane.Keyed() && !slices.Contains(l.keyed, prefix) {
			l.keyed = append(slices.Clip(l.keyed), prefix)
		}
	}
	return l.keyed
}
