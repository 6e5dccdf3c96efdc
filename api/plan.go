package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Plan is a list of calls that runs without a model.
type Plan struct {
	Name  string     `json:"name,omitempty"`
	Mode  Mode       `json:"mode,omitempty"`
	Calls []PlanCall `json:"calls"`
	// Output is the result of the plan: any JSON value with references to calls. Without it the
	// result is an object, by call id, of the results that no other call refers to or depends on.
	Output json.RawMessage `json:"output,omitempty"`
	// Undo lists the ends of a run after which its calls are undone; default both.
	Undo UndoWhen `json:"undo,omitempty"`
}

// PlanCall is one call of a plan.
type PlanCall struct {
	ID   string `json:"id"`
	Tool string `json:"tool"`
	// Arguments is a JSON object whose strings may refer to results of other calls; a reference is
	// a dependency.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// DependsOn names further calls that must have succeeded first.
	DependsOn []string `json:"depends_on,omitempty"`
	// Priority overrides those of the run and of the tool.
	Priority Priority `json:"priority,omitempty"`
	// Ask, if set, requires approval of the call, whatever its tool and the rules require, and is
	// the reason shown.
	Ask string `json:"ask,omitempty"`
}

// MaxAsk bounds the recorded reason for an approval, in characters.
const MaxAsk = 1000

// Rules in the problems of Plan.Check.
const (
	RuleRequired   = "required"
	ruleUnique     = "unique"
	ruleName       = "name"
	ruleReference  = "reference"
	ruleDependency = "depends_on"
	RuleCycle      = "cycle"
	RuleTool       = "tool"
	RuleType       = "type"
)

// Check returns every fault of the plan that shows without a catalog: missing, invalid and repeated
// ids, dangling dependencies and references, cycles. Paths are like $.calls[2].depends_on[0].
func (p Plan) Check() []Problem {
	var problems []Problem
	if len(p.Calls) == 0 {
		problems = append(problems, Problem{Path: "$.calls", Rule: RuleRequired,
			Message: "the plan has no calls"})
	}
	ids := map[string]bool{}
	for i, c := range p.Calls {
		problems = append(problems, c.checkNames(fmt.Sprintf("$.calls[%d]", i), ids)...)
		ids[c.ID] = true
	}
	for i, c := range p.Calls {
		problems = append(problems, c.check(fmt.Sprintf("$.calls[%d]", i), ids)...)
	}
	problems = append(problems, p.checkOutput(ids)...)
	return append(problems, p.checkCycles()...)
}

// checkNames checks id and tool; taken has the ids of the calls before.
func (c PlanCall) checkNames(path string, taken map[string]bool) []Problem {
	var problems []Problem
	report := func(rule, field, message string) {
		problems = append(problems, Problem{Path: path + field, Rule: rule, Message: message})
	}
	switch err := CheckToolName(c.ID); {
	case c.ID == "":
		report(RuleRequired, ".id", "the call has no id")
	case err != nil:
		report(ruleName, ".id", err.Error())
	case taken[c.ID]:
		report(ruleUnique, ".id", fmt.Sprintf("another call also has the id %q", c.ID))
	}
	if c.Tool == "" {
		report(RuleRequired, ".tool", "the call names no tool")
	}
	return problems
}

func (c PlanCall) check(path string, ids map[string]bool) []Problem {
	var problems []Problem
	for j, d := range c.DependsOn {
		if !ids[d] {
			problems = append(problems, Problem{Path: fmt.Sprintf("%s.depends_on[%d]", path, j),
				Rule:    ruleDependency,
				Message: fmt.Sprintf("there is no call %q in the plan", d)})
		}
	}
	if len(c.Arguments) == 0 {
		return problems
	}
	value, err := DecodeJSON(c.Arguments)
	if err != nil {
		return append(problems, Problem{Path: path + ".arguments", Rule: RuleType,
			Message: err.Error()})
	}
	if _, ok := value.(map[string]any); !ok {
		problems = append(problems, Problem{Path: path + ".arguments", Rule: RuleType,
			Message: "the arguments must be an object"})
	}
	return append(problems, CheckReferences(value, path+".arguments", notInPlan, known(ids))...)
}

func (p Plan) checkOutput(ids map[string]bool) []Problem {
	if len(p.Output) == 0 {
		return nil
	}
	value, err := DecodeJSON(p.Output)
	if err != nil {
		return []Problem{{Path: "$.output", Rule: RuleType, Message: err.Error()}}
	}
	return CheckReferences(value, "$.output", notInPlan, known(ids))
}

const notInPlan = "that is not in the plan"

func known(ids map[string]bool) func(string) bool {
	return func(id string) bool { return ids[id] }
}

// Needs returns the ids of the calls that c depends on, declared or by reference, each once, in
// order.
func (c PlanCall) Needs() []string {
	needs := slices.Clone(c.DependsOn)
	for _, r := range c.References() {
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
// (see Plan.Check).
func (c PlanCall) References() []Reference {
	if len(c.Arguments) == 0 {
		return nil
	}
	value, err := DecodeJSON(c.Arguments)
	if err != nil {
		return nil
	}
	refs, _ := references(value)
	return refs
}

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
		problems = append(problems, Problem{Path: fmt.Sprintf("$.calls[%d].id", cycle[0]),
			Rule:    RuleCycle,
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
	g := &planGraph{needs: make([][]int, n), order: make([]int, n), low: make([]int, n),
		waiting: make([]bool, n)}
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

// maxFilledPlan bounds a plan with the arguments of a call filled in, in bytes as JSON.
const maxFilledPlan = 1 << 20

// Filled returns the plan with the placeholders {{args.name}} replaced by the validated arguments
// of a call. A string that is one placeholder becomes the value itself, of any type; that of an
// absent argument is left out. Arguments cannot add references to results: those in them become
// plain text, and text that would complete a reference is a validation_error, as is a plan that
// becomes too large.
func (p Plan) Filled(arguments json.RawMessage) (Plan, error) {
	f, err := newPlanFiller(arguments)
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

// planFiller fills the placeholders of one call. values have their references escaped, asWritten
// has them as the caller wrote them. left is how many bytes the plan may still have.
type planFiller struct {
	values, asWritten UndoSource
	left              int
}

func newPlanFiller(arguments json.RawMessage) (*planFiller, error) {
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	value, err := DecodeJSON(arguments)
	if err != nil {
		return nil, Errorf(ErrValidation, "the arguments are not JSON: %v", err)
	}
	return &planFiller{values: UndoSource{decoded: escapeReferences(value)},
		asWritten: UndoSource{decoded: value}, left: maxFilledPlan}, nil
}

// json fills a JSON value; what names it in errors. Nothing remains nothing.
func (f *planFiller) json(data json.RawMessage, what string) (json.RawMessage, error) {
	if len(data) == 0 {
		return data, nil
	}
	template, err := DecodeJSON(data)
	if err != nil {
		return nil, Errorf(ErrValidation, "%s of the plan is not JSON: %v", what, err)
	}
	filled, keep, err := f.values.fill(template)
	if err != nil {
		return nil, Errorf(ErrValidation, "%s: %v", what, err)
	}
	if !keep {
		filled = nil
	}
	if !slices.Equal(referencesAsWritten(template), referencesAsWritten(filled)) {
		return nil, Errorf(ErrValidation,
			"an argument would change the references in %s of the plan; pass text without $ at its ends",
			what)
	}
	written, err := EncodeJSON(filled)
	if err == nil {
		err = f.take(len(written))
	}
	return written, err
}

// plain fills a text without references.
func (f *planFiller) plain(text string) (string, error) {
	value, keep, err := f.asWritten.fill(text)
	if err != nil || !keep {
		return "", err
	}
	filled := TextOf(value)
	return filled, f.take(len(filled))
}

// take counts bytes of the plan.
func (f *planFiller) take(bytes int) error {
	if f.left -= bytes; f.left < 0 {
		return Errorf(ErrValidation,
			"the plan with these arguments has more than %d bytes; pass less, or a reference to where the data is",
			maxFilledPlan)
	}
	return nil
}
