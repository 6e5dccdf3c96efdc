package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/switchyard/switchyard"
)

type calculatorInput struct {
	Expression string `json:"expression"`
}

type calculatorOutput struct {
	// Value is left out where it is beyond what a double can hold, because many readers of JSON fail on such numbers.
	Value json.Number `json:"value,omitempty"`
	Text  string      `json:"text"`
	// Exact says that Text is the result to its last digit.
	Exact bool `json:"exact"`
}

// Calculator returns the tool that computes an arithmetic expression: + - * / % ^, parentheses, functions, pi and e.
// Numbers are exact fractions as long as they are not too long and no function leaves the fractions. An expression that
// is none gives validation_error, one without a result (a division by zero) execution_error, both with the column.
func Calculator() switchyard.Function {
	return switchyard.NewFunction("calculator", func(_ context.Context, in calculatorInput) (calculatorOutput, error) {
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

// expressionError is what is wrong with an expression, and at which character of it, counted from 1.
type expressionError struct {
	column  int
	message string
	// sound says that the expression can be read but has no result.
	sound bool
}

func (e *expressionError) Error() string { return fmt.Sprintf("column %d: %s", e.column, e.message) }

func unreadable(column int, format string, args ...any) error {
	return &expressionError{column: column, message: fmt.Sprintf(format, args...)}
}

// at says where in the expression an operation had no result.
func at(column int, n number, err error) (number, error) {
	if err != nil {
		return number{}, &expressionError{column: column, message: err.Error(), sound: true}
	}
	return n, nil
}
