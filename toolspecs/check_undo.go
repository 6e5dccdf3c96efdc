package toolspecs

import (
	"maps"
	"slices"
	"strings"

	"github.com/switchyard/switchyard"
	"github.com/switchyard/switchyard/toolspecs/spelling"
	"github.com/switchyard/switchyard/toolspecs/strictyaml"
)

const (
	undoPath          = "$.undo"
	undoToolPath      = undoPath + ".tool"
	undoArgumentsPath = undoPath + ".arguments"
	hintUndo          = "write {{args.name}}, {{result.field}} or {{call.key}}"
)

// filePlace is a place in a file.
type filePlace struct {
	file         string
	line, column int
}

// placeUndo keeps where the parts of undo stand: what is wrong with them may show only beside other tools.
func (s *Spec) placeUndo(doc *strictyaml.Document, file string) {
	if s.Undo == nil {
		return
	}
	s.undoPlaces = map[string]filePlace{}
	keep := func(path string) {
		p := filePlace{file: file}
		p.line, p.column = doc.Position(path)
		s.undoPlaces[path] = p
	}
	keep(undoToolPath)
	keep(undoArgumentsPath)
	for _, name := range doc.Keys(undoArgumentsPath) {
		keep(switchyard.KeyPath(undoArgumentsPath, name))
	}
}

// undo checks the declaration of the call that undoes a tool's calls, as far as one spec tells.
func (c *checker) undo(s Spec) {
	if s.Undo == nil {
		return
	}
	if s.Execution.Effect == switchyard.EffectRead {
		c.addKey(undoPath, "remove it, or write effect: idempotent or once", "the effect is read: such calls change nothing, so there is nothing to undo")
	}
	if s.Undo.Tool == "" {
		c.add(undoPath, "write tool: and the name of the tool that undoes", "undo names no tool")
	} else if err := switchyard.CheckToolName(s.Undo.Tool); err != nil {
		c.add(undoToolPath, "", "%v", err)
	}
	if len(s.Undo.Arguments) == 0 {
		return
	}
	if _, err := membersOf(s.Undo.Arguments); err != nil {
		c.add(undoArgumentsPath, "write a mapping of the arguments of "+s.Undo.Tool, "the arguments must be an object")
		return
	}
	// What is an object has been read before.
	_ = s.Undo.Strings(undoArgumentsPath, func(path, text string) { c.undoString(s, path, text) })
}

// undoString checks the placeholders of one string.
func (c *checker) undoString(s Spec, path, text string) {
	for _, p := range switchyard.PlaceholdersIn(text) {
		c.undoPlaceholder(s, path, p)
	}
	if switchyard.Stray(text) {
		c.add(path, hintUndo, "%s has {{ without }}, or }} without {{", shorten(text))
	}
}

func (c *checker) undoPlaceholder(s Spec, path string, p switchyard.UndoPlaceholder) {
	declared := s.argumentNames()
	switch {
	case !p.Legal():
		c.add(path, hintUndo, "%s is not a placeholder", p.Text)
	case p.Source == switchyard.UndoArguments && !slices.Contains(declared, p.Path[0]):
		c.add(path, spelling.Hint(p.Path[0], declared), "%s names no parameter of this tool", p.Text)
	case p.Source == switchyard.UndoResult:
		c.undoResult(s, path, p)
	}
}

// undoResult checks that a result can have what a placeholder names, where the output is declared.
func (c *checker) undoResult(s Spec, path string, p switchyard.UndoPlaceholder) {
	result := s.outputShape()
	for i, key := range p.Path {
		names := result.declared()
		switch {
		case result == nil || len(names) == 0 && result.items == nil:
			return
		case result.items != nil:
			result = result.items
			continue
		case !slices.Contains(names, key) && result.closed:
			c.add(path, spelling.Hint(key, names), "%s: the output declares no %q", p.Text, strings.Join(p.Path[:i+1], "."))
			return
		}
		result = result.property(key)
	}
}

// outputShape returns the shape of the declared output; nil where it is open.
func (s Spec) outputShape() *shape {
	if s.Output != nil {
		return shapeOfParameter(*s.Output)
	}
	tree, err := parseOrdered(s.OutputSchema)
	if s.OutputSchema == nil || err != nil {
		return nil
	}
	return shapeOfSchema(tree, "")
}

// inputShape returns the shape of the arguments.
func (s Spec) inputShape() *shape {
	tree, err := parseOrdered(s.InputSchema)
	if s.InputSchema == nil || err != nil {
		return shapeOfParameters(s.Parameters)
	}
	return shapeOfSchema(tree, "")
}

func membersOf(object []byte) (map[string]any, error) {
	value, err := switchyard.DecodeJSON(object)
	if err != nil {
		return nil, err
	}
	members, ok := value.(map[string]any)
	if !ok {
		return nil, switchyard.Errorf(switchyard.ErrValidation, "it is no object")
	}
	return members, nil
}

// CheckUndo returns what is wrong with the calls that undo the calls of specs: tools that there are not or that cannot undo
// anything, and arguments that they do not take. known are the names of all tools. The error is Faults, each at its place in
// the spec's file where the spec came from one.
func CheckUndo(specs []Spec, known []string) error {
	byName := map[string]Spec{}
	for _, s := range specs {
		byName[s.Name] = s
	}
	var faults Faults
	for _, s := range specs {
		if s.Undo == nil {
			continue
		}
		c := checker{}
		if with, ok := byName[s.Undo.Tool]; ok {
			c.undoBy(s, with)
		} else if !slices.Contains(known, s.Undo.Tool) {
			c.add(undoToolPath, spelling.Hint(s.Undo.Tool, known), "there is no tool %q", s.Undo.Tool)
		}
		for _, f := range c.findings {
			faults = append(faults, s.undoFault(f))
		}
	}
	return faults.Err()
}

func (s Spec) undoFault(f finding) Fault {
	at, ok := s.undoPlaces[f.path]
	if !ok {
		return s.fault(f.path, f.message, f.hint)
	}
	return Fault{File: at.file, Line: at.line, Column: at.column, Message: f.message, Hint: f.hint}
}

// undoBy checks that a tool can undo the calls of s with the arguments that s gives it.
func (c *checker) undoBy(s, with Spec) {
	switch {
	case !slices.Contains(laneKinds, with.Entry.Type):
		c.add(undoToolPath, "name a tool of the kind "+strings.Join(laneKinds, ", "), "%s is of the kind %s, which cannot undo calls: it may need what has ended with the run", with.Name, with.Entry.Type)
	case with.Execution.Effect == switchyard.EffectRead:
		c.add(undoToolPath, "name a tool that changes something", "the effect of %s is read: it changes nothing, so it undoes nothing", with.Name)
	}
	c.undoArguments(s, with)
}

// undoArguments checks the arguments that s gives to the tool that undoes its calls.
func (c *checker) undoArguments(s, with Spec) {
	given := map[string]any{}
	if len(s.Undo.Arguments) > 0 {
		given, _ = membersOf(s.Undo.Arguments) // checked before
	}
	takes := with.inputShape()
	declared := takes.declared()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := switchyard.KeyPath(undoArgumentsPath, name)
		if !takes.has(name) && takes.closed {
			c.add(path, spelling.Hint(name, declared), "%s has no parameter %q", with.Name, name)
			continue
		}
		if hidden := s.hiddenIn(given[name]); hidden != "" && !takes.property(name).hides() {
			c.add(path, "mark that parameter as sensitive", "{{args.%s}} is sensitive, and the parameter %s of %s is not: its value would be shown", hidden, name, with.Name)
		}
	}
	for _, name := range with.requiredArguments() {
		if _, ok := given[name]; !ok {
			c.add(undoArgumentsPath, "give it", "%s needs the argument %q", with.Name, name)
		}
	}
}

// hiddenIn returns the first sensitive argument that a template has a placeholder for; "" if it has none.
func (s Spec) hiddenIn(template any) (name string) {
	data, err := switchyard.EncodeJSON(template)
	if err != nil {
		return ""
	}
	_ = switchyard.Undo{Arguments: data}.Strings("$", func(_, text string) {
		for _, p := range switchyard.PlaceholdersIn(text) {
			if p.Source == switchyard.UndoArguments && p.Legal() && name == "" && s.hides(p.Path[0]) {
				name = p.Path[0]
			}
		}
	})
	return name
}

// requiredArguments returns the names of the arguments that every call must have.
func (s Spec) requiredArguments() (names []string) {
	for _, p := range s.Parameters {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	tree, err := parseOrdered(s.InputSchema)
	if s.InputSchema == nil || err != nil {
		return names
	}
	for _, name := range member[[]any](tree, "required") {
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}

// CheckUndo is CheckUndo for all tools of the catalog.
func (c *Catalog) CheckUndo() error {
	specs := make([]Spec, len(c.tools))
	for i, t := range c.tools {
		specs[i] = t.Spec
	}
	return CheckUndo(specs, c.names())
}
