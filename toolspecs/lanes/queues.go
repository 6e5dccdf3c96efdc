package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/jsonpath"
)

// maxQueue bounds the name of a task queue, so that the part for a key still fits.
const maxQueue = 200

// queueName checks the task queue of a lane.
func (c *checker) queueName(l api.Lane) {
	if !c.has(l, "queue") {
		return
	}
	parts := strings.Split(l.Queue, "/")
	reserved := slices.IndexFunc(parts, func(part string) bool {
		return api.CheckToolName(part) == nil && lanerules.CheckName(part) != nil
	})
	switch {
	case l.Queue == "" || len(l.Queue) > maxQueue || strings.ContainsFunc(l.Queue, isOdd) ||
		slices.Contains(parts, ""):
		c.value(l, "queue", "letters, digits and punctuation without spaces, in parts with / between them",
			"%.80q cannot be a task queue: it has from 1 to %d plain characters and no empty part",
			l.Queue, maxQueue)
	case reserved >= 0:
		c.value(l, "queue", "choose another name",
			"Switchyard has task queues of its own under the name %q", parts[reserved])
	case l.Queue == api.DefaultTaskQueue:
		c.value(l, "queue", "choose another name",
			"%q is the workflows' own task queue, and that of the lane general", l.Queue)
	}
}

func isOdd(r rune) bool { return r <= ' ' || r > '~' }

// sameQueues reports lanes that would share a task queue. The workflows' task queue, from which
// others derive, is unknown here, so every possible conflict is rejected.
func (c *checker) sameQueues() {
	all := c.withQueues()
	for i, l := range all {
		if l.Queue == "" {
			continue
		}
		for j, other := range all {
			if why := describeConflict(l, other, j < i); i != j && why != "" {
				c.value(l, "queue", "give each lane a task queue of its own", "%s", why)
			}
		}
	}
}

// withQueues returns the lanes that have task queues beside that of the workflows.
func (c *checker) withQueues() []api.Lane {
	all := slices.Clone(c.lanes)
	for _, name := range append([]string{api.LaneSerial}, c.buckets...) {
		if !slices.ContainsFunc(all, func(l api.Lane) bool { return l.Name == name }) {
			all = append(all, api.Lane{Name: name})
		}
	}
	return slices.DeleteFunc(all, func(l api.Lane) bool {
		return l.Name == api.LaneGeneral || l.Name == api.LaneInline
	})
}

// describeConflict describes the conflict between a lane's task queue and that of another lane or
// of its
// keys; empty without one. If two lanes set the same queue, the later one has the fault.
func describeConflict(l, other api.Lane, before bool) string {
	if other.Queue == "" {
		return describeDerivedConflict(l.Queue, other)
	}
	if l.Queue == other.Queue && before {
		return fmt.Sprintf("the lane %q has this task queue already", other.Name)
	}
	if other.HasKey() && strings.HasPrefix(l.Queue, other.Queue+"/") {
		return fmt.Sprintf("it is among the task queues of the keys of the lane %q", other.Name)
	}
	return ""
}

// describeDerivedConflict is describeConflict for a lane whose task queue derives from the
// workflows'.
func describeDerivedConflict(queue string, other api.Lane) string {
	if base, ok := strings.CutSuffix(queue, "/"+other.Name); ok {
		return fmt.Sprintf("with %s as the workflows' task queue it is that of the lane %q", base,
			other.Name)
	}
	if base, _, ok := strings.Cut(queue, "/"+other.Name+"/"); ok && other.HasKey() {
		return fmt.Sprintf("with %s as the workflows' task queue it is among those of the keys of the lane %q",
			base, other.Name)
	}
	return ""
}

const movedHint = "give the lane with this rule another name and move its tools there, or edit it while no worker runs and no call waits"

// reportMoved reports lanes whose calls would go to other queues than before. Calls waiting in the
// old
// queue would wait forever, because no worker serves it any longer.
func (c *checker) reportMoved(before *Set) {
	if before == nil {
		return
	}
	for _, l := range c.lanes {
		old, there := before.Lane(l.Name)
		switch place := jsonpath.Key(lanesPath, l.Name); {
		case !there:
		case old.HasKey() != l.HasKey():
			c.doc.ReportKey(place,
				"a lane cannot get a key, or lose its key, while workers serve it: calls waiting in the old queue would wait forever",
				movedHint)
		case old.Queue != l.Queue:
			c.doc.ReportKey(place,
				"a lane cannot change its queue while workers serve it: calls waiting in the old one would wait forever",
				movedHint)
		}
	}
}
