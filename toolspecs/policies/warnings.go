package policies

import (
	"fmt"
	"slices"
	"strings"

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
// and table lack the labels that rules use, undo tools that a rule would stop, and approvals by
// everyone that clear labels.
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
	return slices.Concat(warnings, s.stoppedUndo(tools), s.openClearings())
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
		Budget: NewBudget(api.Limits{}, api.Usage{}, 0)}
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
					"caller may give it", r.Name, policyrules.DescribeClearings(r.Clears)),
				Hint: "name approvers, such as approvers: [{role: approver}]"})
		}
	}
	return warnings
}
