package activities

import (
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/toolsearch"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/toolspecs"
)

// selectedTool is a tool that a run is pinned to, and the index of the entry that selects it.
type selectedTool struct {
	name  string
	place int
}

// selectTools returns the tools that the run names or that its agent selects, each once. An entry
// that
// selects none is reported.
func (p *pinning) selectTools(r api.PinRequest) []selectedTool {
	var all []selectedTool
	added := map[string]bool{}
	for i, entry := range r.Tools {
		if r.Agent == nil {
			all = append(all, selectedTool{entry, i})
			continue
		}
		names, missing := p.expand([]string{entry})
		if len(missing) > 0 {
			p.Problems = append(p.Problems, api.Problem{Path: fmt.Sprintf("$.tools[%d]", i),
				Rule: api.RuleTool, Message: noneSelected(entry)})
		}
		for _, name := range names {
			if !added[name] {
				added[name] = true
				all = append(all, selectedTool{name, i})
			}
		}
	}
	return all
}

// expand returns the tools that the entries of an agent's list name or select, each once: those of
// the parent run if there is one, else active ones of the catalog, sorted for each entry. missing
// are the entries that select none.
func (p *pinning) expand(entries []string) (names, missing []string) {
	added := map[string]bool{}
	add := func(name string) {
		if !added[name] {
			added[name] = true
			names = append(names, name)
		}
	}
	for _, entry := range entries {
		if !toolfacts.SelectsTools(entry) {
			add(entry)
			continue
		}
		found := false
		for _, f := range p.selectable() {
			if toolfacts.Selects(f, entry) {
				found = true
				add(f.Name)
			}
		}
		if !found {
			missing = append(missing, entry)
		}
	}
	return names, missing
}

// selectable returns the facts of the tools that entries select from, sorted by name.
func (p *pinning) selectable() []toolfacts.Facts {
	if p.facts != nil {
		return p.facts
	}
	all := p.catalog.All()
	if len(p.parentTools) > 0 {
		all = p.ofParent()
	}
	p.facts = []toolfacts.Facts{}
	for _, c := range all {
		if s := c.Spec; s.Status != api.StatusDisabled {
			p.facts = append(p.facts, s.Facts())
		}
	}
	slices.SortFunc(p.facts,
		func(a, b toolfacts.Facts) int { return strings.Compare(a.Name, b.Name) })
	return p.facts
}

// ofParent returns the tools of the parent run, without api.FindTools.
func (p *pinning) ofParent() (all []*toolspecs.Compiled) {
	for _, t := range p.parentTools {
		if compiled, err := p.activities.specs.Of(t); err == nil && !toolsearch.Is(t) {
			all = append(all, compiled)
		}
	}
	return all
}

func noneSelected(entry string) string {
	return fmt.Sprintf("no tool of the workers is selected by %q", entry)
}
