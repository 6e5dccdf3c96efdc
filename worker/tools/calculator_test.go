package tools

import (
	"encoding/json"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/switchyard/switchyard/api"
)

func TestCalculator_ComputesExactlyWherePossible(t *testing.T) {
	cases := []struct {
		expression, text string
		exact            bool
	}{
		{"1 + 2 * 3", "7", true},
		{"(1 + 2) * 3", "9", true},
		{"7 - 3 - 2", "2", true},
		{"100 / 10 / 5", "2", true},
		{"2 ^ 3 ^ 2", "512", true},
		{"2**10", "1024", true},
		{"-2 ^ 2", "-4", true},
		{"(-2) ^ 2", "4", true},
		{"2 ^ -1", "0.5", true},
		{"2 ^ -3 ^ 1", "0.125", true},
		{"--3", "3", true},
		{"+-+3", "-3", true},
		{"2 * -3", "-6", true},
		{"0 ^ 0", "1", true},
		{"0.1 + 0.2", "0.3", true},
		{"1.1 * 1.1", "1.21", true},
		{".5 + 5.", "5.5", true},
		{"1 / 3", "0.3333333333333333", false},
		{"1 / 3 * 3", "1", true},
		{"1e3 + 2.5E-2", "1000.025", true},
		{"2 ^ 100", "1267650600228229401496703205376", true},
		{"9007199254740993 + 0", "9007199254740993", true},
		{"7 % 3", "1", true},
		{"-7 % 3", "2", true},
		{"7 % -3", "-2", true},
		{"5.5 % 2", "1.5", true},
		{"pi % 1", "0.14159265358979312", false},
		{"2 + 3 % 2", "3", true},
		{"sqrt(16)", "4", true},
		{"sqrt(2.25)", "1.5", true},
		{"sqrt(2)", "1.4142135623730951", false},
		{"sqrt(2) ^ 2", "2.0000000000000004", false},
		{"4 ^ 0.5", "2", false},
		{"abs(-3.5)", "3.5", true},
		{"abs(3)", "3", true},
		{"min(3, 1, 2)", "1", true},
		{"max(3, pi, 2)", "3.141592653589793", false},
		{"round(2.5)", "3", true},
		{"round(-2.5)", "-3", true},
		{"round(2.345, 2)", "2.35", true},
		{"round(1234, -2)", "1200", true},
		{"round(pi, 4)", "3.1416", true},
		{"floor(-1.5)", "-2", true},
		{"ceil(-1.5)", "-1", true},
		{"ceil(1.2)", "2", true},
		{"trunc(-1.5)", "-1", true},
		{"ln(e)", "1", false},
		{"log10(1000)", "3", false},
		{"log2(8)", "3", false},
		{"exp(0)", "1", false},
		{"SIN(0) + cos(0) + tan(0) + asin(0) + acos(1) + atan(0)", "1", false},
		{"2 * PI", "6.283185307179586", false},
		{"-0 * pi", "0", false},
		{"1 / 10 ^ 50", "1e-50", false},
		{"pi / 10 ^ 9", "3.141592653589793e-09", false},
		{"\t1\n+ 1 ", "2", true},
	}
	for _, c := range cases {
		out, _, e := outputOf[calculatorOutput](t, Config{}, "calculator",
			map[string]any{"expression": c.expression})
		if e != nil || out.Text != c.text || out.Value.String() != c.text || out.Exact != c.exact {
			t.Errorf("%q: got %+v, %v; want %s, exact %v", c.expression, out, e, c.text, c.exact)
		}
	}
}

// A number that no double represents keeps its digits as text and is not a JSON number.
func TestCalculator_KeepsAllDigitsBeyondDoubles(t *testing.T) {
	for expression, want := range map[string]string{
		"10 ^ 400":     "1" + strings.Repeat("0", 400),
		"1e400 / 3":    "3.3333333333333333e+399",
		"1 / 10 ^ 400": "1e-400",
	} {
		out, _, e := outputOf[map[string]any](t, Config{}, "calculator",
			map[string]any{"expression": expression})
		if e != nil || out["text"] != want {
			t.Errorf("%s: got %v, %v", expression, out, e)
		}
	}
	out, _, _ := outputOf[map[string]any](t, Config{}, "calculator",
		map[string]any{"expression": "10 ^ 400"})
	if _, ok := out["value"]; ok {
		t.Error("a value beyond doubles is given")
	}
}

func TestCalculator_RejectsWhatIsNoExpression(t *testing.T) {
	for expression, want := range map[string]string{
		"":                  "column 1: the expression ends",
		"1 +":               "column 4: the expression ends",
		"1 + * 2":           "column 5: a value is expected here",
		"1 2":               `column 3: there is no operator before "2"`,
		"2pi":               `column 2: there is no operator before "pi"`,
		"2(3)":              `column 2: "(" is misplaced`,
		"1.2.3":             `column 4: there is no operator before ".3"`,
		"0x1F":              `column 2: there is no operator`,
		"(1 + 2":            "column 1: this ( is never closed",
		"sqrt(1":            "column 5: this ( is never closed",
		"(1 2)":             "column 4: there is no operator",
		"1)":                "column 2: there is no (",
		"1,000":             "column 2: a comma",
		"()":                "column 2: a value",
		"ä":                 `column 1: 'ä' is not supported`,
		"1 − 2":             `column 3: '−' is not supported; write -`,
		"2 × 3":             "write *",
		"５":                 "column 1",
		"x + 1":             `no function or constant "x"`,
		"log(10)":           "write ln, log10 or log2",
		"sqrt":              "write sqrt(…)",
		"sqrt()":            "sqrt takes 1 argument, not 0",
		"sqrt(1, 2)":        "sqrt takes 1 argument, not 2",
		"round(1, 2, 3)":    "1 or 2 arguments",
		"min()":             "1 arguments or more",
		"pi(2)":             `no function or constant "pi"`,
		"min(1,":            "ends where a value",
		"1e5000":            "out of range",
		"1e-99999999999999": "out of range",
		"1; drop":           "column 2",
		"1\x002":            "column 2",
		"1\xff":             "column 2",
		"min(" + strings.Repeat("1,", 150) + "1)": "at most 100 arguments",
		strings.Repeat("(", 150) + "1":            "nested more than 100 deep",
		strings.Repeat("-", 150) + "1":            "nested more than 100 deep",
		strings.Repeat("2^", 150) + "1":           "nested more than 100 deep",
		strings.Repeat("1", 2001):                 "maximum is 2000",
	} {
		_, _, e := outputOf[calculatorOutput](t, Config{}, "calculator",
			map[string]any{"expression": expression})
		if !refusedWith(e, api.ErrValidation, want) {
			t.Errorf("%.40q: got %v; want %q", expression, e, want)
		}
	}
}

func TestCalculator_FailsWhereThereIsNoResult(t *testing.T) {
	for expression, want := range map[string]string{
		"1 / 0":            "column 3: division by zero",
		"1 + 5 % (2 - 2)":  "column 7: division by zero",
		"0 ^ -1":           "column 3: division by zero",
		"pi / (0 * pi)":    "division by zero",
		"sqrt(-1)":         "column 1: a number below zero",
		"ln(0)":            "above zero",
		"acos(2)":          "no real result",
		"(-8) ^ (1 / 3)":   "no real result",
		"9^9^9^9":          "column 4: the result is too large",
		"10^308 * pi * 10": "too large",
		"exp(1000)":        "too large",
		"round(1, 0.5)":    "whole number from",
		"round(1, 10^10)":  "whole number from",
		"(10^4000) ^ 4000": "too large",
		"2 ^ (10 ^ 30)":    "too large",
	} {
		_, _, e := outputOf[calculatorOutput](t, Config{}, "calculator",
			map[string]any{"expression": expression})
		if !refusedWith(e, api.ErrExecution, want) {
			t.Errorf("%q: got %v; want %q", expression, e, want)
		}
	}
}

func TestCalculator_BoundsTheWork(t *testing.T) {
	for _, expression := range []string{
		strings.Repeat("9^9^9^9+", 200) + "1",
		"1" + strings.Repeat("*1e4000", 280),
		"1" + strings.Repeat("/1.000000000000001", 110),
		"1" + strings.Repeat("+1/97e3", 280),
		"max(" + strings.Repeat("2^8000/3^4000,", 99) + "1)",
		strings.Repeat("sqrt(", 95) + "2^8000" + strings.Repeat(")", 95),
		strings.Repeat("2^8000%3^5000+", 140) + "1",
	} {
		began := time.Now()
		_, _ = calculate(expression)
		if took := time.Since(began); took > time.Second {
			t.Errorf("%.40s… took %s", expression, took)
		}
	}
}

func FuzzCalculator(f *testing.F) {
	for _, seed := range []string{"1+2*3", "-2^2", "9^9^9^9", "sqrt(2)%pi", "round(1e-3,2)", "((((",
		"1e4000*1e4000", "min(1,2,e)", "1/3-.5", "−1", "2**-3", "0^-1", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, expression string) {
		n, err := calculate(expression)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "column ") {
				t.Fatalf("%q: error without a column: %v", expression, err)
			}
			return
		}
		text, exact := n.text()
		if n.finite() && !json.Valid([]byte(text)) {
			t.Fatalf("%q: %q is no JSON number", expression, text)
		}
		if back, ok := new(big.Rat).SetString(text); !ok || exact && back.Cmp(n.rat()) != 0 {
			t.Fatalf("%q: %q does not read back", expression, text)
		}
	})
}
