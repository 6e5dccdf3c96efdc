package imports

import (
	"errors"
	"fmt"
	"strings"

	"github.com/switchyard/switchyard/internal/parallel"
	"github.com/switchyard/switchyard/toolspecs"
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

// take adds tools and refuses those whose specs do not compile.
func (r *Result) take(tools []Tool) {
	faults := make([]error, len(tools))
	parallel.Each(len(tools), func(i int) { _, faults[i] = tools[i].Spec.Compile() })
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
	for _, other := range n.notes {
		if other == text {
			return
		}
	}
	n.notes = append(n.notes, text)
}

// within is the place of a name inside another place.
func within(place, name string) string {
	return strings.TrimPrefix(place+"."+name, ".")
}
