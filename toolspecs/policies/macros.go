package policies

import (
	"fmt"
	"slices"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/parser"
)

// Names that only macros write: the earlier calls as a list, the facts for functions, and the
// functions.
const (
	nameEarlier = "@calls"
	nameFacts   = "@facts"
	funcWhere   = "@where"
)

// loops are the macros that loop, with their numbers of arguments. narrow is set if elements that
// do not fulfil the condition make no difference.
var loops = []struct {
	name   string
	args   int
	expand parser.MacroExpander
	narrow bool
}{
	{operators.All, 2, parser.MakeAll, false},
	{operators.Exists, 2, parser.MakeExists, true},
	{operators.ExistsOne, 2, parser.MakeExistsOne, true},
	{"existsOne", 2, parser.MakeExistsOne, true},
	{operators.Map, 2, parser.MakeMap, false},
	{operators.Map, 3, parser.MakeMap, true},
	{operators.Filter, 2, parser.MakeFilter, true},
}

// macros let loops over calls read the earlier calls, where calls is a map of counts otherwise, and
// give functions the facts.
func macros() []cel.Macro { return append(loopMacros(), sourceMacros()...) }

func loopMacros() (list []cel.Macro) {
	for _, l := range loops {
		list = append(list, cel.ReceiverMacro(l.name, l.args,
			func(f cel.MacroExprFactory, target ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
				if args[0].Kind() == ast.IdentKind &&
					slices.Contains(factNames, args[0].AsIdent()) {
					return nil, f.NewError(args[0].ID(), fmt.Sprintf(
						"%s has a meaning already and cannot name an element", args[0].AsIdent()))
				}
				if target.Kind() == ast.IdentKind && target.AsIdent() == nameCalls {
					target = f.NewIdent(nameEarlier)
					if l.narrow {
						target = narrow(f, target, args[0], args[1])
					}
				}
				return l.expand(f, target, args)
			}))
	}
	return list
}

func sourceMacros() (list []cel.Macro) {
	for _, fn := range sourceFunctions {
		list = append(list, cel.GlobalMacro(fn.name, fn.args, func(f cel.MacroExprFactory,
			_ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			if fn.bounded {
				args = append(slices.Clip(args), f.NewLiteral(types.False))
			}
			return overSources(f, fn.name, args), nil
		}))
		if !fn.bounded {
			continue
		}
		list = append(list, cel.GlobalMacro(fn.name, fn.args+1, func(f cel.MacroExprFactory,
			_ ast.Expr, args []ast.Expr) (ast.Expr, *cel.Error) {
			last := args[fn.args]
			if last.Kind() != ast.LiteralKind || last.AsLiteral() != types.String(withShort) {
				return nil, f.NewError(last.ID(), fmt.Sprintf("the last argument of %s can only "+
					"be '%s', which lets it count short values", fn.name, withShort))
			}
			return overSources(f, fn.name, append(slices.Clone(args[:fn.args]),
				f.NewLiteral(types.True))), nil
		}))
	}
	return list
}

// overSources calls a function over sources with the facts and the name of its first argument.
func overSources(f cel.MacroExprFactory, name string, args []ast.Expr) ast.Expr {
	return f.NewCall("@"+name, append([]ast.Expr{f.NewIdent(nameFacts),
		f.NewLiteral(types.String(exprText(args[0])))}, args...)...)
}

// narrow puts a where around the calls of a loop for every comparison that its condition requires:
// c.tool == E, c.status == E and c.args.NAME == E, of which E does not depend on the element.
func narrow(f cel.MacroExprFactory, calls, element, condition ast.Expr) ast.Expr {
	if condition.Kind() != ast.CallKind || element.Kind() != ast.IdentKind {
		return calls
	}
	call := condition.AsCall()
	switch call.FunctionName() {
	case operators.LogicalAnd:
		for _, part := range call.Args() {
			calls = narrow(f, calls, element, part)
		}
	case operators.Equals:
		a, b := call.Args()[0], call.Args()[1]
		if findField(b, element.AsIdent()) != "" {
			a, b = b, a
		}
		field := findField(a, element.AsIdent())
		if field != "" && !mentions(b, element.AsIdent()) {
			return f.NewCall(funcWhere, calls, f.NewLiteral(types.String(field)), f.Copy(b))
		}
	}
	return calls
}

// findField returns the field of an element that where knows; empty for other expressions.
func findField(e ast.Expr, element string) string {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() {
		return ""
	}
	operand, field := e.AsSelect().Operand(), e.AsSelect().FieldName()
	if isName(operand, element) && (field == fieldTool || field == fieldStatus) {
		return field
	}
	if operand.Kind() == ast.SelectKind && operand.AsSelect().FieldName() == nameArgs &&
		isName(operand.AsSelect().Operand(), element) {
		return argsPrefix + field
	}
	return ""
}

func isName(e ast.Expr, name string) bool {
	return e.Kind() == ast.IdentKind && e.AsIdent() == name
}

// mentions reports whether an expression names a variable.
func mentions(e ast.Expr, name string) (found bool) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		found = found || e.Kind() == ast.IdentKind && e.AsIdent() == name
	}))
	return found
}

// exprText returns how an expression names a value: args.to, args.to[1]; "value" for what has no
// short name.
func exprText(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		return e.AsIdent()
	case ast.SelectKind:
		return exprText(e.AsSelect().Operand()) + "." + e.AsSelect().FieldName()
	case ast.CallKind:
		call := e.AsCall()
		reads := slices.Contains([]string{operators.Index, operators.OptSelect, operators.OptIndex},
			call.FunctionName())
		if reads && call.Args()[1].Kind() == ast.LiteralKind {
			return fmt.Sprintf("%s[%v]", exprText(call.Args()[0]),
				call.Args()[1].AsLiteral().Value())
		}
	}
	return "value"
}
