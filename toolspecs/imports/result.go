package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/switchyard/switchyard/internal/jsonpath"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/parallel"
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
	Source string
	Reason string
}

// Result is the result of importing a document.
type Result struct {
	// Title names the document, such as an API's title and version.
	Title   string
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
	// left is set if it is not selected, whatever its name.
	left bool
	make func(name string) (Tool, error)
}

// add makes tools of the parts whose names match one of the patterns, and returns how many do.
// Names do not depend on the selection.
func (r *Result) add(parts []part, patterns []string) (selected int) {
	proposals := make([]wanted, len(parts))
	for i, p := range parts {
		proposals[i] = p.wanted
	}
	var tools []Tool
	for i, name := range toolNames(proposals) {
		p := parts[i]
		if p.left || !picksName(patterns, name, p.name) {
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
	return selected
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

// dropFaults drops the keywords of the tool's schemas that no toolspec can have, such as a default
// that violates its own rule or a pattern that Go cannot match. Each one gives a note.
func (t *Tool) dropFaults() {
	t.Spec.InputSchema = t.withoutFaults(t.Spec.InputSchema, true)
	t.Spec.OutputSchema = t.withoutFaults(t.Spec.OutputSchema, false)
}

// maxRounds bounds how often a schema is checked, because some faults only show without others.
const maxRounds = 4

func (t *Tool) withoutFaults(schema json.RawMessage, arguments bool) json.RawMessage {
	for range maxRounds {
		var found strictyaml.Findings
		if len(schema) > 0 {
			schemas.Check(&found, jsonpath.Root, schema, arguments)
		}
		tree, before := treeOf(schema), len(t.Notes)
		for _, f := range found.All {
			if drop(tree, jsonpath.Split(f.Path)) {
				t.Notes = append(t.Notes, fmt.Sprintf("%s is dropped: %s",
					strings.TrimPrefix(f.Path, jsonpath.Root+"."), f.Message))
			}
		}
		if len(t.Notes) == before {
			break
		}
		schema = encoded(tree)
	}
	return schema
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
