package imports

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/parallel"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/toolspecs"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

// Tool is a tool that was made of one part of a document.
type Tool struct {
	// Spec has only the fields that differ from the defaults.
	Spec toolspecs.Spec
	// Source is the part, such as GET /pets/{petId}.
	Source string
	// Notes list what the spec omits or changes compared with the document, and what to do about
	// it.
	Notes []string
}

// Refused is a part of a document that no tool was made of.
type Refused struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// Result is the result of importing a document.
type Result struct {
	// Title names the document, such as an API's title and version.
	Title string
	// Source identifies the document in this version and others; empty if it does not say.
	Source  string
	Tools   []Tool
	Refused []Refused
	// Notes are about the document as a whole.
	Notes []string
}

// part is a part of a document that may become a tool.
type part struct {
	wanted
	// source names the part for people.
	source string
	// also are further texts that select it, such as its tags.
	also []string
	make func(name string) (Tool, error)
}

// add makes tools of the parts of a document that the patterns select. Names do not depend on the
// selection. The error is Faults: nothing is selected. what names the parts.
func (r *Result) add(file, what string, parts []part, only []string) error {
	proposals := make([]wanted, len(parts))
	for i, p := range parts {
		proposals[i] = p.wanted
	}
	var tools []Tool
	var known []string
	selected := 0
	for i, name := range toolNames(proposals) {
		p := parts[i]
		texts := append([]string{name, p.name}, p.also...)
		if !selects(only, texts) {
			known = append(known, texts...)
			continue
		}
		selected++
		tool, err := p.make(name)
		if err != nil {
			r.refuse(p.source, "%v", err)
			continue
		}
		tool.Source = p.source
		tools = append(tools, tool)
	}
	r.take(tools)
	if selected+len(r.Refused) > 0 {
		return nil
	}
	fault := toolspecs.Fault{File: file, Message: "the document has no " + what}
	if len(parts) > 0 {
		fault.Message = fmt.Sprintf("none is selected; the document has %d %s", len(parts), what)
		slices.Sort(known)
		fault.Hint = spelling.Hint(only[0], slices.Compact(known))
	}
	return toolspecs.Faults{fault}
}

// selects reports whether one of the patterns fits one of the texts; no patterns fit everything.
// A pattern that ends in /** fits a path and everything below it.
func selects(patterns, texts []string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return fits(pattern, text) })
	})
}

func fits(pattern, text string) bool {
	if prefix, all := strings.CutSuffix(pattern, "/**"); all {
		depth := strings.Count(prefix, "/") + 1
		parts := strings.SplitN(text, "/", depth+1)
		pattern, text = prefix, strings.Join(parts[:min(depth, len(parts))], "/")
	}
	ok, err := path.Match(pattern, text)
	return pattern == text || err == nil && ok
}

// take adds tools and refuses those whose specs do not compile.
func (r *Result) take(tools []Tool) {
	faults := make([]error, len(tools))
	parallel.Each(len(tools), func(i int) {
		if _, faults[i] = tools[i].Spec.Compile(); faults[i] != nil {
			tools[i].dropFaults()
			_, faults[i] = tools[i].Spec.Compile()
		}
	})
	for i, t := range tools {
		if faults[i] != nil {
			r.refuse(t.Source, "the toolspec would be invalid: %s", firstFault(faults[i]))
			continue
		}
		r.Tools = append(r.Tools, t)
	}
}

func (r *Result) refuse(source, format string, args ...any) {
	r.Refused = append(r.Refused, Refused{Source: source, Reason: fmt.Sprintf(format, args...)})
}

// maxRounds bounds how often a schema is checked, because some faults only show without others.
const maxRounds = 4

// dropFaults drops the keywords of the tool's schema that no toolspec can have, such as a default
// that violates its own rule or a pattern that Go cannot match. Each one gives a note.
func (t *Tool) dropFaults() {
	for range maxRounds {
		var found strictyaml.Findings
		schemas.Check(&found, jsonpath.Root, t.Spec.InputSchema, true)
		tree, before := treeOf(t.Spec.InputSchema), len(t.Notes)
		for _, f := range found.All {
			if drop(tree, jsonpath.Split(f.Path)) {
				t.Notes = append(t.Notes, fmt.Sprintf("%s is dropped: %s",
					strings.TrimPrefix(f.Path, jsonpath.Root+"."), f.Message))
			}
		}
		if len(t.Notes) == before {
			return
		}
		t.Spec.InputSchema = encoded(tree)
	}
}

// drop removes the keyword at a path, and reports whether it was there. An element of a list goes
// with the list.
func drop(tree any, path []jsonpath.Step) bool {
	last := len(path) - 1
	for last >= 0 && path[last].Index >= 0 {
		last--
	}
	if last < 0 {
		return false
	}
	for _, step := range path[:last] {
		tree = memberAt(tree, step)
	}
	o, ok := tree.(*jsontext.Object)
	if !ok || !o.Has(path[last].Key) {
		return false
	}
	o.Delete(path[last].Key)
	return true
}

func memberAt(tree any, step jsonpath.Step) any {
	if list, ok := tree.([]any); ok && step.Index >= 0 && step.Index < len(list) {
		return list[step.Index]
	}
	o, _ := tree.(*jsontext.Object)
	return o.Get(step.Key)
}

// firstFault is the first thing wrong with a spec, without the name of the tool.
func firstFault(err error) string {
	faults, ok := errors.AsType[toolspecs.Faults](err)
	if !ok || len(faults) == 0 {
		return err.Error()
	}
	text := faults[0].Message
	if hint := faults[0].Hint; hint != "" {
		text += " (" + hint + ")"
	}
	if more := len(faults) - 1; more > 0 {
		text += fmt.Sprintf(", and %d more", more)
	}
	return text
}

// noted collects notes, each once.
type noted struct{ notes []string }

// add writes a note; where names the place that it is about, and may be empty.
func (n *noted) add(where, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if where != "" {
		text = where + ": " + text
	}
	if !slices.Contains(n.notes, text) {
		n.notes = append(n.notes, text)
	}
}

// listed names a few of several things.
func listed(names []string) string {
	const most = 8
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}
