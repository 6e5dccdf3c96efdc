package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/activities/admission"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/toolspecs"
)

// Pin pins the current catalog versions of a run's tools and of its sub-agents' tools, the current
// policies, and the provider of its model. A sub-agent's run gets its tools and policies as its
// parent run is pinned to them. The answer's Problems list what prevents the run from starting;
// they omit unknown tools of direct calls, which admission reports in more detail.
func (a *Activities) Pin(ctx context.Context, r api.PinRequest) (api.Packed[api.Pinned], error) {
	parent, err := a.parentPinned(ctx, r.Parent)
	if err != nil {
		return api.Packed[api.Pinned]{}, err
	}
	p := pinning{activities: a, catalog: a.config.Catalog(), seen: map[string]bool{},
		parentTools: slices.Concat(parent.Catalog.Tools, parent.DescendantTools)}
	p.tools(r)
	p.Policies = parent.Policies
	if r.Parent == nil {
		p.Policies = a.config.Policies().PinnedPolicies()
	}
	if r.Agent != nil {
		p.Provider, p.Problems = a.provider(r.Agent.Model, p.Problems)
		p.model(r.Agent.Model)
		p.Problems = a.checkPrice(r.Agent, p.Provider, p.Problems)
		p.boundOffers(ctx, r.Agent)
		p.Problems = append(p.Problems, a.config.Hooks.ListMissing(r.Agent)...)
	}
	packed := p.bound()
	a.Conversations.Begin(r.Run, &api.Setup{Agent: r.Agent, Pinned: api.Pack(packed.Value),
		Caller: r.Caller, Queue: r.Queue}, r.Messages)
	return packed, nil
}

// parentPinned returns what the parent run of a sub-agent is pinned to; the zero value for a run
// without a parent.
func (a *Activities) parentPinned(ctx context.Context, parent *api.Parent) (api.Pinned, error) {
	if parent == nil {
		return api.Pinned{}, nil
	}
	setup := a.Conversations.CachedSetup(parent.Run)
	if setup == nil || !pinnedTo(setup.Pinned.Value, parent) {
		setup = &api.Setup{}
		value, err := a.config.Client.QueryWorkflow(ctx, parent.WorkflowID, "", api.SetupQuery)
		if err == nil {
			err = value.Get(setup)
		}
		if err == nil && !servesParent(setup, parent) {
			err = errors.New("its tools or policies are not those of the calling run")
		}
		if err != nil {
			return api.Pinned{}, fmt.Errorf("query the run %s for its tools and policies: %w",
				parent.WorkflowID, err)
		}
	}
	return setup.Pinned.Value, nil
}

// servesParent reports whether a queried setup has what a parent run was pinned to when it made the
// call. The tools of a run whose catalog grows may be more by now.
func servesParent(setup *api.Setup, parent *api.Parent) bool {
	p := setup.Pinned.Value
	return pinnedTo(p, parent) || setup.Grows && p.Policies.Digest == parent.Policies
}

// pinnedTo reports whether p has the tools and policies of a parent run.
func pinnedTo(p api.Pinned, parent *api.Parent) bool {
	return p.Catalog.Digest == parent.Catalog && p.Policies.Digest == parent.Policies
}

// pinning is the state of Pin for one run.
type pinning struct {
	api.Pinned
	activities *Activities
	catalog    *toolspecs.Catalog
	// parentTools are the parent run's tools; they take precedence over the catalog's.
	parentTools []api.Tool
	// seen are the names of the pinned tools.
	seen map[string]bool
	// facts are those of the tools that an agent's list selects from; nil until they are needed.
	facts []toolfacts.Facts
}

// tools pins the tools that the run names, and recursively those of agents and plans among them.
func (p *pinning) tools(r api.PinRequest) {
	digests := make([]string, 0, len(r.Tools))
	var runs []descendant
	for _, s := range p.selectTools(r) {
		compiled, ok := p.find(s.name)
		i := s.place
		if !ok {
			p.Problems = append(p.Problems, unknownTool(r, i, p.catalog.Near(s.name))...)
			continue
		}
		p.seen[s.name] = true
		p.Catalog.Tools = append(p.Catalog.Tools, compiled.Tool())
		digests = append(digests, compiled.Digest)
		runs = append(runs, runsIn(compiled, listPlaces(r, i))...)
	}
	if r.Agent != nil {
		digests = append(digests, p.search(r.Agent)...)
		runs = append(runs, p.checker(r.Agent, []string{"$.checker.tool"},
			func(rule, message string) {
				p.Problems = append(p.Problems, api.Problem{Path: "$.checker.tool", Rule: rule,
					Message: message})
			})...)
	}
	for len(runs) > 0 {
		runs = append(p.pinDescendant(runs[0]), runs[1:]...)
	}
	p.pinCompanions(r)
	for _, t := range p.DescendantTools {
		digests = append(digests, t.Digest)
	}
	p.Catalog.Digest = api.Digest([]byte(strings.Join(digests, " ")))
}

// find returns a tool by name: as the parent run is pinned to it, or else from the catalog.
func (p *pinning) find(name string) (*toolspecs.Compiled, bool) {
	for _, t := range p.parentTools {
		if t.Name == name {
			compiled, err := p.activities.specs.Of(t)
			return compiled, err == nil
		}
	}
	compiled, ok := p.catalog.Get(name)
	if ok {
		p.activities.specs.Put(compiled.Digest, compiled)
	}
	return compiled, ok
}

// descendant is an agent or a plan that is a tool, with the paths in the request through which the
// run reaches it.
type descendant struct {
	tool   string
	agent  *api.Agent
	plan   *api.Plan
	places []string
}

func runsIn(c *toolspecs.Compiled, places []string) []descendant {
	e := c.Spec.Entry.Common()
	if e.Agent == nil && e.Plan == nil {
		return nil
	}
	return []descendant{{tool: c.Spec.Name, agent: e.Agent, plan: e.Plan, places: places}}
}

// name names the agent or plan in messages.
func (d descendant) name() string {
	if d.agent != nil {
		return "the agent " + d.agent.Name
	}
	return "the plan"
}

// entries returns the entries of the agent's list of tools, or the tools that the plan calls.
func (d descendant) entries() (names []string) {
	if d.agent != nil {
		return d.agent.Tools
	}
	for _, c := range d.plan.Calls {
		names = append(names, c.Tool)
	}
	return names
}

// pinDescendant pins the tools of an agent or a plan and returns the agents and plans among them
// that are new.
func (p *pinning) pinDescendant(d descendant) []descendant {
	var below []descendant
	report := func(rule, message string) {
		for _, place := range d.places {
			p.Problems = append(p.Problems, api.Problem{Path: place, Rule: rule,
				Message: fmt.Sprintf("%s of tool %q: %s", d.name(), d.tool, message)})
		}
	}
	names, missing := p.expand(d.entries())
	for _, entry := range missing {
		report(api.RuleTool, noneSelected(entry))
	}
	for _, name := range names {
		if p.seen[name] {
			continue
		}
		compiled, ok := p.find(name)
		if !ok {
			report(api.RuleTool, noTool(name, p.catalog.Near(name)))
			continue
		}
		p.seen[name] = true
		p.DescendantTools = append(p.DescendantTools, compiled.Tool())
		below = append(below, runsIn(compiled, d.places)...)
	}
	if d.agent == nil {
		return below
	}
	below = append(below, p.checker(d.agent, d.places, report)...)
	if _, problems := p.activities.provider(d.agent.Model, nil); len(problems) > 0 {
		report(problems[0].Rule, problems[0].Message)
	}
	for _, problem := range p.activities.config.Hooks.ListMissing(d.agent) {
		report(problem.Rule, problem.Message)
	}
	return below
}

// checker pins the tool that evaluates an agent's runs, and returns it if it is an agent. places
// are the paths in the request through which the run reaches it; report takes a rule and its
// problem.
func (p *pinning) checker(a *api.Agent, places []string,
	report func(rule, message string)) []descendant {
	if a.Checker == nil || p.seen[a.Checker.Tool] {
		return nil
	}
	name := a.Checker.Tool
	compiled, ok := p.find(name)
	if !ok {
		report(api.RuleTool, "the checker: "+noTool(name, p.catalog.Near(name)))
		return nil
	}
	p.seen[name] = true
	p.DescendantTools = append(p.DescendantTools, compiled.Tool())
	return runsIn(compiled, places)
}

// pinCompanions pins the tools whose calls the run itself makes: those that undo or verify calls of
// pinned tools. Their calls are neither undone nor verified, and direct calls are not undone.
func (p *pinning) pinCompanions(r api.PinRequest) {
	for _, t := range slices.Concat(p.Catalog.Tools, p.DescendantTools) {
		if t.Undo != nil && (r.Agent != nil || r.Plan != nil) {
			p.pinCompanion(r, t.Name, "undone", t.Undo.Tool)
		}
		if t.Verify != nil {
			p.pinCompanion(r, t.Name, "verified", t.Verify.Tool)
		}
	}
}

// pinCompanion pins a tool that undoes or verifies the calls of another tool.
func (p *pinning) pinCompanion(r api.PinRequest, tool, what, by string) {
	if p.seen[by] {
		return
	}
	compiled, ok := p.find(by)
	if !ok {
		message := fmt.Sprintf("tool %q is %s by %q: %s", tool, what, by,
			noTool(by, p.catalog.Near(by)))
		p.Problems = append(p.Problems, api.Problem{Path: p.place(r, tool), Rule: api.RuleTool,
			Message: message})
		return
	}
	p.seen[by] = true
	p.DescendantTools = append(p.DescendantTools, compiled.Tool())
}

// place returns the first path at which the run's input names a tool, or the path of all tools for
// a sub-agent's tool.
func (p *pinning) place(r api.PinRequest, name string) string {
	if i := slices.Index(r.Tools, name); i >= 0 {
		return listPlaces(r, i)[0]
	}
	return "$.tools"
}

// maxPinned bounds what a run is pinned to, compressed and in bytes. When the run continues as new,
// its input carries that besides the conversation.
const maxPinned = api.MaxPayload * 3 / 4

// bound returns what the run is pinned to, encoded. What does not fit into history is replaced by a
// problem.
func (p *pinning) bound() api.Packed[api.Pinned] {
	packed, err := api.Pack(p.Pinned).EncodeOnce()
	var message string
	if e, ok := errors.AsType[*api.Error](err); ok {
		message = "the tools and policies of the run are too large; give it fewer tools: " +
			e.Message
	} else if size := packed.Size(); err == nil && size > maxPinned {
		message = fmt.Sprintf("the tools and policies of the run have %d bytes in all, "+
			"compressed; the limit is %d: give it fewer tools", size, maxPinned)
	}
	if message == "" {
		return packed
	}
	p.Catalog.Tools, p.DescendantTools, p.Policies = nil, nil, api.PinnedPolicies{}
	p.Problems = append(p.Problems, api.Problem{Path: "$.tools", Rule: "size", Message: message})
	return api.Pack(p.Pinned)
}

func noTool(name string, near []string) string {
	message := fmt.Sprintf("no worker's catalog has a tool %q", name)
	if len(near) > 0 {
		message += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return message
}

// unknownTool returns a problem for each place that names a tool that the catalog does not have.
func unknownTool(r api.PinRequest, i int, near []string) []api.Problem {
	if r.Agent == nil && r.Plan == nil {
		return nil
	}
	var problems []api.Problem
	for _, place := range listPlaces(r, i) {
		problems = append(problems, api.Problem{Path: place, Rule: api.RuleTool,
			Message: noTool(r.Tools[i], near)})
	}
	return problems
}

// listPlaces returns the paths at which the run's input names a tool.
func listPlaces(r api.PinRequest, i int) []string {
	switch {
	case r.Agent != nil:
		return []string{fmt.Sprintf("$.tools[%d]", i)}
	case r.Plan == nil:
		return []string{"$.call.tool"}
	}
	var places []string
	for n, c := range r.Plan.Calls {
		if c.Tool == r.Tools[i] {
			places = append(places, fmt.Sprintf("$.calls[%d].tool", n))
		}
	}
	return places
}

// model decides to which task queue the steps of a run's model go. Keys are made of arguments, so
// only calls have them.
func (p *pinning) model(m api.Model) {
	lane, known := p.activities.config.Lanes().Lane(m.Lane)
	switch {
	case !known || m.Lane == api.LaneInline:
	case lane.HasKey():
		p.Problems = append(p.Problems, api.Problem{Path: "$.agent.model.lane", Rule: "lane",
			Message: fmt.Sprintf(
				"the lane %s has a queue for each %s, and a model step has no arguments; name a lane without a key",
				lane.Name, lane.Key)})
	default:
		p.Model = admission.RouteFromLane(lane)
		if lane.HasLimit() {
			p.Model.Lease = lane.Lease
		}
	}
}

// checkPrice adds a problem if the agent limits its cost and its model has no price: the limit
// would
// never be reached.
func (a *Activities) checkPrice(agent *api.Agent, by api.Provider,
	problems []api.Problem) []api.Problem {
	known, _ := a.config.ModelTable.Find(agent.Model.Name)
	if agent.Limits.Cost == 0 || by == api.ProviderScripted ||
		cmp.Or(agent.Model.Price, known.Price) != (api.Price{}) {
		return problems
	}
	return append(problems, api.Problem{Path: "$.limits.cost", Rule: "price",
		Message: fmt.Sprintf("the worker knows no price of the model %q, so a limit of the cost would "+
			"have no effect; set model.price in the agent, or --models-file of the worker to a "+
			"table with the model", agent.Model.Name)})
}

// provider chooses how to reach the model: as declared, or with the agent's script if this process
// has no credentials for the model.
func (a *Activities) provider(m api.Model, problems []api.Problem) (api.Provider, []api.Problem) {
	model, ok := a.config.Models[m.Provider]
	if !ok {
		known := []string{}
		for p := range a.config.Models {
			known = append(known, string(p))
		}
		slices.Sort(known)
		return m.Provider, append(problems, api.Problem{Path: "$.model.provider", Rule: "enum",
			Message: fmt.Sprintf("no worker reaches models of the provider %q (%s)",
				m.Provider, spelling.Hint(string(m.Provider), known))})
	}
	err := model.Ready()
	switch {
	case err == nil:
		return m.Provider, problems
	case m.Script != nil && m.Provider != api.ProviderScripted:
		return api.ProviderScripted, problems
	}
	return m.Provider, append(problems, api.Problem{Path: "$.model", Rule: "ready",
		Message: err.Error()})
}
