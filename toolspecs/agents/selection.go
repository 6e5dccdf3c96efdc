package agents

import (
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/core/toolfacts"
	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs/plans"
)

// Known are the tools that an agent's list may name or select. The zero value leaves lists
// unchecked.
type Known struct {
	// Names are the names of all tools.
	Names []string
	// Selectable are the tools that entries may select. If it is nil, only names are known, and
	// tags, categories, servers and instances are accepted unchecked.
	Selectable []toolfacts.Facts
}

// Selects reports whether an entry of an agent's list names or selects a tool. It is true if that
// is not known.
func (k Known) Selects(entry string) bool {
	switch {
	case k.Names == nil:
		return true
	case !toolfacts.SelectsTools(entry):
		return slices.Contains(k.Names, entry)
	case k.Selectable == nil:
		return slices.ContainsFunc(k.Names,
			func(tool string) bool { return toolfacts.MaySelect(entry, tool) })
	}
	return slices.ContainsFunc(k.Selectable,
		func(f toolfacts.Facts) bool { return toolfacts.Selects(f, entry) })
}

// Hint returns what was probably meant by an entry that names or selects no tool, or what there is
// of its sort; empty if there is nothing.
func (k Known) Hint(entry string) string {
	if !toolfacts.SelectsTools(entry) {
		return spelling.Hint(entry, k.Names)
	}
	if prefix, value, ok := strings.Cut(entry, ":"); ok {
		return spelling.Hint(value, k.values(prefix+":"))
	}
	if near := spelling.Near(entry, k.patterns(), 1); len(near) > 0 {
		return spelling.Hint(entry, near)
	}
	return ""
}

// values returns the values with which entries of a prefix such as tag: select tools, sorted.
func (k Known) values(prefix string) (values []string) {
	for _, f := range k.Selectable {
		values = append(values, toolfacts.Values(f, prefix)...)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// patterns returns the patterns that select all tools whose names have the same first words,
// sorted.
func (k Known) patterns() (patterns []string) {
	for _, f := range k.Selectable {
		for i, r := range f.Name {
			if r == '_' || r == '-' {
				patterns = append(patterns, f.Name[:i+1]+"*")
			}
		}
	}
	slices.Sort(patterns)
	return slices.Compact(patterns)
}

// nouns are what the prefixes of entries stand for, in messages.
var nouns = map[string]string{"tag": "no tool has the tag ", "category": "no tool has the category ",
	"server":   "no tool belongs to the server ",
	"instance": "no tool uses the instance "}

// checkToolNames reports entries in a list that are repeated, that no tool has as its name, or that
// select no tools.
func checkToolNames(doc *strictyaml.Document, path string, entries []string, known Known) {
	for i, entry := range entries {
		at := jsonpath.Index(path, i)
		if slices.Contains(entries[:i], entry) {
			doc.Report(at, "the tool is in the list already", "remove it")
		}
		if err := toolfacts.CheckEntry(entry); err != nil {
			doc.Report(at, err.Error(), "")
		} else if toolfacts.SelectsTools(entry) && !known.Selects(entry) {
			doc.Report(at, noneSelected(entry), known.Hint(entry))
		}
		if !toolfacts.SelectsTools(entry) {
			plans.CheckToolName(doc, at, entry, known.Names, "there is no tool")
		}
	}
}

// noneSelected returns the complaint about an entry that selects no tools.
func noneSelected(entry string) string {
	prefix, value, ok := strings.Cut(entry, ":")
	if !ok {
		return "no tool has a name like " + jsontext.Shorten(entry)
	}
	return nouns[prefix] + jsontext.Shorten(value)
}
