package policies

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/switchyard/switchyard/internal/spelling"
)

// Condition is a compiled expression. It does not change and may be used by many goroutines.
type Condition struct {
	program cel.Program
	adapt   types.Adapter
	typed   *cel.Type
	// scope has the definitions that the expression may name; nil for none. faulty is set if one of
	// those that it names does not compile.
	scope  *scope
	faulty bool
	// contents is set if it reads contents of the run, as api.PolicyRule.ReadsContents says. Errors
	// may quote them; info has the positions that are shown instead.
	contents bool
	info     *ast.SourceInfo
	// arguments are those that the expression names.
	arguments []string
	// tools are the names of tools that the expression compares with, or reads the calls of.
	tools []string
	// reads are the names that it reads, and their fields: tool, tool.effect.
	reads []string
	// asks are its questions about earlier calls, pastFields the arguments of those that it reads.
	asks       []asked
	pastFields []string
}

// Fault is a fault of an expression.
type Fault struct {
	// Line and Column count from 1, within the expression.
	Line, Column int
	Message      string
	// Hint is the remedy; it may be empty.
	Hint string
	// name is the name at the position; empty if there is none.
	name string
}

// Where returns the position, as a prefix for the message.
func (f *Fault) Where() string {
	return fmt.Sprintf("at %d:%d of the expression: ", f.Line,
		f.Column)
}

func (f *Fault) Error() string {
	text := f.Where() + f.Message
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// Compile compiles an expression of the type bool that is not of a rule and cannot ask about
// earlier calls. The error is a *Fault, the first one there is.
func Compile(expression string) (*Condition, error) {
	c, err := compileBool(nil, expression)
	if err == nil && len(c.asks) > 0 {
		return nil, &Fault{Line: 1, Column: 1, Message: "the expression asks about earlier calls, " +
			"which only a policy can do", Hint: "write a rule in a policies file"}
	}
	return c, err
}

// compileBool compiles an expression of a rule, with definitions.
func compileBool(s *scope, expression string) (*Condition, error) {
	c, err := compileAny(s, expression)
	if err == nil && c.typed != cel.BoolType && !c.faulty {
		return nil, &Fault{Line: 1, Column: 1,
			Message: fmt.Sprintf("the expression is of the type %s, not bool", c.typed),
			Hint:    "compare it with a value: the result must be true or false"}
	}
	return c, err
}

// compileAny compiles an expression of any type, with definitions. The error is a *Fault.
func compileAny(s *scope, expression string) (*Condition, error) {
	if strings.TrimSpace(expression) == "" {
		return nil, &Fault{Line: 1, Column: 1, Message: "the expression is empty",
			Hint: "write true for a rule that always holds"}
	}
	env, err := environment()
	if err != nil {
		return nil, &Fault{Line: 1, Column: 1, Message: "the expressions' environment: " +
			err.Error()}
	}
	if s != nil {
		env = s.env
	}
	checked, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, firstFault(expression, issues.Errors())
	}
	asks, fields, fault := askedIn(checked.NativeRep())
	if fault != nil {
		return nil, fault
	}
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize)}
	if !cheap(checked.NativeRep().Expr()) {
		options = append(options, cel.CostLimit(maxCost))
	}
	program, err := env.Program(checked, options...)
	if err != nil {
		return nil, &Fault{Line: 1, Column: 1, Message: err.Error()}
	}
	c := &Condition{program: program, adapt: env.CELTypeAdapter(), typed: checked.OutputType(),
		arguments: argumentsIn(checked.NativeRep().Expr()),
		reads:     readsIn(checked.NativeRep().Expr()), info: checked.NativeRep().SourceInfo(),
		tools: toolNamesIn(checked.NativeRep()), asks: asks, pastFields: fields}
	c.use(s)
	c.contents = c.readsAny(contentNames)
	return c, nil
}

// use adds the definitions that the expression names, with what they read.
func (c *Condition) use(s *scope) {
	for _, name := range slices.Clone(c.reads) {
		name, _, _ = strings.Cut(name, ".")
		if s == nil || s.byName[name] == nil {
			continue
		}
		c.scope, c.faulty = s, c.faulty || s.byName[name].fault != nil
		if used := s.byName[name].expression; used != nil {
			c.faulty = c.faulty || used.faulty
			c.arguments = append(c.arguments, used.arguments...)
			c.reads = append(c.reads, used.reads...)
			c.tools = append(c.tools, used.tools...)
			c.asks = append(c.asks, used.asks...)
			c.pastFields = append(c.pastFields, used.pastFields...)
		}
	}
	slices.Sort(c.pastFields)
	c.pastFields = slices.Compact(c.pastFields)
	c.asks = withFields(c.asks, c.pastFields)
}

// readsIn returns the names that an expression reads. A name of which only one field is read is
// name.field.
func readsIn(e ast.Expr) (names []string) {
	var fields []ast.Expr
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch {
		case e.Kind() == ast.SelectKind && e.AsSelect().Operand().Kind() == ast.IdentKind:
			operand := e.AsSelect().Operand()
			fields = append(fields, operand)
			names = append(names, operand.AsIdent()+"."+e.AsSelect().FieldName())
		case e.Kind() == ast.IdentKind && !slices.Contains(fields, e):
			names = append(names, e.AsIdent())
		}
	}))
	return names
}

// readsAny reports whether the expression reads one of the names, or fields of them.
func (c *Condition) readsAny(names []string) bool {
	return slices.ContainsFunc(c.reads, func(read string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			return read == name || strings.HasPrefix(read, name+".") ||
				strings.HasPrefix(name, read+".")
		})
	})
}

// argumentsIn returns the names of the arguments that an expression names, each once, in order.
func argumentsIn(e ast.Expr) (names []string) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		if name := argumentIn(e); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}))
	return names
}

// argumentIn returns the argument that an expression is: args.name, args['name'], or the same with
// a question mark.
func argumentIn(e ast.Expr) string {
	isArguments := func(e ast.Expr) bool {
		return e.Kind() == ast.IdentKind &&
			e.AsIdent() == nameArgs
	}
	switch e.Kind() {
	case ast.SelectKind:
		if isArguments(e.AsSelect().Operand()) {
			return e.AsSelect().FieldName()
		}
	case ast.CallKind:
		call := e.AsCall()
		reads := slices.Contains([]string{operators.Index, operators.OptSelect, operators.OptIndex},
			call.FunctionName())
		if reads && isArguments(call.Args()[0]) && call.Args()[1].Kind() == ast.LiteralKind {
			name, _ := call.Args()[1].AsLiteral().Value().(string)
			return name
		}
	}
	return ""
}

// cheapCalls are functions whose cost is bounded by the sizes of expression and facts. Counting the
// cost of an expression takes longer than evaluating it, so only other functions are counted.
var cheapCalls = []string{operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot,
	operators.Equals, operators.NotEquals, operators.Less,
	operators.LessEquals, operators.Greater, operators.GreaterEquals, operators.In, operators.Index,
	operators.OptSelect, operators.OptIndex, funcWhere, "@sources", "@from_people", "@free_of",
	operators.Conditional, "startsWith", "endsWith", "contains", "lower", "size", "orValue",
	"hasValue", funcCount, funcSum, funcTotal,
	"getHours", "getMinutes", "getDayOfWeek", "duration", "timestamp",
	operators.NotStrictlyFalse}

// cheap reports whether an expression has neither loops nor other functions.
func cheap(e ast.Expr) bool {
	found := true
	ast.PreOrderVisit(e, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.ComprehensionKind:
			found = found && overCalls(e.AsComprehension())
		case ast.CallKind:
			found = found && slices.Contains(cheapCalls, e.AsCall().FunctionName())
		}
	}))
	return found
}

// overCalls reports whether a loop is over the earlier calls, which are bounded, and has no loop in
// it.
func overCalls(c ast.ComprehensionExpr) bool {
	loops := 0
	ast.PreOrderVisit(c.LoopStep(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() == ast.ComprehensionKind {
			loops++
		}
	}))
	over := c.IterRange()
	for over.Kind() == ast.CallKind && over.AsCall().FunctionName() == funcWhere {
		over = over.AsCall().Args()[0]
	}
	return loops == 0 && over.Kind() == ast.IdentKind && over.AsIdent() == nameEarlier
}

func firstFault(expression string, found []*cel.Error) *Fault {
	first := slices.MinFunc(found, func(a, b *cel.Error) int {
		if a.Location.Line() != b.Location.Line() {
			return a.Location.Line() - b.Location.Line()
		}
		return a.Location.Column() - b.Location.Column()
	})
	line, column := max(first.Location.Line(), 1), max(first.Location.Column(), 0)
	f := &Fault{Line: line, Column: column + 1, Message: strings.TrimSpace(first.Message)}
	// what could not be parsed has a place, and belongs to no part of the expression
	if first.ExprID == 0 && first.Location.Line() > 0 {
		f.Message, f.Hint = explainSyntax(expression, line, column)
		return f
	}
	if field := fieldAt(expression, line, column); field != "" && !slices.Contains(fields(), field) {
		f.Hint = spelling.Hint(field, fields())
	}
	f.name = nameAt(expression, line, column)
	return f
}

// Holds reports whether the expression is true for the facts. The error explains why it cannot be
// evaluated: a missing argument, a value of another type, or too much work.
func (c *Condition) Holds(f *Facts) (bool, error) { return c.holds(newValues(f, c.adapt)) }

func (c *Condition) holds(v *values) (bool, error) {
	v.overTime.fields = c.pastFields
	out, err := c.eval(v)
	if err != nil {
		return false, err
	}
	if out.Type() != types.BoolType {
		return false, fmt.Errorf("its result is of the type %s, not bool", out.Type().TypeName())
	}
	return out == types.True, nil
}

// eval returns the value of the expression.
func (c *Condition) eval(v *values) (ref.Val, error) {
	var facts any = v
	if c.scope != nil {
		facts = scoped{v, c.scope}
	}
	if c.contents && v.facts.NoStatements && c.readsAny(statementNames) {
		return nil, errNoStatements
	}
	out, _, err := c.program.Eval(facts)
	if err != nil && c.contents {
		err = c.hidden(err)
	}
	return out, err
}

// hidden returns an error that does not quote contents of the run.
func (c *Condition) hidden(err error) error {
	if plain, ok := errors.AsType[plainError](err); ok {
		return plain
	}
	where := ""
	if failed, ok := errors.AsType[*types.Err](err); ok && failed.NodeID() != 0 {
		at := c.info.GetStartLocation(failed.NodeID())
		where = fmt.Sprintf("at %d:%d of the expression; ", at.Line(), at.Column()+1)
	}
	return plainError(where + "the reason may quote contents of the run and is left out")
}

// contentNames are what makes an expression read contents of the run, unrecordedNames what records
// do not have, and statementNames what people wrote.
var (
	contentNames    = append([]string{nameEarlier, nameFacts}, markedNames("contents")...)
	unrecordedNames = markedNames("unrecorded")
	statementNames  = []string{nameRun + ".prompt", nameRun + ".messages"}
)

// readsContents reports whether there is an expression that reads contents of the run.
func (c *Condition) readsContents() bool { return c != nil && c.contents }
