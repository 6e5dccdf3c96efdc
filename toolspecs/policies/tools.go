package policies

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"github.com/switchyard/switchyard/internal/core/toolfacts"
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
	Facts toolfacts.Facts
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
		if toolfacts.Selects(takes.Facts, selection) {
			return "", false
		}
		if prefix, _, found := strings.Cut(selection, ":"); found {
			for _, value := range toolfacts.Values(takes.Facts, prefix+":") {
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
	reportTools(doc, at+".when", r.Name, r.condition, names)
	reportTools(doc, at+".unless", r.Name, r.unless, names)
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

// reportTools reports the tools that an expression at a path names and that do not exist.
func reportTools(doc *strictyaml.Document, at, rule string, c *Condition, names []string) {
	if c == nil {
		return
	}
	for _, tool := range c.tools {
		if !slices.Contains(names, tool) {
			doc.Report(at, fmt.Sprintf("rule %q names the tool %q, which does not exist", rule, tool),
				spelling.Hint(tool, names))
		}
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

// toolFields are the fields that have the name of a tool, by the type of the value.
var toolFields = map[string]string{"policies.Tool": "name", "policies.earlierCall": "tool",
	"policies.pastCall": "tool", "policies.source": "tool"}

// toolNamesIn returns the names of tools that an expression compares with, each once: those in
// c.tool == 'a', tool.name in ['a', 'b'], calls.a and calls['a'].
func toolNamesIn(checked *ast.AST) (names []string) {
	ast.PreOrderVisit(checked.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		for _, name := range slices.Concat(countedIn(e), comparedIn(checked, e)) {
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}))
	return names
}

// countedIn returns the tool whose counts an expression is: calls.a or calls['a'].
func countedIn(e ast.Expr) []string {
	switch e.Kind() {
	case ast.SelectKind:
		if isName(e.AsSelect().Operand(), nameCalls) {
			return []string{e.AsSelect().FieldName()}
		}
	case ast.CallKind:
		call := e.AsCall()
		if call.FunctionName() == operators.Index && isName(call.Args()[0], nameCalls) {
			return textsIn(call.Args()[1])
		}
	}
	return nil
}

// comparedIn returns the tools that an expression compares the name of a tool with.
func comparedIn(checked *ast.AST, e ast.Expr) []string {
	if e.Kind() != ast.CallKind || !slices.Contains(comparisons, e.AsCall().FunctionName()) {
		return nil
	}
	isTool := func(e ast.Expr) bool {
		return e.Kind() == ast.SelectKind && toolFields[checked.GetType(
			e.AsSelect().Operand().ID()).TypeName()] == e.AsSelect().FieldName()
	}
	left, right := e.AsCall().Args()[0], e.AsCall().Args()[1]
	switch {
	case isTool(left):
		return textsIn(right)
	case isTool(right):
		return textsIn(left)
	}
	return nil
}

// comparisons are operators that compare a value with others.
var comparisons = []string{operators.Equals, operators.NotEquals, operators.In, operators.Less,
	operators.LessEquals, operators.Greater, operators.GreaterEquals}

// literalsIn returns the literals that an expression is, or has as the elements of its list.
func literalsIn(e ast.Expr) (values []any) {
	switch e.Kind() {
	case ast.LiteralKind:
		values = append(values, e.AsLiteral().Value())
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			values = append(values, literalsIn(element)...)
		}
	}
	return values
}

// textsIn returns those of literalsIn that are texts.
func textsIn(e ast.Expr) (texts []string) {
	for _, value := range literalsIn(e) {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}
