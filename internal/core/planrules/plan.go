// Package planrules checks plans, orders their calls, and resolves their references to results.
package planrules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
)

const ruleUnique = "unique"

const ruleName = "name"

const ruleReference = "reference"

const ruleDependency = "depends_on"

// Check returns every fault of the plan that shows without a catalog: missing, invalid and repeated
// ids, dangling dependencies and references, cycles. Paths are like $.calls[2].depends_on[0].
func Check(p api.Plan) []api.Problem {
	var problems []api.Problem
	if len(p.Calls) == 0 {
		problems = append(problems, api.Problem{Path: "$.calls", Rule: api.RuleRequired,
			Message: "the plan has no calls"})
	}
	ids := map[string]bool{}
	for i, c := range p.Calls {
		problems = append(problems, checkNames(c, fmt.Sprintf("$.calls[%d]", i), ids)...)
		ids[c.ID] = true
	}
	for i, c := range p.Calls {
		problems = append(problems, check(c, fmt.Sprintf("$.calls[%d]", i), ids)...)
	}
	problems = append(problems, checkOutput(p, ids)...)
	return append(problems, checkCycles(p)...)
}

// checkNames checks id and tool; taken has the ids of the calls before.
func checkNames(c api.PlanCall, path string, taken map[string]bool) []api.Problem {
	var problems []api.Problem
	report := func(rule, field, message string) {
		problems = append(problems, api.Problem{Path: path + field, Rule: rule, Message: message})
	}
	switch err := api.CheckToolName(c.ID); {
	case c.ID == "":
		report(api.RuleRequired, ".id", "the call has no id")
	case err != nil:
		report(ruleName, ".id", err.Error())
	case taken[c.ID]:
		report(ruleUnique, ".id", fmt.Sprintf("another call also has the id %q", c.ID))
	}
	if c.Tool == "" {
		report(api.RuleRequired, ".tool", "the call names no tool")
	}
	return problems
}

func check(c api.PlanCall, path string, ids map[string]bool) []api.Problem {
	var problems []api.Problem
	for j, d := range c.DependsOn {
		if !ids[d] {
			problems = append(problems, api.Problem{Path: fmt.Sprintf("%s.depends_on[%d]", path, j),
				Rule:    ruleDependency,
				Message: fmt.Sprintf("there is no call %q in the plan", d)})
		}
	}
	if len(c.Arguments) == 0 {
		return problems
	}
	value, err := jsonvalue.Decode(c.Arguments)
	if err != nil {
		return append(problems, api.Problem{Path: path + ".arguments", Rule: api.RuleType,
			Message: err.Error()})
	}
	if _, ok := value.(map[string]any); !ok {
		problems = append(problems, api.Problem{Path: path + ".arguments", Rule: api.RuleType,
			Message: "the arguments must be an object"})
	}
	return append(problems, CheckReferences(value, path+".arguments", notInPlan, known(ids))...)
}

func checkOutput(p api.Plan, ids map[string]bool) []api.Problem {
	if len(p.Output) == 0 {
		return nil
	}
	value, err := jsonvalue.Decode(p.Output)
	if err != nil {
		return []api.Problem{{Path: "$.output", Rule: api.RuleType, Message: err.Error()}}
	}
	return CheckReferences(value, "$.output", notInPlan, known(ids))
}

const notInPlan = "that is not in the plan"

func known(ids map[string]bool) func(string) bool {
	return func(id string) bool { return ids[id] }
}

// Needs returns the ids of the calls that c depends on, declared or by reference, each once, in
// order.
func Needs(c api.PlanCall) []string {
	needs := slices.Clone(c.DependsOn)
	for _, r := range References(c) {
		needs = append(needs, r.ID)
	}
	var unique []string
	for _, n := range needs {
		if !slices.Contains(unique, n) {
			unique = append(unique, n)
		}
	}
	return unique
}

// References returns the well-formed references in the call's arguments; none if those are not JSON
// (see Check).
func References(c api.PlanCall) []Reference {
	if len(c.Arguments) == 0 {
		return nil
	}
	value, err := jsonvalue.Decode(c.Arguments)
	if err != nil {
		return nil
	}
	refs, _ := references(value)
	return refs
}

// Sort returns the calls in dependency order, otherwise in the order written. The plan must have
// no problems.
func Sort(p api.Plan) []api.PlanCall {
	var sorted []api.PlanCall
	for _, component := range newGraph(p).components() {
		for _, i := range component {
			sorted = append(sorted, p.Calls[i])
		}
	}
	return sorted
}

// checkCycles reports every set of calls that depend on each other, and every call that depends on
// itself.
func checkCycles(p api.Plan) []api.Problem {
	var problems []api.Problem
	g := newGraph(p)
	report := func(cycle []int) {
		what := "these calls depend on each other: "
		if len(cycle) == 1 {
			what = "the call depends on itself: "
		}
		ids := make([]string, 0, len(cycle)+1)
		for _, i := range append(cycle, cycle[0]) {
			ids = append(ids, p.Calls[i].ID)
		}
		const most = 20
		if len(ids) > most {
			ids = slices.Concat(ids[:most-2], []string{"…"}, ids[len(ids)-1:])
		}
		problems = append(problems, api.Problem{Path: fmt.Sprintf("$.calls[%d].id", cycle[0]),
			Rule:    api.RuleCycle,
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

// graph has, for each call by index, the indices of the calls it depends on. Dependencies on
// unknown calls are left out.
type graph struct {
	needs [][]int
	// order, low and stack are those of Tarjan's algorithm (1972); order counts from 1.
	order, low []int
	waiting    []bool
	stack      []int
	visited    int
	found      [][]int
}

func newGraph(p api.Plan) *graph {
	n := len(p.Calls)
	g := &graph{needs: make([][]int, n), order: make([]int, n), low: make([]int, n),
		waiting: make([]bool, n)}
	index := make(map[string]int, n)
	for i, c := range p.Calls {
		if _, twice := index[c.ID]; !twice {
			index[c.ID] = i
		}
	}
	for i, c := range p.Calls {
		for _, id := range Needs(c) {
			if j, ok := index[id]; ok {
				g.needs[i] = append(g.needs[i], j)
			}
		}
	}
	return g
}

// components returns the strongly connected components, each after those it depends on.
func (g *graph) components() [][]int {
	for i := range g.needs {
		if g.order[i] == 0 {
			g.visit(i)
		}
	}
	return g.found
}

func (g *graph) visit(i int) {
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
func (g *graph) cycle(component []int) []int {
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

// maxFilled bounds a plan with the arguments of a call filled in, in bytes as JSON.
const maxFilled = 1 << 20

// Fill returns the plan with the placeholders {{args.name}} replaced by the validated arguments
// of a call. A string that is one placeholder becomes the value itself, of any type; that of an
// absent argument is left out. Arguments cannot add references to results: those in them become
// plain text, and text that would complete a reference is a validation_error, as is a plan that
// becomes too large.
func Fill(p api.Plan, arguments json.RawMessage) (api.Plan, error) {
	f, err := newFiller(arguments)
	if err != nil {
		return p, err
	}
	filled := p
	filled.Calls = slices.Clone(p.Calls)
	for i := range filled.Calls {
		c := &filled.Calls[i]
		if c.Arguments, err = f.json(c.Arguments, "the arguments of call "+c.ID); err != nil {
			return p, err
		}
		if c.Ask, err = f.plain(c.Ask); err != nil {
			return p, err
		}
	}
	filled.Output, err = f.json(p.Output, "the output")
	return filled, err
}

// filler fills the placeholders of one call. values have their references escaped, asWritten
// has them as the caller wrote them. left is how many bytes the plan may still have.
type filler struct {
	values, asWritten placeholders.Source
	left              int
}

func newFiller(arguments json.RawMessage) (*filler, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	value, err := jsonvalue.Decode(arguments)
	if err != nil {
		return nil, api.Errorf(api.ErrValidation, "the arguments are not JSON: %v", err)
	}
	return &filler{values: placeholders.Source{Decoded: escapeReferences(value)},
		asWritten: placeholders.Source{Decoded: value}, left: maxFilled}, nil
}

// json fills a JSON value; what names it in errors. Nothing remains nothing.
func (f *filler) json(data json.RawMessage, what string) (json.RawMessage, error) {
	if len(data) == 0 {
		return data, nil
	}
	template, err := jsonvalue.Decode(data)
	if err != nil {
		return nil, api.Errorf(api.ErrValidation, "%s of the plan is not JSON: %v", what, err)
	}
	filled, keep, err := f.values.Fill(template)
	if err != nil {
		return nil, api.Errorf(api.ErrValidation, "%s: %v", what, err)
	}
	if !keep {
		filled = nil
	}
	if !slices.Equal(referencesAsWritten(template), referencesAsWritten(filled)) {
		return nil, api.Errorf(api.ErrValidation,
			"an argument would change the references in %s of the plan; pass text without $ at its ends",
			what)
	}
	written, err := jsonvalue.Encode(filled)
	if err == nil {
		err = f.take(len(written))
	}
	return written, err
}

// plain fills a text without references.
func (f *filler) plain(text string) (string, error) {
	value, keep, err := f.asWritten.Fill(text)
	if err != nil || !keep {
		return "", err
	}
	filled := jsonvalue.Text(value)
	return filled, f.take(len(filled))
}

// take counts bytes of the plan.
func (f *filler) take(bytes int) error {
	if f.left -= bytes; f.left < 0 {
		return api.Errorf(api.ErrValidation,
			"the plan with these arguments has more than %d bytes; pass less, or a reference to where the data is",
			maxFilled)
	}
	return nil
}
