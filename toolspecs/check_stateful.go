package toolspecs

import (
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
)

// handler checks that what the entry names is registered with the worker.
func (c *checker) handler(e Entry, o Options) {
	known, what := o.Handlers, "function"
	switch e.Type {
	case api.KindStateful:
		known, what = o.Factories, "factory of a stateful tool"
	case api.KindFunction:
	default:
		return
	}
	if known != nil && e.Handler != "" && !slices.Contains(known, e.Handler) {
		c.Add("$.entry.handler", spelling.Hint(e.Handler, known), "no %s is registered as %q", what, e.Handler)
	}
}
