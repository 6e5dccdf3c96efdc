package api

import (
	"fmt"
	"slices"
	"strings"
)

// Sorted returns the calls in dependency order, otherwise in the order written. The plan must have
// no problems.
func (p Plan) Sorted() []PlanCall {
	var sorted []PlanCall
	for _, component := range newPlanGraph(p).components() {
		for _, i := range component {
			sorted = append(sorted, p.Calls[i])
		}
	}
	return sorted
}

// checkCycles reports every set of calls that depend on each other, and every call that depends on
// itself.
func (p Plan) checkCycles() []Problem {
	var problems []Problem
	g := newPlanGraph(p)
	report := func(cycle []int) {
		what := "these calls wait for each other: "
		if len(cycle) == 1 {
			what = "the call waits for itself: "
		}
		ids := make([]string, 0, len(cycle)+1)
		for _, i := range append(cycle, cycle[0]) {
			ids = append(ids, p.Calls[i].ID)
		}
		const most = 20
		if len(ids) > most {
			ids = slices.Concat(ids[:most-2], []string{"…"}, ids[len(ids)-1:])
		}
		problems = append(problems, Problem{Path: fmt.Sprintf("$.calls[%d].id", cycle[0]), Rule: RuleCycle,
			Message: what + strings.Join(ids, " → ")})
	}
	for _, component := range g.components() {
		if len(component) > 1 {
			report(g.cycle(component))
		}
	}
	for i := range p.Calls {
		if slices.Contains(g.needs[i], i) {
			report([]int{i})
		}
	}
	return problems
}

// planGraph has, for each call by index, the indices of the calls it depends on. Dependencies on
// unknown calls are left out.
type planGraph struct {
	needs [][]int
	// order, low and stack are those of Tarjan's algorithm (1972); order counts from 1.
	order, low []int
	waiting    []bool
	stack      []int
	visited    int
	found      [][]int
}

func newPlanGraph(p Plan) *planGraph {
	n := len(p.Calls)
	g := &planGraph{needs: make([][]int, n), order: make([]int, n), low: make([]int, n), waiting: make([]bool, n)}
	index := make(map[string]int, n)
	for i, c := range p.Calls {
		if _, twice := index[c.ID]; !twice {
			index[c.ID] = i
		}
	}
	for i, c := range p.Calls {
		for _, id := range c.Needs() {
			if j, ok := index[id]; ok {
				g.needs[i] = append(g.needs[i], j)
			}
		}
	}
	return g
}

// components returns the strongly connected components, each after those it depends on.
func (g *planGraph) components() [][]int {
	for i := range g.needs {
		if g.order[i] == 0 {
			g.visit(i)
		}
	}
	return g.found
}

func (g *planGraph) visit(i int) {
	g.visited++
	g.order[i], g.low[i] = g.visited, g.visited
	g.stack, g.waiting[i] = append(g.stack, i), true
	for _, j := range g.needs[i] {
		if g.order[j] == 0 {
			g.visit(j)
			g.low[i] = min(g.low[i], g.low[j])
		} else if g.waiting[j] {
			g.low[i] = min(g.low[i], g.order[j])
		}
	}
	if g.low[i] < g.order[i] {
		return
	}
	at := len(g.stack) - 1
	for g.stack[at] != i {
		at--
	}
	component := slices.Clone(g.stack[at:])
	g.stack = g.stack[:at]
	for _, j := range component {
		g.waiting[j] = false
	}
	g.found = append(g.found, component)
}

// cycle returns a cycle within a component of several calls, from its first call in the plan.
func (g *planGraph) cycle(component []int) []int {
	inside := make(map[int]bool, len(component))
	for _, i := range component {
		inside[i] = true
	}
	var trail []int
	place := map[int]int{}
	for i := slices.Min(component); ; {
		if at, again := place[i]; again {
			trail = trail[at:]
			break
		}
		place[i] = len(trail)
		trail = append(trail, i)
		from := i
		next := slices.IndexFunc(g.needs[from], func(j int) bool { return inside[j] && j != from })
		i = g.needs[from][next]
	}
	first := slices.Index(trail, slices.Min(trail))
	return slices.Concat(trail[first:], trail[:first])
}
