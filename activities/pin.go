package activities

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs/spelling"
)

// Pin fixes the tools of a run as the catalog has them now, and the provider of its model. What keeps the run from
// starting is in the answer's Problems; a tool of a direct call that does not exist is none, because admission says it
// better.
func (a *Activities) Pin(_ context.Context, r switchyard.PinRequest) (switchyard.Packed[switchyard.Pinned], error) {
	var p switchyard.Pinned
	catalog := a.config.Catalog()
	digests := make([]string, 0, len(r.Tools))
	for i, name := range r.Tools {
		compiled, ok := catalog.Get(name)
		if !ok {
			p.Problems = append(p.Problems, unknownTool(r, i, catalog.Near(name))...)
			continue
		}
		tool := compiled.Tool()
		a.specs.put(tool.Digest, compiled)
		p.Catalog.Tools = append(p.Catalog.Tools, tool)
		digests = append(digests, tool.Digest)
	}
	p.Catalog.Digest = switchyard.Digest([]byte(strings.Join(digests, " ")))
	if r.Agent != nil {
		p.Provider, p.Problems = a.provider(r.Agent.Model, p.Problems)
	}
	packed := switchyard.Pack(p)
	a.runs.begin(r.Run, &switchyard.Setup{Agent: r.Agent, Pinned: packed}, r.Messages)
	return packed, nil
}

// unknownTool returns the problems of naming a tool that the catalog does not have, one for each place that names it.
func unknownTool(r switchyard.PinRequest, i int, near []string) []switchyard.Problem {
	message := fmt.Sprintf("no worker's catalog has a tool %q", r.Tools[i])
	if len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	problem := switchyard.Problem{Path: fmt.Sprintf("$.tools[%d]", i), Rule: switchyard.RuleTool, Message: message}
	switch {
	case r.Agent != nil:
		return []switchyard.Problem{problem}
	case r.Plan == nil:
		return nil
	}
	var problems []switchyard.Problem
	for n, c := range r.Plan.Calls {
		if c.Tool == r.Tools[i] {
			problem.Path = fmt.Sprintf("$.calls[%d].tool", n)
			problems = append(problems, problem)
		}
	}
	return problems
}

// provider chooses how the model is reached: as declared, or by the script that the agent brings for a process that
// has no credentials for it.
func (a *Activities) provider(m switchyard.Model, problems []switchyard.Problem) (switchyard.Provider, []switchyard.Problem) {
	model, ok := a.config.Models[m.Provider]
	if !ok {
		known := []string{}
		for p := range a.config.Models {
			known = append(known, string(p))
		}
		slices.Sort(known)
		return m.Provider, append(problems, switchyard.Problem{Path: "$.model.provider", Rule: "enum",
			Message: fmt.Sprintf("no worker reaches models of the provider %q%s; there are: %s", m.Provider,
				spelling.Hint(string(m.Provider), known), strings.Join(known, ", "))})
	}
	err := model.Ready()
	switch {
	case err == nil:
		return m.Provider, problems
	case m.Script != nil && m.Provider != switchyard.ProviderScripted:
		return switchyard.ProviderScripted, problems
	}
	return m.Provider, append(problems, switchyard.Problem{Path: "$.model", Rule: "ready", Message: err.Error()})
}
