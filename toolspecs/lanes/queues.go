package lanes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
)

// maxQueue bounds a task queue's name, so that there is room for the part that stands for a key.
const maxQueue = 200

// queueName checks a lane's own task queue by itself.
func (c *checker) queueName(l api.Lane) {
	if !c.given(l, "queue") {
		return
	}
	parts := strings.Split(l.Queue, "/")
	reserved := slices.IndexFunc(parts, func(part string) bool {
		return api.CheckToolName(part) == nil && api.CheckLaneName(part) != nil
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

// sameQueues reports lanes that would have a task queue in common. The workflows' task queue, from
// which others derive, is not known here: what could be one of them with any is refused.
func (c *checker) sameQueues() {
	all := c.withQueues()
	for i, l := range all {
		if l.Queue == "" {
			continue
		}
		for j, other := range all {
			if why := shared(l, other, j < i); i != j && why != "" {
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

// shared says how a lane's own task queue is another lane's too, or lies among those of its keys;
// empty if it does not. Of two lanes with the same own queue the later one has the fault.
func shared(l, other api.Lane, before bool) string {
	if other.Queue == "" {
		return derived(l.Queue, other)
	}
	if l.Queue == other.Queue && before {
		return fmt.Sprintf("the lane %q has this task queue already", other.Name)
	}
	if other.Keyed() && strings.HasPrefix(l.Queue, other.Queue+"/") {
		return fmt.Sprintf("it lies among the task queues of the keys of the lane %q", other.Name)
	}
	return ""
}

// derived is shared for another lane whose task queue derives from the workflows'.
func derived(queue string, other api.Lane) string {
	if base, ok := strings.CutSuffix(queue, "/"+other.Name); ok {
		return fmt.Sprintf("with %s as the workflows' task queue it is that of the lane %q", base,
			other.Name)
	}
	if base, _, ok := strings.Cut(queue, "/"+other.Name+"/"); ok && other.Keyed() {
		return fmt.Sprintf("with %s as the workflows' task queue it lies among those of the keys of the lane %q",
			base, other.Name)
	}
	return ""
}

const movedHint = "give the lane with this rule another name and move its tools there, or edit it while no worker runs and no call waits"

// moved reports lanes whose calls would go to other queues than those before: calls that wait would
// wait for ever, because nobody serves the old queue any more.
func (c *checker) moved(before *Set) {
	if before == nil {
		return
	}
	for _, l := range c.lanes {
		old, there := before.Lane(l.Name)
		switch place := jsonpath.Key(lanesPath, l.Name); {
		case !there:
		case old.Keyed() != l.Keyed():
			c.doc.ReportKey(place,
				"a lane cannot get a key, or lose its key, while workers serve it: calls that wait in the old queue would wait for ever",
				movedHint)
		case old.Queue != l.Queue:
			c.doc.ReportKey(place,
				"a lane cannot change its queue while workers serve it: calls that wait in the old one would wait for ever",
				movedHint)
		}
	}
}
