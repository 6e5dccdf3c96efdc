package tools

import (
	"strings"
	"testing"

	"github.com/switchyard/switchyard/api"
)

func TestCalculator_ComputesInDoubles(t *testing.T) {
	for expression, want := range map[string]float64{
		"1 + 2 * 3": 7, "(1 + 2) * 3": 9, "7 - 3 - 2": 2, "2 ^ 10": 1024, "2 ** 10": 1024,
		"-2 ^ 2": -4, "7 / 2": 3.5, "7 % 3": 1, "5.5 % 2": 1.5, "1e3 + 2.5E-2": 1000.025,
		"sqrt(2 + 2)": 2, "min(3, 1)": 1, "max(3, pi)": 3.141592653589793, "round(2.5)": 3,
		"floor(-1.5)": -2, "ceil(1.2)": 2, "abs(-3.5)": 3.5, "ln(e)": 1, "log10(1000)": 3,
		"exp(0) + sin(0) + cos(0) + tan(0)": 2,
		"9223372036854775807 * 2":           18446744073709551614,
	} {
		out, _, e := outputOf[calculatorOutput](t, Config{}, "calculator",
			map[string]any{"expression": expression})
		if e != nil || out.Value != want {
			t.Errorf("%q: got %+v, %v; want %v", expression, out, e, want)
		}
	}
}

func TestCalculator_RefusesWhatHasNoNumber(t *testing.T) {
	for expression, want := range map[string]api.ErrorType{
		"": api.ErrValidation, "1 +": api.ErrValidation, "1 2": api.ErrValidation,
		"(1 + 2": api.ErrValidation, "x + 1": api.ErrValidation, "sqrt()": api.ErrValidation,
		"'a'": api.ErrValidation, "1 < 2": api.ErrValidation, "1..3": api.ErrValidation,
		"map([1], # + 1)":                    api.ErrValidation,
		strings.Repeat("1+", maxNodes) + "1": api.ErrValidation,
		strings.Repeat("(", 10_000):          api.ErrValidation,
		"1 / 0":                              api.ErrExecution,
		"0 / 0":                              api.ErrExecution,
		"5 % 0":                              api.ErrExecution,
		"sqrt(-1)":                           api.ErrExecution,
		"10 ^ 308 * 10":                      api.ErrExecution,
		"9^9^9^9":                            api.ErrExecution,
		strings.Repeat("9^", 300) + "9":      api.ErrExecution,
		"ln(0)":                              api.ErrExecution,
		strings.Repeat("sqrt(", 99) + "-1)" + strings.Repeat(")", 98): api.ErrExecution,
	} {
		_, _, e := outputOf[calculatorOutput](t, Config{}, "calculator",
			map[string]any{"expression": expression})
		if e == nil || e.Type != want {
			t.Errorf("%.40q: got %v; want %s", expression, e, want)
		}
	}
}
