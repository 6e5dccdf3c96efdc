package turn

import (
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
	"github.com/switchyard/switchyard/workflows/smallmap"
)

// Tools are the tools that a run's calls may name, by name. They are those that the run is pinned
// to, not copies of them, and must not be changed.
type Tools struct{ smallmap.Map[*api.Tool] }

// Add adds tools, except those whose names are taken.
func (t *Tools) Add(tools []api.Tool) {
	for i := range tools {
		if name := tools[i].Name; t.Get(name) == nil {
			t.Set(name, &tools[i])
		}
	}
}

// Of returns the tool of that name; the zero value if there is none.
func (t *Tools) Of(name string) api.Tool {
	if tool := t.Get(name); tool != nil {
		return *tool
	}
	return api.Tool{}
}

// Under returns the tool of that name with the bounds of an execution plan, which may be nil.
func (t *Tools) Under(name string, plan *api.ExecutionPlan) *api.Tool {
	if tool := t.Get(name); tool != nil && plan == nil {
		return tool
	}
	bounded := policyrules.LimitTool(t.Of(name), plan)
	return &bounded
}
