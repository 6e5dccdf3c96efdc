package toolspecs

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/toolspecs/lanes"
)

// usualLane returns the default lane of a tool that names none and whose category has none. The
// calls of an instance order themselves.
func (e ExecutionSpec) usualLane(entry Entry) string {
	if e.Access == api.AccessExclusive && entry.takesSlots() {
		return api.LaneSerial
	}
	return api.LaneGeneral
}

// onLane moves a spec that named no lane to the lane of its category, if there is one. The spec has
// its defaults and may be moved again.
func (s Spec) onLane(known *lanes.Set) Spec {
	if !s.Execution.laneless {
		return s
	}
	s.Execution.Lane = s.Execution.usualLane(s.Entry)
	if lane, ok := known.ForCategory(s.Category); ok && s.Category != "" {
		s.Execution.Lane = lane
	}
	return s
}

// lane checks that the tool's lane exists and that its key can be formed.
func (c *checker) lane(s Spec, known *lanes.Set) {
	name := s.Execution.Lane
	lane, there := known.Lane(name)
	if !there {
		names := known.Names()
		hint := spelling.Hint(name, names)
		if len(spelling.Near(name, names, 1)) == 0 {
			hint += "; name it in lanes.yaml, or serve it with worker --lanes " + name +
				", or correct the name"
		}
		c.Add("$.execution.lane", hint, "there is no lane %q", name)
	}
	c.checkLaneKey(s, lane)
}

// checkLaneKey checks that calls of a tool can form the key of its lane.
func (c *checker) checkLaneKey(s Spec, lane api.Lane) {
	if !s.Entry.takesSlots() {
		return
	}
	for _, argument := range templates.Names(lane.Key) {
		c.laneKey(s, argument)
	}
}

// laneKey checks an argument that is part of a lane's key.
func (c *checker) laneKey(s Spec, argument string) {
	of := "the lane " + s.Execution.Lane
	if s.Execution.laneless {
		of += ", that of its category " + s.Category + ","
	}
	declared := s.argumentNames()
	switch {
	case !slices.Contains(declared, argument):
		hint := "declare it, or name another lane in execution.lane"
		if near := spelling.Near(argument, declared, 1); len(near) > 0 {
			hint = "call " + near[0] + " so, or name another lane in execution.lane"
		}
		c.Add("$.execution.lane", hint,
			"%s has a queue for each {{args.%s}}, but the tool has no such argument", of, argument)
	case s.hides(argument):
		c.Add("$.execution.lane", "name another lane in execution.lane",
			"%s has a queue for each {{args.%s}}, but the argument is sensitive: its values would appear in task queue names",
			of, argument)
	}
}

// hides reports whether an argument is or contains a sensitive value.
func (s Spec) hides(argument string) bool {
	return s.inputShape().Property(argument).Hides()
}

// inline checks a tool whose calls run inside the workflow task of their run.
func (c *checker) inline(s Spec) {
	const another = "or choose another lane"
	e := s.Execution
	if e.Lane != api.LaneInline {
		return
	}
	if !s.Entry.takesSlots() {
		what, hint := withoutSlots(s.Entry, "choose another lane")
		c.Add("$.execution.lane", hint, "the lane inline does not run calls of %s; it runs %s",
			what, strings.Join(slotKinds(), ", "))
		return
	}
	if e.Effect != api.EffectRead {
		c.Add("$.execution.effect", "write effect: read where that is true, "+another,
			"the effect is %s, but the lane inline requires read: a crash repeats its calls",
			e.Effect)
	}
	if e.Access == api.AccessExclusive {
		c.Add("$.execution.access", "write access: shared where that is true, "+another,
			"calls on the lane inline have no order, so they cannot be exclusive")
	}
	if e.Timeout > maxInlineTimeout {
		c.Add("$.execution.timeout", "shorten it, "+another,
			"timeout is %s; the maximum on the lane inline is %s, because a call blocks its run",
			e.Timeout, maxInlineTimeout)
	}
	if s.Entry.Common().AnswerWithin > 0 {
		c.Add("$.entry.answer_within", "remove it, "+another,
			"a call on the lane inline cannot ask a person, because it blocks its run")
	}
	if e.QueueTimeout > 0 {
		c.Add("$.execution.queue_timeout", "remove it, "+another,
			"calls on the lane inline are not queued, so they have no queue_timeout")
	}
}
