package specfiles

import (
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/starter/cli"
	"github.com/switchyard/switchyard/toolspecs"
)

func UnknownTool(a *cli.App, catalog *toolspecs.Catalog, name, dir string) error {
	hint := "List them: " + a.Connection.Program() + " tools list"
	if dir != "" {
		hint += " --tools " + dir
	}
	if near := catalog.Near(name); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, ", ") + "? " + hint
	}
	return cli.Errorf(cli.ExitUsage, "there is no tool %q\n%s", name, hint)
}

// ServedLanes returns the lanes that should have a worker: the general lane, named lanes, and the
// tools' lanes. It returns faults of the lanes file or the folder together with the lanes known
// despite them.
func (c *Flags) ServedLanes() ([]string, error) {
	c.UseDefault()
	catalog, err := c.LoadSkippingInvalid()
	if catalog == nil {
		return nil, err
	}
	lanes := c.AllLanes()
	seen := map[string]bool{api.LaneInline: true} // it has no task queue
	for _, l := range lanes {
		seen[l] = true
	}
	for _, tool := range catalog.All() {
		if lane := tool.Spec.Execution.Lane; !seen[lane] {
			seen[lane] = true
			lanes = append(lanes, lane)
		}
	}
	return lanes, err
}
