package policies

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"cel.dev/cel-go/common/ast"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/policyrules"
)

// Subject is a tool as warnings about rules see it.
type Subject struct {
	Tool Tool
	// Writes says why calls of the tool have effects outside, such as "POST to a REST API"; empty
	// if nothing shows that. Reads says why its results may have been written by others.
	Writes, Reads string
	// Undo is the tool that undoes its calls; empty for none.
	Undo string
}

// Warning is something that may be wrong with rules that have no fault.
type Warning struct {
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// Warnings returns what may be wrong with the rules in relation to the tools: tools whose toolspecs
// and table lack the labels that rules use, undo tools that a rule would stop, approvals by
// everyone that clear labels, and rules that contradict each other.
func (s *Set) Warnings(tools []Subject) (warnings []Warning) {
	if s.readsAny(nameTool + ".effects") {
		warnings = append(warnings, without("effects", tools, func(t Subject) string {
			if len(t.Tool.Effects) > 0 {
				return ""
			}
			return t.Writes
		}, "has effects outside", "[external_write]")...)
	}
	if s.readsAny(nameLabels) {
		warnings = append(warnings, without("emits", tools, func(t Subject) string {
			if len(t.Tool.Emits) > 0 {
				return ""
			}
			return t.Reads
		}, "returns what others may have written", "[untrusted]")...)
	}
	return slices.Concat(warnings, s.stoppedUndo(tools), s.openClearings(), s.shadowed(tools))
}

// readsAny reports whether an expression of a rule reads a name.
func (s *Set) readsAny(name string) bool {
	return slices.ContainsFunc(s.list(), func(r rule) bool { return r.readsAny([]string{name}) })
}

// without warns of tools that lack a field for a reason.
func without(field string, tools []Subject, reason func(Subject) string, what,
	example string) (warnings []Warning) {
	for _, t := range tools {
		if why := reason(t); why != "" {
			warnings = append(warnings, Warning{
				Message: fmt.Sprintf("tool %s %s (%s) and has no %s, so no rule about them "+
					"matches it", t.Tool.Name, what, why, field),
				Hint: fmt.Sprintf("labels: [{tools: [%s], %s: %s}]", t.Tool.Name, field, example)})
		}
	}
	return warnings
}

// stoppedUndo warns of tools that undo calls and that a rule would stop if agents called them:
// undo calls are not checked.
func (s *Set) stoppedUndo(tools []Subject) (warnings []Warning) {
	var labels []string
	byName := map[string]Tool{}
	for _, t := range tools {
		labels, byName[t.Tool.Name] = append(labels, t.Tool.Emits...), t.Tool
	}
	for _, t := range tools {
		undo, known := byName[t.Undo]
		if t.Undo == "" || !known {
			continue
		}
		if names := s.stops(undo, labels); len(names) > 0 {
			warnings = append(warnings, Warning{
				Message: fmt.Sprintf("calls of %s that undo calls of %s are not checked, although "+
					"the policy %s would stop other calls of it", t.Undo, t.Tool.Name,
					strings.Join(names, ", ")),
				Hint: fmt.Sprintf("let the rules stop %s too, or undo it with another tool",
					t.Tool.Name)})
		}
	}
	return warnings
}

// stops returns the rules that deny or ask about calls of a tool: those that name it, and those
// that match a call without arguments in a run with the labels.
func (s *Set) stops(t Tool, labels []string) (names []string) {
	f := &Facts{Tool: t, Labels: labels, Now: noon, Caller: Caller{Type: string(api.CallerAgent)},
		Budget: BudgetOf(api.Limits{}, api.Usage{}, 0)}
	for _, r := range s.list() {
		if r.Then != api.PolicyDeny && r.Then != api.PolicyAsk || len(r.Agents) > 0 {
			continue
		}
		holds := slices.Contains(r.Tools, t.Name)
		if len(r.Tools) == 0 && r.condition != nil {
			holds, _ = r.holds(newValues(f, r.condition.adapt)) // one that fails may not match
		}
		if holds {
			names = append(names, r.Name)
		}
	}
	return names
}

// openClearings warns of rules whose approvals clear labels and may come from anybody.
func (s *Set) openClearings() (warnings []Warning) {
	for _, r := range s.list() {
		if len(r.Clears) > 0 && len(r.Approvers) == 0 {
			warnings = append(warnings, Warning{
				Message: fmt.Sprintf("an approval by rule %s clears %s, and everyone but the "+
					"caller may give it", r.Name, policyrules.Clearings(r.Clears)),
				Hint: "name approvers, such as approvers: [{role: approver}]"})
		}
	}
	return warnings
}

// How many calls are tried for one rule and for all, and how many of them a rule must match before
// something is said about it.
const (
	maxTried    = 1000
	maxAllTried = 100_000
	leastTried  = 10
)

// shadowed warns of rules that contradict others: wherever one matched among calls that were made
// up from the literals in the rules, another one denied the call, or allowed what it asks about.
func (s *Set) shadowed(tools []Subject) (warnings []Warning) {
	if s.Len() == 0 {
		return nil
	}
	trials := newTrials(s.rules, tools)
	for i := range s.rules {
		r := &s.rules[i]
		if r.Then == api.PolicyDeny || r.condition == nil {
			continue
		}
		if by, example := s.shadows(r, trials); example != nil {
			what := "denied"
			if r.Then == api.PolicyAsk && s.allows(by[0]) {
				what = "allowed"
			}
			warnings = append(warnings, Warning{
				Message: fmt.Sprintf("rule %s seems to contradict rule %s: each call tried that "+
					"it matches is %s, for example %s", r.Name, strings.Join(by, " and "), what,
					callText(example)),
				Hint: "narrow one of them, or remove " + r.Name})
		}
	}
	return warnings
}

// shadows returns the rules that take precedence wherever a rule matches, and a call that it
// matches. The call is nil if the rule decides some call, or too few match to tell.
func (s *Set) shadows(r *rule, t *trials) (by []string, example *Facts) {
	matched := 0
	for range min(maxTried, maxAllTried/len(s.rules)+1) {
		f := t.next(r)
		v := newValues(f, r.condition.adapt)
		if action, holds := r.check(v); !holds || action.Failure != "" {
			continue
		}
		over := preceding(r, s.met(f, &v))
		if len(over) == 0 {
			return nil, nil
		}
		if matched++; matched == 1 {
			by, example = over, f
		}
		for _, name := range over {
			if !slices.Contains(by, name) {
				by = append(by, name)
			}
		}
	}
	if matched < leastTried {
		return nil, nil
	}
	return by[:min(len(by), 3)], example
}

// preceding returns the rules among those that matched a call that take precedence over one of
// them. A rule that fails precedes none: other arguments may not make it fail.
func preceding(r *rule, met []api.PolicyAction) (names []string) {
	for _, action := range met {
		switch {
		case action.Failure != "":
		case action.Effect == api.PolicyDeny:
			names = append(names, action.Rule)
		case action.Rule == r.Name && action.AllowedBy != "":
			names = append(names, action.AllowedBy)
		}
	}
	return names
}

// callText describes a call of a trial.
func callText(f *Facts) string {
	text := f.Tool.Name + " " + string(f.Arguments)
	if len(f.Labels) > 0 {
		text += " in a run with the labels " + strings.Join(f.Labels, ", ")
	}
	return text
}

// trials makes up calls. They are the same for the same rules.
type trials struct {
	random *rand.Rand
	tools  []Tool
	// arguments has the values to try, by argument.
	names     []string
	arguments map[string][]any
	labels    []string
}

func newTrials(rules []rule, tools []Subject) *trials {
	t := &trials{random: rand.New(rand.NewPCG(1, 2)), arguments: map[string][]any{}}
	for _, tool := range tools {
		t.tools = append(t.tools, tool.Tool)
	}
	for _, r := range rules {
		expressions := []string{r.When, r.Unless}
		lists := map[string][]any{}
		for _, d := range r.Define {
			expressions = append(expressions, d.Expression)
			var values []any
			if json.Unmarshal(d.Values, &values) == nil {
				lists[d.Name] = values
			}
		}
		for _, e := range expressions {
			t.read(e, lists)
		}
	}
	for name, values := range t.arguments {
		t.names = append(t.names, name)
		if len(values) == 0 {
			t.arguments[name] = []any{"x", 1.0}
		}
	}
	slices.Sort(t.names)
	return t
}

// read adds the arguments and labels of an expression, with the values that it compares them with.
func (t *trials) read(expression string, lists map[string][]any) {
	env, err := environment()
	if err != nil || strings.TrimSpace(expression) == "" {
		return
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return
	}
	ast.PreOrderVisit(parsed.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if name := argumentIn(e); name != "" {
			t.arguments[name] = slices.Clip(t.arguments[name])
		}
		left, right := operandsOf(e)
		t.compare(left, right, lists)
		t.compare(right, left, lists)
	}))
}

// operandsOf returns the two values that an expression combines; nil if it is another one.
func operandsOf(e ast.Expr) (left, right ast.Expr) {
	if e.Kind() != ast.CallKind {
		return nil, nil
	}
	parts := e.AsCall().Args()
	if e.AsCall().IsMemberFunction() {
		parts = append(slices.Clone(parts), e.AsCall().Target())
	}
	if len(parts) != 2 {
		return nil, nil
	}
	return parts[0], parts[1]
}

// compare adds the literals in an expression to the values of what it is combined with.
func (t *trials) compare(part, other ast.Expr, lists map[string][]any) {
	if part == nil {
		return
	}
	values := literalsIn(other)
	if other.Kind() == ast.IdentKind {
		values = append(values, lists[other.AsIdent()]...)
	}
	if name := argumentIn(part); name != "" {
		t.arguments[name] = append(t.arguments[name], around(values)...)
	}
	if isName(part, nameLabels) {
		t.labels = append(t.labels, textsIn(other)...)
	}
}

// around returns values with others that are close to them.
func around(values []any) (all []any) {
	for _, value := range values {
		switch v := value.(type) {
		case int64:
			all = append(all, v-1, v, v+1)
		case float64:
			all = append(all, v-1, v, v+1)
		case string:
			all = append(all, v, "x"+v, v+"x")
		case bool:
			all = append(all, v, !v)
		}
	}
	return all
}

// next returns a call that a rule may be for.
func (t *trials) next(r *rule) *Facts {
	f := &Facts{Tool: t.tool(r), Now: noon.Add(time.Duration(t.random.IntN(24)) * time.Hour),
		Caller: Caller{Type: string(api.CallerAgent)},
		Budget: BudgetOf(api.Limits{}, api.Usage{}, 0)}
	if len(r.Agents) > 0 {
		f.Run.Agent = r.Agents[0]
	}
	for _, label := range t.labels {
		if t.random.IntN(2) == 0 && !slices.Contains(f.Labels, label) {
			f.Labels = append(f.Labels, label)
		}
	}
	slices.Sort(f.Labels)
	arguments := map[string]any{}
	for _, name := range t.names {
		values := t.arguments[name]
		if t.random.IntN(8) > 0 {
			arguments[name] = values[t.random.IntN(len(values))]
		}
	}
	f.Arguments, _ = json.Marshal(arguments) // they are texts, numbers and truth values
	return f
}

// tool returns a tool that a rule is for.
func (t *trials) tool(r *rule) Tool {
	tools := t.tools
	if len(r.Tools) > 0 {
		tools = slices.DeleteFunc(slices.Clone(tools), func(one Tool) bool {
			return !slices.Contains(r.Tools, one.Name)
		})
		if len(tools) == 0 {
			return Tool{Name: r.Tools[0]}
		}
	}
	if len(tools) == 0 {
		return Tool{Name: "tool"}
	}
	return tools[t.random.IntN(len(tools))]
}
