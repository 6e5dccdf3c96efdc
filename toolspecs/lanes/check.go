package lanes

import (
	"fmt"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/lanerules"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/templates"
)

// Paths of the two parts of a lanes file.
const (
	lanesPath   = jsonpath.Root + ".lanes"
	bucketsPath = jsonpath.Root + ".buckets"
)

// checker reports faults of lanes beyond the types and bounds declared by the struct tags of
// laneFile.
type checker struct {
	doc *strictyaml.Document
	// lanes are the lanes as written, without defaults; buckets the categories that have one.
	lanes   []api.Lane
	buckets []string
}

func (c *checker) check() {
	for _, l := range c.lanes {
		c.name(l)
		c.builtIn(l)
		c.key(l)
		c.slots(l)
		c.checkStrategy(l)
		c.queueName(l)
	}
	c.categories()
	c.sameQueues()
}

// fieldPath is the path of a lane's rule.
func fieldPath(l api.Lane, field string) string {
	return jsonpath.Key(jsonpath.Key(lanesPath, l.Name), field)
}

// has reports whether a lane has a rule, be it a wrong one.
func (c *checker) has(l api.Lane, field string) bool { return c.doc.Has(fieldPath(l, field)) }

// value reports a fault of a rule's value.
func (c *checker) value(l api.Lane, field, hint, format string, args ...any) {
	c.doc.Report(fieldPath(l, field), fmt.Sprintf(format, args...), hint)
}

// reportMisplaced reports a rule that the lane cannot have.
func (c *checker) reportMisplaced(l api.Lane, field, hint, format string, args ...any) {
	c.doc.ReportKey(fieldPath(l, field), fmt.Sprintf(format, args...), hint)
}

func (c *checker) name(l api.Lane) {
	if err := lanerules.CheckName(l.Name); err != nil {
		c.doc.ReportKey(jsonpath.Key(lanesPath, l.Name), err.Error(), "choose another name")
	}
}

// generalRules are the rules that the general lane may have: none of them holds calls back, because
// it is the workflows' own task queue.
var generalRules = []string{"strategy", "fairness", "queue_timeout", "categories"}

// builtIn checks the built-in lanes.
func (c *checker) builtIn(l api.Lane) {
	const remedy = "give this rule to a lane of another name, and name that lane in the execution.lane of its tools"
	for _, field := range ruleNames {
		switch {
		case !c.has(l, field):
		case l.Name == api.LaneInline:
			c.reportMisplaced(l, field, remedy,
				"the lane inline has no task queue, and therefore no rules")
		case l.Name == api.LaneGeneral && !slices.Contains(generalRules, field):
			c.reportMisplaced(l, field, remedy,
				"the lane general is the workflows' own task queue: it cannot have %s", field)
		}
	}
}

func (c *checker) key(l api.Lane) {
	const remedy = "write {{args.name}} with the name of an argument"
	switch {
	case !c.has(l, "key"):
	case placeholders.HasStray(l.Key) ||
		len(placeholders.Find(l.Key)) > len(templates.Names(l.Key)):
		c.value(l, "key", remedy, "the key has double braces that are not {{args.name}}")
	case len(templates.Names(l.Key)) == 0:
		c.value(l, "key", remedy,
			"the key names no argument, so it would be the same for every call")
	}
}

// slots checks what goes with a limit.
func (c *checker) slots(l api.Lane) {
	switch {
	case l.Name == api.LaneInline || l.Name == api.LaneGeneral:
	case c.hasLimit(l):
		c.holders(l)
	default:
		for _, field := range []string{"holders", "queue_size", "on_lost_lease", "lease"} {
			if c.has(l, field) {
				c.reportMisplaced(l, field, "give the lane a limit, or remove it",
					"%s is for lanes with a limit", field)
			}
		}
	}
}

// holders checks that each holder has something to hold, and that one place decides where that must
// be. Of a keyed lane each key has one.
func (c *checker) holders(l api.Lane) {
	limit := WithDefaults(l).Limit
	switch {
	case l.HasKey() && l.Holders > lanerules.KeyQueues:
		c.value(l, "holders", fmt.Sprintf("write at most %d", lanerules.KeyQueues),
			"holders is %d; the keys of a lane are divided into at most %d groups", l.Holders,
			lanerules.KeyQueues)
	case l.HasKey() || l.Holders <= 1:
	case l.UsesWaitQueue():
		c.value(l, "holders", "remove holders",
			"with queue_size or strategy: reject one holder decides for all calls, so there cannot be %d",
			l.Holders)
	case limit > 0 && l.Holders > limit:
		c.value(l, "holders", "remove holders, or raise the limit",
			"holders is %d and the limit %d: each holder needs a slot", l.Holders, limit)
	}
}

// hasLimit reports whether the lane has a limit, be it a wrong one or one by default.
func (c *checker) hasLimit(l api.Lane) bool {
	return c.has(l, "limit") || c.has(l, "key") || WithDefaults(l).HasLimit()
}

// checkStrategy checks that a lane that rejects waiting calls has a limit.
func (c *checker) checkStrategy(l api.Lane) {
	switch {
	case l.Strategy != api.StrategyReject || l.Name == api.LaneInline:
	case l.Name == api.LaneGeneral || !c.hasLimit(l):
		c.value(l, "strategy", "give the lane a limit, or write priority or fifo",
			"strategy: reject is for lanes with a limit")
	case l.QueueSize != nil:
		c.reportMisplaced(l, "queue_size", "remove one of them",
			"strategy: reject lets no call wait, so there is no queue_size")
	}
}

// categories checks that every category has one default lane at most.
func (c *checker) categories() {
	claimed := map[string]string{}
	for _, l := range c.lanes {
		for i, category := range l.Categories {
			at := jsonpath.Index(fieldPath(l, "categories"), i)
			other, taken := claimed[category]
			if taken && other != l.Name {
				c.doc.Report(at, fmt.Sprintf("the category %s has the lane %q already", category,
					other), "keep one of them")
			}
			claimed[category] = l.Name
		}
	}
	for _, category := range c.buckets {
		c.bucket(category, claimed)
	}
}

func (c *checker) bucket(category string, claimed map[string]string) {
	at := jsonpath.Key(bucketsPath, category)
	other, taken := claimed[category]
	switch {
	case !slices.Contains(Categories, category):
		c.doc.ReportKey(at, fmt.Sprintf("there is no category %q", category),
			spelling.Hint(category, Categories))
	case taken:
		c.doc.ReportKey(at, fmt.Sprintf("the category %s has the lane %q already", category, other),
			"remove the bucket, and give that lane the limit")
	case c.doc.Has(jsonpath.Key(lanesPath, category)):
		c.doc.ReportKey(at, fmt.Sprintf(
			"a bucket is a lane of its category's name, and there is a lane %q already", category),
			"remove the bucket, and give that lane the limit and categories: ["+category+"]")
	}
}
