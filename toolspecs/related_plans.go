package toolspecs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// effectRank orders effects by how little may be assumed of a repeated call.
var effectRank = map[api.Effect]int{api.EffectRead: 1, api.EffectIdempotent: 2, api.EffectOnce: 3}

// CheckPlans returns the faults between the plan tools among specs and the tools that their plans
// call: unknown tools, arguments that those tools do not accept, a declared effect that is weaker
// than theirs, and plans that call themselves. all are the tools there are; known are names of
// further ones. The error is Faults, at places in the plan's file or the spec's if the spec comes
// from a file.
func CheckPlans(specs, all []Spec, known []string) error {
	c := planChecker{byName: map[string]Spec{}, known: slices.Clone(known)}
	for _, s := range slices.Concat(all, specs) {
		c.byName[s.Name] = s
		c.known = append(c.known, s.Name)
	}
	var faults Faults
	for _, s := range specs {
		if s.plan() != nil {
			faults = append(faults, c.faults(s)...)
		}
	}
	slices.SortStableFunc(faults, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(faults).Err() // several tools may use the same plan
}

// plan returns the plan that the tool runs; nil for tools of other kinds.
func (s Spec) plan() *api.Plan { return s.Entry.Common().Plan }

// planChecker compares plan tools with the tools that they call.
type planChecker struct {
	byName map[string]Spec
	known  []string
}

func (c planChecker) faults(s Spec) Faults {
	if faults := c.unknown(s); len(faults) > 0 {
		return faults
	}
	found := checker{}
	for i, call := range s.plan().Calls {
		if with, ok := c.byName[call.Tool]; ok {
			found.planCall(s, with, i)
		}
	}
	if circle := c.circle(s); circle != nil {
		found.Add("$.entry.plan", "call another tool", "the plan calls itself: %s",
			strings.Join(circle, " → "))
	}
	var faults Faults
	for _, f := range found.All {
		faults = append(faults, s.toFault(f))
	}
	return faults
}

// unknown returns a fault for each call of a tool that there is not.
func (c planChecker) unknown(s Spec) (faults Faults) {
	for _, name := range planTools(s.plan()) {
		if !slices.Contains(c.known, name) {
			faults = append(faults, Fault{File: fmt.Sprintf("toolspec %q", s.Name),
				Message: fmt.Sprintf("its plan calls the tool %q, and there is none", name),
				Hint:    spelling.Hint(name, c.known)})
		}
	}
	entry, _ := s.Entry.Kind.(PlanEntry)
	if len(faults) == 0 || entry.PlanFile == "" {
		return faults
	}
	if _, err := plans.Load(entry.PlanFile, c.known); err != nil {
		return strictyaml.AsFaults(entry.PlanFile, err)
	}
	return faults
}

// planCall checks the ith call of a plan tool against the tool that it calls.
func (c *checker) planCall(s, with Spec, i int) {
	const path = "$.entry.plan"
	call := s.plan().Calls[i]
	if effectRank[with.Execution.Effect] > effectRank[s.Execution.Effect] {
		c.Add("$.execution.effect", "write effect: "+string(with.Execution.Effect),
			"the effect is %s, but call %s of the plan uses %s, whose effect is %s",
			s.Execution.Effect, call.ID, with.Name, with.Execution.Effect)
	}
	given, err := templates.Values(call.Arguments)
	if err != nil {
		return // reported by planrules.Check
	}
	for _, name := range with.requiredArguments() {
		if _, ok := given[name]; !ok {
			c.Add(path, "give it", "call %s of the plan: %s needs the argument %q", call.ID,
				with.Name, name)
		}
	}
	takes := with.inputShape()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !takes.Has(name) && !takes.TakesOthers() && name != api.PlanArgument {
			c.Add(path, spelling.Hint(name, takes.PropertyNames()),
				"call %s of the plan: %s has no parameter %q", call.ID, with.Name, name)
		}
	}
}

// circle returns the names of plan tools from s back to s, each of which calls the next; nil if
// there are none.
func (c planChecker) circle(s Spec) []string {
	visited := map[string]bool{}
	var search func(at Spec, path []string) []string
	search = func(at Spec, path []string) []string {
		path = append(slices.Clip(path), at.Name)
		for _, name := range planTools(at.plan()) {
			if name == s.Name {
				return append(path, name)
			}
			next, ok := c.byName[name]
			if !ok || next.plan() == nil || visited[name] {
				continue
			}
			visited[name] = true
			if found := search(next, path); found != nil {
				return found
			}
		}
		return nil
	}
	return search(s, nil)
}
