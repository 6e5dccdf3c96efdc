package tools

import (
	"context"
	"errors"
	"math"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/switchyard/switchyard/api"
	"github.com/switchyard/switchyard/tool"
)

type calculatorInput struct {
	Expression string `json:"expression"`
}

type calculatorOutput struct {
	Value float64 `json:"value"`
}

// maxNodes bounds the numbers, operators and calls of an expression.
const maxNodes = 1000

// calculator returns the tool that computes arithmetic expressions with + - * / % ^, parentheses,
// functions, pi and e in doubles. An unreadable expression fails with validation_error, one without
// a finite result, such as a division by zero, with execution_error.
func calculator() tool.Function {
	return tool.NewFunction("calculator", func(_ context.Context,
		in calculatorInput) (calculatorOutput, error) {
		program, err := expr.Compile(in.Expression, arithmetic...)
		if e, ok := errors.AsType[*file.Error](err); ok {
			return calculatorOutput{}, invalid("expression", "line %d, column %d: %s", e.Line,
				e.Column+1, e.Message)
		}
		if err != nil {
			return calculatorOutput{}, invalid("expression", "%v", err)
		}
		result, err := expr.Run(program, constants)
		value, ok := result.(float64)
		switch {
		case err != nil:
			return calculatorOutput{}, api.Errorf(api.ErrExecution, "%v", err)
		case !ok || math.IsNaN(value) || math.IsInf(value, 0):
			return calculatorOutput{}, api.Errorf(api.ErrExecution, "the expression has no finite "+
				"result: it divides by zero, is too large or is undefined")
		}
		return calculatorOutput{Value: value}, nil
	})
}

var constants = map[string]any{"pi": math.Pi, "e": math.E}

// arithmetic is what is left of the expression language: numbers, operators and these functions.
var arithmetic = []expr.Option{expr.Env(constants), expr.DisableAllBuiltins(), expr.AsFloat64(),
	expr.MaxNodes(maxNodes), expr.Patch(doubles{}),
	mathFunction("sqrt", math.Sqrt), mathFunction("abs", math.Abs), mathFunction("round", math.Round),
	mathFunction("floor", math.Floor), mathFunction("ceil", math.Ceil), mathFunction("ln", math.Log),
	mathFunction("log10", math.Log10), mathFunction("exp", math.Exp), mathFunction("sin", math.Sin),
	mathFunction("cos", math.Cos), mathFunction("tan", math.Tan), mathFunction2("min", math.Min),
	mathFunction2("max", math.Max), mathFunction2("mod", math.Mod)}

func mathFunction(name string, f func(float64) float64) expr.Option {
	return expr.Function(name, func(args ...any) (any, error) {
		return f(args[0].(float64)), nil
	}, f)
}

func mathFunction2(name string, f func(x, y float64) float64) expr.Option {
	return expr.Function(name, func(args ...any) (any, error) {
		return f(args[0].(float64), args[1].(float64)), nil
	}, f)
}

// doubles makes all numbers doubles: integers of the language overflow without an error. Its
// operator % is for integers only.
type doubles struct{}

// Visit implements ast.Visitor.
func (doubles) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IntegerNode:
		ast.Patch(node, &ast.FloatNode{Value: float64(n.Value)})
	case *ast.BinaryNode:
		if n.Operator == "%" {
			ast.Patch(node, &ast.CallNode{Callee: &ast.IdentifierNode{Value: "mod"},
				Arguments: []ast.Node{n.Left, n.Right}})
		}
	}
}
