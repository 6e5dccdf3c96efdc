package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard/tool"
)

type calculatorInput struct {
	Expression string `json:"expression"`
}

type calculatorOutput struct {
	// Value is absent if it exceeds the range of a double: many JSON readers fail on such numbers.
	Value json.Number `json:"value,omitempty"`
	Text  string      `json:"text"`
	// Exact says whether Text is the result to its last digit.
	Exact bool `json:"exact"`
}

// calculator returns the tool that computes arithmetic expressions with + - * / % ^, parentheses,
// functions, pi and e. Numbers are exact fractions until they grow too long or a function leaves
// the rational numbers. An unreadable expression fails with validation_error, one without a result
// (division by zero) with execution_error; both name the column.
//
// cel-go, which evaluates policies, is no replacement: in CEL 7/2 is 3, 2*3.5 is a type error,
// 0.1+0.2 is 0.30000000000000004, integers have 64 bits, and there is no power operator.
func calculator() tool.Function {
	return tool.NewFunction("calculator", func(_ context.Context,
		in calculatorInput) (calculatorOutput, error) {
		n, err := calculate(in.Expression)
		if e, ok := errors.AsType[*expressionError](err); ok && !e.sound {
			return calculatorOutput{}, invalid("expression", "%v", e)
		}
		if err != nil {
			return calculatorOutput{}, err
		}
		text, exact := n.text()
		out := calculatorOutput{Text: text, Exact: exact}
		if n.finite() {
			out.Value = json.Number(text)
		}
		return out, nil
	})
}

// expressionError is a fault of an expression at a character, counted from 1.
type expressionError struct {
	column  int
	message string
	// sound says that the expression is readable but has no result.
	sound bool
}

func (e *expressionError) Error() string {
	return fmt.Sprintf("column %d: %s", e.column, e.message)
}

func unreadable(column int, format string, args ...any) error {
	return &expressionError{column: column, message: fmt.Sprintf(format, args...)}
}

// at adds the column of an operation to its error.
func at(column int, n number, err error) (number, error) {
	if err != nil {
		return number{}, &expressionError{column: column, message: err.Error(), sound: true}
	}
	return n, nil
}
