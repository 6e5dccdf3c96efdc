package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/switchyard/switchyard/activities/executor"
	"github.com/switchyard/switchyard/activities/models"
	"github.com/switchyard/switchyard/activities/toolsearch"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/bm25"
	"github.com/switchyard/switchyard/internal/core/callcontext"
	"github.com/switchyard/switchyard/toolspecs"
	"go.temporal.io/sdk/activity"
)

// findExecutor returns the executor of a tool's calls, and whether this worker has one.
func findExecutor(a *Activities, compiled *toolspecs.Compiled) (executor.Executor,
	bool) {
	if compiled.Spec.Name == api.FindTools && toolsearch.Is(compiled.Tool()) {
		return toolFinder{a}, true
	}
	kind, ok := a.config.Executors[compiled.Spec.Entry.Type()]
	return kind, ok
}

// search adds api.FindTools to what the run is pinned to if its model has to search for tools. It
// returns the digests of added tools.
func (p *pinning) search(agent *api.Agent) []string {
	n := len(p.Catalog.Tools)
	switch {
	case agent.Search == api.ToolSearchNever, n == 0,
		agent.Search != api.ToolSearchAlways && n <= api.SearchAbove:
		return nil
	case p.seen[api.FindTools]:
		p.Problems = append(p.Problems, api.Problem{Path: "$.tools", Rule: api.RuleTool,
			Message: fmt.Sprintf("the agent has %d tools, so its model searches for them, and one of "+
				"them has the name %s: rename it, or set tool_search: never", n, api.FindTools)})
		return nil
	}
	spec, err := toolsearch.Spec()
	if err != nil {
		p.Problems = append(p.Problems, api.Problem{Path: "$.tool_search", Rule: api.RuleTool,
			Message: err.Error()})
		return nil
	}
	p.seen[api.FindTools] = true
	p.activities.specs.Put(spec.Digest, spec)
	p.Catalog.Tools = append(p.Catalog.Tools, spec.Tool())
	return []string{spec.Digest}
}

// boundOffers reports that a model without tool search has more tools than its provider accepts,
// and logs that they make each request large.
func (p *pinning) boundOffers(ctx context.Context, agent *api.Agent) {
	n, limit := len(p.Catalog.Tools), p.Provider.MaxOffered()
	switch {
	case toolsearch.In(p.Catalog):
	case limit > 0 && n > limit:
		p.Problems = append(p.Problems, api.Problem{Path: "$.tools", Rule: "size",
			Message: fmt.Sprintf("the agent has %d tools, and models of the provider %s accept %d: "+
				"set tool_search: auto, or select fewer tools", n, p.Provider, limit)})
	case n > api.SearchAbove && activity.IsActivity(ctx):
		activity.GetLogger(ctx).Warn("each model step sends all tools of the agent; with "+
			"tool_search: auto the model searches for them", "agent", agent.Name, "tools", n)
	}
}

// toolFinder executes calls of api.FindTools.
type toolFinder struct{ activities *Activities }

// Execute implements executor.Executor: it searches the tools that the call's run is pinned to.
func (f toolFinder) Execute(ctx context.Context, _ *toolspecs.Spec,
	args json.RawMessage) (executor.Answer, error) {
	call, _ := callcontext.From(ctx)
	setup, err := f.activities.Conversations.Setup(ctx, call.Run,
		func(p api.Pinned) bool { return toolsearch.In(p.Catalog) })
	if err != nil {
		return executor.Answer{}, api.Transient(fmt.Errorf("query the run for its tools: %w", err),
			0)
	}
	catalog := setup.Pinned.Value.Catalog
	offers, err := f.activities.offered.of(f.activities.specs, catalog)
	if err != nil {
		return executor.Answer{}, err
	}
	found, err := toolsearch.Search(f.activities.offered.index(catalog.Digest, offers), offers,
		args)
	if err != nil {
		return executor.Answer{}, err
	}
	output, err := json.Marshal(found)
	answer := executor.Answer{Output: output}
	if len(found.Tools) == 0 {
		answer.Notes = []string{"no tool has any of these words; try others"}
	}
	return answer, err
}

// index returns the search index of the offers of a catalog.
func (o *offers) index(digest string, offers []models.Offer) *bm25.Index {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.indexes[digest]; ok {
		return known
	}
	if len(o.indexes) >= maxIndexes {
		clear(o.indexes)
	}
	made := toolsearch.Index(offers)
	o.indexes[digest] = made
	return made
}

// maxIndexes bounds the number of cached indexes. That of 2,000 tools has some megabytes.
const maxIndexes = 16
