package policies

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/strictyaml"
)

// Labels are the labels and capabilities that a tool has besides those of its toolspec.
type Labels struct {
	Emits   []Emission
	Effects []string
	Clears  []api.Clearing
}

// labelFile is an entry of the table of labels: the tools and what they have.
type labelFile struct {
	// Tools are names, name patterns, and selections such as tag:web, as in an agent's list.
	Tools   []string       `yaml:"tools" rule:"required,min=1"`
	Emits   []Emission     `yaml:"emits" rule:"min=1,short=label"`
	Effects []string       `yaml:"effects" rule:"min=1" pattern:"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$ %q cannot name a capability of a tool" hint:"use up to 64 letters, digits, _, - and .; the first one a letter or digit"`
	Clears  []api.Clearing `yaml:"clears" rule:"min=1,short=label"`
}

// labelsPath is where a file's table of labels is.
const labelsPath = jsonpath.Root + ".labels"

// FindLabels returns what the table of labels gives a tool.
func (s *Set) FindLabels(tool toolfacts.Facts) (l Labels) {
	if s == nil {
		return l
	}
	for _, entry := range s.labels {
		if slices.ContainsFunc(entry.Tools, func(pattern string) bool {
			return toolfacts.Selects(tool, pattern)
		}) {
			l.add(Labels{entry.Emits, entry.Effects, entry.Clears})
		}
	}
	return l
}

// With returns the labels with those of the table that they do not have.
func (l Labels) With(more Labels) Labels {
	all := Labels{slices.Clone(l.Emits), slices.Clone(l.Effects), slices.Clone(l.Clears)}
	all.add(more)
	return all
}

func (l *Labels) add(more Labels) {
	for _, e := range more.Emits {
		if !slices.Contains(l.Emits, e) {
			l.Emits = append(l.Emits, e)
		}
	}
	for _, e := range more.Effects {
		if !slices.Contains(l.Effects, e) {
			l.Effects = append(l.Effects, e)
		}
	}
	for _, c := range more.Clears {
		known := func(other api.Clearing) bool { return other.Label == c.Label }
		if !slices.ContainsFunc(l.Clears, known) {
			l.Clears = append(l.Clears, c)
		}
	}
}

// HasLabels reports whether the set has a table of labels.
func (s *Set) HasLabels() bool { return s != nil && len(s.labels) > 0 }

// sameLabels reports whether the tables of labels of two sets are equal.
func (s *Set) sameLabels(other *Set) bool {
	return s.HasLabels() == other.HasLabels() && (!s.HasLabels() ||
		reflect.DeepEqual(s.labels, other.labels))
}

// checkLabels reports faults of the table of labels. Nil tools disable the search for tools.
func checkLabels(doc *strictyaml.Document, table []labelFile, tools Tools) {
	if len(table) > maxRules {
		doc.Report(labelsPath, fmt.Sprintf("there are %d entries; a file may have %d", len(table),
			maxRules), "select tools by tag:, category: or server:")
		return
	}
	for i, entry := range table {
		at := jsonpath.Index(labelsPath, i)
		var found strictyaml.Findings
		for n, selection := range entry.Tools {
			path := jsonpath.Index(at+".tools", n)
			if err := toolfacts.CheckEntry(selection); err != nil {
				found.Add(path, "", "%v", err)
			} else if hint, none := tools.selectsNone(selection); none {
				found.Add(path, hint, "there is no tool %q", selection)
			}
		}
		CheckEmissions(&found, at+".emits", entry.Emits)
		CheckClearings(&found, at+".clears", entry.Clears)
		if len(entry.Emits)+len(entry.Effects)+len(entry.Clears) == 0 {
			found.Add(at, "add emits, effects or clears", "the entry gives its tools nothing")
		}
		doc.ReportAll(found.All)
	}
}
