package toolspecs

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/internal/core/placeholders"
	"github.com/switchyard/switchyard/internal/core/undorules"
	"github.com/switchyard/switchyard/internal/jsontext"
	"github.com/switchyard/switchyard/internal/spelling"
	"github.com/switchyard/switchyard/internal/strictyaml"
	"github.com/switchyard/switchyard/internal/templates"
	"github.com/switchyard/switchyard/internal/value/jsonvalue"
	"github.com/switchyard/switchyard/toolspecs/schemas"
)

const (
	undoPath      = "$.undo"
	verifyPath    = "$.verify"
	toolKey       = ".tool"
	argumentsKey  = ".arguments"
	hintUndo      = "write {{args.name}}, {{result.field}} or {{call.key}}"
	hintVerify    = "write {{args.name}} or {{call.key}}"
	hintReadsOnly = "remove it, or write effect: idempotent or once"

	afterKey  = ".settle_after"
	absentKey = ".on_absent"
	// maxAbsentAfter bounds the wait before an answer that a call had no effect counts.
	maxAbsentAfter = api.Duration(24 * time.Hour)
)

// callByRun is a call that a spec declares and the run makes automatically; path is its place in
// the spec.
type callByRun struct {
	api.Undo
	path string
}

func (c callByRun) toolPath() string      { return c.path + toolKey }
func (c callByRun) argumentsPath() string { return c.path + argumentsKey }

// callsByRun returns the calls that undo and verify those of the spec's tool.
func (s Spec) callsByRun() (calls []callByRun) {
	if s.Undo != nil {
		calls = append(calls, callByRun{*s.Undo, undoPath})
	}
	if s.Verify != nil {
		calls = append(calls, callByRun{s.Verify.Call(), verifyPath})
	}
	return calls
}

// keepPlaces stores the places of the parts whose faults may show only in comparison with other
// tools: undo and verify, and what tools of one instance declare equally.
func (s *Spec) keepPlaces(doc *strictyaml.Document, file string) {
	keep := func(path string) {
		p := filePlace{file: file}
		p.line, p.column = doc.Position(path)
		if s.places == nil {
			s.places = map[string]filePlace{}
		}
		s.places[path] = p
	}
	for _, fact := range s.instanceFacts() {
		keep(fact.path)
	}
	if s.plan() != nil {
		keep("$.entry.plan")
		keep("$.execution.effect")
	}
	for _, call := range s.callsByRun() {
		keep(call.toolPath())
		keep(call.argumentsPath())
		keep(call.path + ".done")
		for _, name := range doc.Keys(call.argumentsPath()) {
			keep(jsonvalue.KeyPath(call.argumentsPath(), name))
		}
	}
}

// byRun checks the undo and verify declarations of a tool as far as possible without other specs.
func (c *checker) byRun(s Spec) {
	if s.Undo != nil && s.Execution.Effect == api.EffectRead {
		c.AddKey(undoPath, hintReadsOnly, "the effect is read, so there is nothing to undo")
	}
	c.verify(s)
	for _, call := range s.callsByRun() {
		c.callByRun(s, call)
	}
}

// verify checks the fields that only verify has.
func (c *checker) verify(s Spec) {
	v := s.Verify
	if v == nil {
		return
	}
	if s.Execution.Effect != api.EffectOnce {
		c.AddKey(verifyPath, "remove it, or write effect: once",
			"the effect is %s, so calls with an unknown outcome are repeated, not verified",
			s.Execution.Effect)
	} else if s.Entry.Type() != "" && !s.Entry.isScheduled() {
		c.AddKey(verifyPath, "remove it", "calls of the kind %s are not repeated; verify is for %s",
			s.Entry.Type(), strings.Join(scheduledKinds(), ", "))
	}
	if v.Done == "" {
		c.Add(verifyPath, "write done: and the field of the answer that is true where the call has taken effect",
			"verify has no done")
	}
	c.absence(*v, s.Execution.Timeout+s.Entry.Common().AnswerWithin+api.AttemptGrace)
}

// absence checks when a verified call counts as absent, and what follows. attempt is the longest
// time that an attempt can run.
func (c *checker) absence(v api.Verify, attempt api.Duration) {
	switch v.OnAbsent {
	case "", api.AbsentReport, api.AbsentRepeat:
	default:
		c.Add(verifyPath+absentKey, "write report or repeat",
			"on_absent is %q; it must be one of report, repeat", v.OnAbsent)
	}
	switch {
	case v.AbsentAfter < 0 || v.AbsentAfter > maxAbsentAfter:
		c.Add(verifyPath+afterKey, "write a duration such as 30s",
			"settle_after is %s; it must be more than 0s and at most %s", v.AbsentAfter,
			maxAbsentAfter)
	case v.OnAbsent == api.AbsentRepeat && v.AbsentAfter > 0 && v.AbsentAfter < attempt:
		c.Add(verifyPath+afterKey,
			fmt.Sprintf("remove it, write %s or more, or lower execution.timeout", attempt),
			"settle_after is %s, but an attempt can run for %s: its repetition could overlap with it",
			v.AbsentAfter, attempt)
	}
}

// reportMisplaced reports fields of verify that are written elsewhere.
func reportMisplaced(doc *strictyaml.Document) {
	for _, parent := range []string{"$", "$.execution", undoPath} {
		for _, key := range []string{afterKey, absentKey} {
			if path := parent + key; doc.Has(path) {
				doc.ReportKey(path, strings.TrimPrefix(key, ".")+" is a field of verify",
					"write verify: with tool, done and "+strings.TrimPrefix(key, "."))
			}
		}
	}
}

func (c *checker) callByRun(s Spec, call callByRun) {
	if call.Tool == "" {
		c.Add(call.path, "write tool: and the name of the tool", "%s names no tool",
			strings.TrimPrefix(call.path, "$."))
	} else if err := api.CheckToolName(call.Tool); err != nil {
		c.Add(call.toolPath(), "", "%v", err)
	}
	if len(call.Arguments) == 0 {
		return
	}
	if _, err := templates.Values(call.Arguments); err != nil {
		c.Add(call.argumentsPath(), "write a mapping of the arguments of "+call.Tool,
			"the arguments must be an object")
		return
	}
	// The arguments have been decoded as an object before.
	_ = undorules.VisitStrings(call.Undo, call.argumentsPath(), func(path, text string) {
		c.stringByRun(s, call, path,
			text)
	})
}

// stringByRun checks the placeholders of one string.
func (c *checker) stringByRun(s Spec, call callByRun, path, text string) {
	hint := hintUndo
	if call.path == verifyPath {
		hint = hintVerify
	}
	for _, p := range placeholders.Find(text) {
		if !p.Legal() || p.Source == placeholders.Result && call.path == verifyPath {
			c.Add(path, hint, "%s is not a placeholder here", p.Text)
			continue
		}
		c.placeholderByRun(s, path, p)
	}
	if placeholders.HasStray(text) {
		c.Add(path, hint, "%s has {{ without }}, or }} without {{", jsontext.Shorten(text))
	}
}

// placeholderByRun checks the name in a valid placeholder.
func (c *checker) placeholderByRun(s Spec, path string, p placeholders.Placeholder) {
	switch p.Source {
	case placeholders.Result:
		c.inOutput(s, path, p.Text, p.Path)
	case placeholders.Arguments:
		if declared := s.argumentNames(); !slices.Contains(declared, p.Path[0]) {
			c.Add(path, spelling.Hint(p.Path[0], declared), "%s names no parameter of this tool",
				p.Text)
		}
	}
}

// inOutput checks that the declared output of a tool can have a value at place. text is the text at
// path that names the place.
func (c *checker) inOutput(s Spec, path, text string, place []string) {
	result := s.outputShape()
	for i, key := range place {
		names := result.PropertyNames()
		switch {
		case result == nil || len(names) == 0 && result.Item() == nil:
			return
		case result.Item() != nil:
			result = result.Item()
			continue
		case !slices.Contains(names, key) && !result.TakesOthers():
			c.Add(path, spelling.Hint(key, names), "%s: the output of %s declares no %q", text,
				s.Name, strings.Join(place[:i+1], "."))
			return
		}
		result = result.Property(key)
	}
}

// outputShape returns the shape of the declared output; nil for none.
func (s Spec) outputShape() *schemas.Shape {
	if s.Output != nil {
		return shapeOfParameter(*s.Output)
	}
	tree, err := jsontext.ParseOrdered(s.OutputSchema)
	if s.OutputSchema == nil || err != nil {
		return nil
	}
	return schemas.ShapeFromSchema(tree, "")
}

// inputShape returns the shape of the arguments.
func (s Spec) inputShape() *schemas.Shape {
	tree, err := jsontext.ParseOrdered(s.InputSchema)
	if s.InputSchema == nil || err != nil {
		return shapeOfParameters(s.Parameters, nil, schemas.TypeObject)
	}
	return schemas.ShapeFromSchema(tree, "")
}

// CheckCalls returns the faults between specs. Those of their undo and verify declarations are
// unknown or unsuitable tools, and arguments that those tools do not accept. Tools that share an
// instance must declare it equally. known are the names of all tools. The error
// is Faults, each at its place in the spec's file if the spec comes from a file.
func CheckCalls(specs []Spec, known []string) error {
	byName := map[string]Spec{}
	for _, s := range specs {
		byName[s.Name] = s
	}
	var faults Faults
	for _, s := range specs {
		for _, call := range s.callsByRun() {
			c := checker{}
			if with, ok := byName[call.Tool]; ok {
				c.callWith(s, with, call)
			} else if !slices.Contains(known, call.Tool) {
				c.Add(call.toolPath(), spelling.Hint(call.Tool, known), "there is no tool %q",
					call.Tool)
			}
			for _, f := range c.All {
				faults = append(faults, s.toFault(f))
			}
		}
	}
	return append(faults, CheckInstances(specs)...).Err()
}

func (s Spec) toFault(f strictyaml.Finding) Fault {
	at, ok := s.places[f.Path]
	if !ok {
		return s.fault(f.Path, f.Message, f.Hint)
	}
	return Fault{File: at.file, Line: at.line, Column: at.column, Message: f.Message, Hint: f.Hint}
}

// callWith checks that a tool is suitable to undo or verify the calls of s.
func (c *checker) callWith(s, with Spec, call callByRun) {
	reads := with.Execution.Effect == api.EffectRead
	switch {
	case !with.Entry.isScheduled():
		c.Add(call.toolPath(), "name a tool of the kind "+strings.Join(scheduledKinds(), ", "),
			"%s is of the kind %s, which a run cannot call to undo or verify", with.Name,
			with.Entry.Type())
	case call.path == undoPath && reads:
		c.Add(call.toolPath(), "name a tool that changes something",
			"the effect of %s is read, so it cannot undo anything", with.Name)
	case call.path == verifyPath && !reads:
		c.Add(call.toolPath(), "name a tool that reads",
			"the effect of %s is %s, but verify needs a tool that only reads", with.Name,
			with.Execution.Effect)
	}
	if call.path == verifyPath && s.Verify.Done != "" {
		c.inOutput(with, verifyPath+".done", s.Verify.Done, strings.Split(s.Verify.Done, "."))
	}
	c.argumentsByRun(s, with, call)
}

// argumentsByRun checks the arguments that s gives to the other tool.
func (c *checker) argumentsByRun(s, with Spec, call callByRun) {
	given := map[string]any{}
	if len(call.Arguments) > 0 {
		given, _ = templates.Values(call.Arguments) // checked before
	}
	takes := with.inputShape()
	for _, name := range slices.Sorted(maps.Keys(given)) {
		path := jsonvalue.KeyPath(call.argumentsPath(), name)
		if !takes.Has(name) && !takes.TakesOthers() {
			c.Add(path, spelling.Hint(name, takes.PropertyNames()), "%s has no parameter %q", with.Name,
				name)
			continue
		}
		if hidden := s.hiddenIn(given[name]); hidden != "" && !takes.Property(name).Hides() {
			c.Add(path, "mark that parameter as sensitive",
				"{{%s}} is sensitive, but the parameter %s of %s is not: its value would be shown",
				hidden, name, with.Name)
		}
	}
	for _, name := range with.requiredArguments() {
		if _, ok := given[name]; !ok {
			c.Add(call.argumentsPath(), "give it", "%s needs the argument %q", with.Name, name)
		}
	}
}

// hiddenIn returns the first placeholder of a template that refers to a sensitive argument or a
// sensitive part of the result; "" if it has none.
func (s Spec) hiddenIn(template any) (name string) {
	data, err := jsonvalue.Encode(template)
	if err != nil {
		return ""
	}
	_ = undorules.VisitStrings(api.Undo{Arguments: data}, "$", func(_, text string) {
		for _, p := range placeholders.Find(text) {
			if name == "" && p.Legal() && s.source(p).Hides() {
				name = strings.Join(append([]string{p.Source}, p.Path...), ".")
			}
		}
	})
	return name
}

// source returns the shape of the value that a placeholder refers to; for an argument, that of the
// whole argument.
func (s Spec) source(p placeholders.Placeholder) *schemas.Shape {
	switch p.Source {
	case placeholders.Arguments:
		return s.inputShape().Property(p.Path[0])
	case placeholders.Result:
		at := s.outputShape()
		for _, key := range p.Path {
			if at.HidesValue() {
				break
			}
			if _, err := strconv.Atoi(key); err == nil && at.Item() != nil {
				at = at.Item()
			} else {
				at = at.Property(key)
			}
		}
		return at
	}
	return nil
}

// requiredArguments returns the names of the arguments that every call must have.
func (s Spec) requiredArguments() (names []string) {
	for _, p := range s.Parameters {
		if p.Required {
			names = append(names, p.Name)
		}
	}
	tree, err := jsontext.ParseOrdered(s.InputSchema)
	if s.InputSchema == nil || err != nil {
		return names
	}
	for _, name := range jsontext.Member[[]any](tree, "required") {
		if text, ok := name.(string); ok {
			names = append(names, text)
		}
	}
	return names
}

// fault returns a fault of a spec that does not come from a file.
func (s Spec) fault(path, message, hint string) Fault {
	return Fault{File: fmt.Sprintf("toolspec %q", s.Name), Message: path + ": " + message,
		Hint: hint}
}
