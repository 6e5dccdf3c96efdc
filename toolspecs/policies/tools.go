package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Tools are the tools that rules may name, with their arguments.
type Tools map[string]Takes

// Takes is which arguments a tool takes.
type Takes struct {
	Names []string
	// Any is set if the tool takes other arguments too.
	Any bool
	// Sensitive are those of Names that are or contain sensitive values.
	Sensitive []string
	// Facts select the tool.
	Facts api.ToolFacts
}

// selectsNone reports whether a name or a selection selects no tool, with a hint. It is false for
// nil tools.
func (t Tools) selectsNone(selection string) (hint string, none bool) {
	if t == nil {
		return "", false
	}
	var values []string
	for name, takes := range t {
		takes.Facts.Name = name
		if takes.Facts.Selects(selection) {
			return "", false
		}
		if prefix, _, found := strings.Cut(selection, ":"); found {
			for _, value := range takes.Facts.Values(prefix + ":") {
				values = append(values, prefix+":"+value)
			}
		} else {
			values = append(values, name)
		}
	}
	slices.Sort(values)
	return spelling.Hint(selection, slices.Compact(values)), true
}

// check reports unknown tools and arguments of a rule.
func (t Tools) check(doc *strictyaml.Document, i int, r rule) {
	if t == nil || r.condition == nil {
		return
	}
	at := jsonpath.Index(rulesPath, i)
	t.checkAsked(doc, at+".when", r, r.condition)
	if r.unless != nil {
		t.checkAsked(doc, at+".unless", r, r.unless)
	}
	names := slices.Sorted(maps.Keys(t))
	for n, tool := range r.Tools {
		if _, there := t[tool]; !there {
			doc.Report(jsonpath.Index(at+".tools", n), fmt.Sprintf("there is no tool %q", tool),
				spelling.Hint(tool, names))
			return // a tool with unknown arguments
		}
	}
	if len(r.Tools) > 0 {
		names = r.Tools
	}
	taken, others := t.takes(names)
	if others {
		return
	}
	reportArguments(doc, at+".when", r.Name, r.condition, taken)
	if r.unless != nil {
		reportArguments(doc, at+".unless", r.Name, r.unless, taken)
	}
}

// reportArguments reports the arguments that an expression at a path names and no tool takes.
func reportArguments(doc *strictyaml.Document, at, rule string, c *Condition, taken []string) {
	for _, argument := range c.arguments {
		if !slices.Contains(taken, argument) {
			doc.Report(at, fmt.Sprintf("rule %q reads args.%s, which none of its tools takes", rule,
				argument), spelling.Hint(argument, taken))
		}
	}
}

// takes returns the arguments that the tools declare; others is set if one of them also accepts
// undeclared arguments.
func (t Tools) takes(names []string) (taken []string, others bool) {
	for _, name := range names {
		taken, others = append(taken, t[name].Names...), others || t[name].Any
	}
	slices.Sort(taken)
	return slices.Compact(taken), others
}
