package policies

import (
	"fmt"
	"maps"
	"slices"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Tools are tools that rules may be about, by name, with what they take.
type Tools map[string]Takes

// Takes is which arguments a tool takes.
type Takes struct {
	Names []string
	// Any says that it takes others too.
	Any bool
}

// check reports what a rule names that there is not.
func (t Tools) check(doc *strictyaml.Document, i int, r rule) {
	if t == nil || r.condition == nil {
		return
	}
	at := jsonpath.Index(rulesPath, i)
	names := slices.Sorted(maps.Keys(t))
	for n, tool := range r.Tools {
		if _, there := t[tool]; !there {
			doc.Report(jsonpath.Index(at+".tools", n), fmt.Sprintf("there is no tool %q", tool),
				spelling.Hint(tool, names))
			return // whose arguments nobody knows
		}
	}
	if len(r.Tools) > 0 {
		names = r.Tools
	}
	taken, others := t.takes(names)
	if others {
		return
	}
	for _, argument := range r.condition.arguments {
		if !slices.Contains(taken, argument) {
			doc.Report(at+".when",
				fmt.Sprintf("rule %q reads args.%s, which no tool takes that it is for", r.Name,
					argument), spelling.Hint(argument, taken))
		}
	}
}

// takes returns which arguments some of the tools take; others says that one of them takes others
// too.
func (t Tools) takes(names []string) (taken []string, others bool) {
	for _, name := range names {
		taken, others = append(taken, t[name].Names...), others || t[name].Any
	}
	slices.Sort(taken)
	return slices.Compact(taken), others
}
